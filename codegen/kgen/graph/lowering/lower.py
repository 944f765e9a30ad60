"""Lower fused formulas and products to kernel specs, and bind their tensors to buffers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import numpy as np

from kgen.errors import GraphError, SpecError
from kgen.graph.fusing.domains import are_near, coalesced, own_sizes
from kgen.graph.fusing.formulas import Fused, Lazy, Leaf
from kgen.graph.fusing.products import Batch, extent_of, matrix, product_extents
from kgen.graph.fusing.truths import typed
from kgen.graph.ir import GraphValue, ProductNode, SourceNode
from kgen.graph.layout import Span, StridedLayout, seen, span_of
from kgen.graph.lowering.calls import (
    AttentionChoice,
    Binding,
    CallBuffer,
    KernelCall,
    Lowered,
    nodes_shown,
)
from kgen.graph.lowering.heads import Mask
from kgen.graph.lowering.written_attention import AttentionFinder, WrittenAttention
from kgen.graph.memory import ALIGNMENT
from kgen.graph.reading.model import Array, Shape
from kgen.graph.rewrites.decomposed_functions import recognised
from kgen.graph.rewrites.norms import normalized
from kgen.graph.rewrites.requantized import requantized
from kgen.graph.rewrites.tied_weights import SKINNY
from kgen.ops import OUT, reduces
from kgen.ops.expression import (
    Expression,
    Primitive,
    call,
    inputs,
    rebuilt,
    substituted,
    variable,
    view,
    with_arguments,
)
from kgen.ops.views import has_views
from kgen.spec import Attention, Conv2d, Elementwise, Matmul, Rowwise, Spec
from kgen.spec.choices import BType
from kgen.spec.inference import is_scatter
from kgen.spec.shapes import MAX_RANK
from kgen_runtime.dtypes import DType

#: Predicted seconds of a kernel; None for an operation that the target lacks.
Predict = Callable[[Spec], float | None]
#: Whether attention is one kernel, and not those of its steps.
Attends = Callable[[Attention, tuple[Spec, ...]], bool]


def lower(
    fused: Fused,
    alignment: int = ALIGNMENT,
    predict: Predict = lambda _: None,
    attends: Attends | None = None,
) -> Lowered:
    """Return the kernel calls of a fused graph.

    Every tensor of a kernel starts at a multiple of `alignment` bytes. `attends` decides whether
    attention that the model writes out is one call; by default the shorter predicted time decides.
    Raises SpecError for what no kernel computes.
    """
    return _Lowering(fused, alignment, predict, attends).all()


class _Lowering:
    def __init__(
        self, fused: Fused, alignment: int, predict: Predict, attends: Attends | None
    ) -> None:
        self.fused, self.graph, self.alignment = fused, fused.graph, alignment
        self.predict, self.attends = predict, attends
        self.finder = AttentionFinder(fused, alignment)
        self.choices: list[AttentionChoice] = []
        #: Masks of attention in memory, by what they are made of.
        self.masks: dict[tuple[object, ...], str] = {}
        #: Roots that calls of attention replace.
        self.replaced: set[str] = set()
        self.values = fused.graph.values
        self.calls: list[KernelCall] = []
        self.buffers: dict[str, CallBuffer] = {}
        self.constants: dict[str, Array] = {}
        #: Materialized values that formulas read.
        self.looked_at = {
            fused.leaves[name].root
            for lazy in fused.formulas.values()
            for name in inputs(lazy.expression)
        }
        #: Packed or converted copies of operands, for kernels that need them.
        self.copies: dict[tuple[Leaf, Shape, DType, str], str] = {}
        #: Cached constructor of specs: the time steps of a recurrent layer share one spec.
        self.elementwise = cache(elementwise)

    def check_ranks(self) -> None:
        """Raise GraphError for an input or output of higher rank than a program supports."""
        given = {self.name_of(name): name for name in self.graph.inputs}
        given.update(self.graph.outputs)
        for name, value in given.items():
            if self.values[value].rank > MAX_RANK:
                raise GraphError(
                    f"{name} has {self.values[value].rank} dimensions, and inputs and outputs of a "
                    f"program have at most {MAX_RANK}; give it fewer, and reshape it in "
                    "the model"
                )

    def all(self) -> Lowered:
        self.check_ranks()
        for name in self.fused.memory:
            if isinstance(source := self.values[name].operation, SourceNode):
                self.buffer(name)
                if source.kind == "constant":
                    self.constants[name] = self.graph.constants[source.name]
        for root in self.fused.roots:
            self.buffer(root)
            product = self.fused.products.get(root)
            if isinstance(self.values[root].operation, ProductNode):
                product = root
            try:
                if product is not None:
                    self.product(root, self.values[product])
                    self.attend(root)
                else:
                    self.formula(root)
            except SpecError as error:
                raise type(error)(f"{error}{nodes_shown(self.all_nodes(root, product))}") from None
        outputs = self.outputs()
        for name in self.graph.inputs:
            # An unused input is still a parameter of the program.
            self.buffer(name)
        self.drop_replaced({*self.graph.inputs, *outputs.values()})
        return Lowered(
            calls=tuple(self.calls),
            buffers=self.buffers,
            inputs={self.name_of(name): name for name in self.graph.inputs},
            constants=self.constants,
            outputs=outputs,
            choices=tuple(self.choices),
        )

    def name_of(self, name: str) -> str:
        operation = self.values[name].operation
        return operation.name if isinstance(operation, SourceNode) else self.graph.names[name]

    def buffer(self, name: str) -> CallBuffer:
        value = self.values[name]
        return self.new(name, value.dtype, math.prod(value.shape))

    def new(self, name: str, dtype: DType, elements: int) -> CallBuffer:
        return self.buffers.setdefault(name, CallBuffer(id=name, dtype=dtype, elements=elements))

    def outputs(self) -> dict[str, str]:
        """Return the buffer of each output.

        A value that is two outputs gets two buffers. Inputs and constants that are outputs are
        copied, unless they have no elements.
        """
        found: dict[str, str] = {}
        taken: set[str] = set()
        for name, root in self.fused.outputs.items():
            value = self.values[root]
            if 0 in value.shape:
                root = self.new(f"{root}.{name}", value.dtype, 0).id
            elif root in taken or isinstance(value.operation, SourceNode):
                leaf = Leaf(root=root, layout=StridedLayout.of((math.prod(value.shape),)))
                root = self.copied(leaf, leaf.layout.shape, value.dtype, output=name)
            found[name] = root
            taken.add(root)
        return found

    def nodes(self, root: str, members: Iterable[str]) -> tuple[str, ...]:
        found = [n for m in (*members, root) for n in self.values[m].nodes]
        return tuple(dict.fromkeys(found))

    def all_nodes(self, root: str, product: str | None = None) -> tuple[str, ...]:
        """Return the nodes that a kernel computes: those of its product and of its formula."""
        found = () if product is None else self.nodes(product, ())
        if root in self.fused.formulas:
            inlined = self.fused.formulas[root].inlined
            found += self.nodes(root, sorted(inlined, key=lambda name: int(name[1:])))
        return tuple(dict.fromkeys(found))

    # -- formulas ---------------------------------------------------------------------------

    def formula(self, root: str) -> None:
        lazy = self.fused.formulas[root]
        expression = requantized(typed(lazy.expression))
        if lazy.axes and not lazy.value.dtype.is_integer:
            expression = without_cast(expression)
        if not lazy.axes:
            expression = without_limits(expression, lazy.value.dtype)
        expression = recognised(expression)
        if lazy.axes:
            expression = normalized(expression)
        names = inputs(expression)
        leaves = {name: self.fused.leaves[name] for name in names}
        nodes = self.all_nodes(root)
        if lazy.axes:
            self.rows(lazy, expression, leaves, nodes)
        else:
            self.elements(lazy.value, expression, leaves, nodes)

    def elements(
        self,
        value: GraphValue,
        expression: Expression,
        leaves: Mapping[str, Leaf],
        nodes: tuple[str, ...],
        into: str = "",
    ) -> None:
        """Emit an element-wise kernel."""
        if has_views(expression):
            domain, layouts = value.shape, {name: leaf.layout for name, leaf in leaves.items()}
        else:
            domain, layouts, _ = coalesced(value.shape, leaves)
        formulas, shapes, dtypes, bindings = {}, [], [], {}
        for number, (name, leaf) in enumerate(leaves.items()):
            buffer = self.buffers[leaf.root]
            dtypes.append(buffer.dtype)
            part = self.span(leaf.root, layouts[name])
            shown = seen(part.layout, part.size, f"x{number}")
            assert shown is not None, leaf
            found, shape = shown.formula, shown.shape
            if is_scatter(expression) and expression.arguments[0].name == name:
                # The table is written, so the kernel takes it in its memory's layout.
                assert leaf.layout.is_packed and leaf.layout.size == buffer.elements, leaf
                shape = leaf.layout.shape
            elif has_views(expression) and layouts[name].shape not in (shape, ()):
                # A scalar has one axis in the expression and broadcasts without an expand.
                found = view("expand", (found, *layouts[name].shape))
            formulas[name] = found
            shapes.append(shape)
            bindings[f"x{number}"] = Binding(buffer=leaf.root, offset=part.start)
        expression = substituted(expression, formulas)
        if expression.primitive is Primitive.INPUT:
            expression = call("cast", (expression,))
        spec = self.elementwise(expression, tuple(shapes), tuple(dtypes), value.dtype)
        if math.prod(spec.output_shape(OUT)) < math.prod(domain):
            whole = typed(view("expand", (expression, *domain)))
            spec = self.elementwise(whole, tuple(shapes), tuple(dtypes), value.dtype)
        self.call(spec, bindings, into or value.id, nodes)

    def rows(
        self, lazy: Lazy, expression: Expression, leaves: Mapping[str, Leaf], nodes: tuple[str, ...]
    ) -> None:
        """Emit a row-wise kernel.

        Operands that it cannot read in place are copied first. If neither rows nor columns are
        contiguous in all tensors, every operand that is not packed is copied.
        """
        domain, layouts, axes = coalesced(lazy.domain, leaves, lazy.axes)
        dtypes = self.row_dtypes(leaves)
        near = are_near(layouts.values(), domain, axes, reduces(expression))
        formulas: dict[str, Expression] = {}
        shapes: list[Shape] = []
        bindings = {}
        own = {name: own_sizes(layout) for name, layout in layouts.items()}
        for number, (name, leaf) in enumerate(leaves.items()):
            buffer, stand_in = self.buffers[leaf.root], variable(f"x{number}")
            part = self.span(leaf.root, layouts[name])
            shown = seen(part.layout, part.size, f"x{number}")
            as_it_lies = shown is not None and shown.formula is stand_in
            formulas[name] = stand_in
            if shown is not None and (near or as_it_lies) and buffer.dtype is dtypes[name]:
                formulas[name] = shown.formula
                own[name] = own[name] if as_it_lies else shown.shape
            else:
                packed = Leaf(root=leaf.root, layout=layouts[name])
                buffer = self.buffers[self.copied(packed, own[name], dtypes[name])]
            start = part.start if buffer.id == leaf.root else 0
            shapes.append(own[name])
            bindings[f"x{number}"] = Binding(buffer=buffer.id, offset=start)
        # If the inputs together do not span all rows and columns, expand the first one.
        if np.broadcast_shapes(*map(own_sizes, layouts.values())) != domain:
            first = next(iter(formulas))
            formulas[first] = view("expand", (formulas[first], *domain))
        spec = Rowwise(
            expression=str(substituted(expression, formulas)),
            shapes=tuple(shapes),
            dtypes=tuple(dtypes.values()),
            out_dtype=lazy.value.dtype,
            axes=axes,
        )
        self.call(spec, bindings, lazy.value.id, nodes)

    def span(self, root: str, layout: StridedLayout) -> Span:
        """Return the range of a value's memory that a kernel takes for a layout."""
        buffer = self.buffers[root]
        multiple = -(-self.alignment // buffer.dtype.itemsize)
        return span_of(layout, buffer.elements, multiple)

    def row_dtypes(self, leaves: Mapping[str, Leaf]) -> dict[str, DType]:
        """Return the operands' types for a row-wise kernel.

        An f64 operand beside narrower floats is converted to their type; otherwise the kernel would
        compute in f64.
        """
        found = {name: self.buffers[leaf.root].dtype for name, leaf in leaves.items()}
        floats = [dtype for dtype in found.values() if not dtype.is_integer]
        if DType.F64 in floats and len(set(floats)) > 1:
            return dict.fromkeys(found, floats[0])
        return found

    def copied(self, leaf: Leaf, sizes: Shape, dtype: DType, output: str = "") -> str:
        """Return a packed copy of an operand, of these sizes.

        The copy is the buffer of the model's output `output` if that is given.
        """
        key = (leaf, sizes, dtype, output)
        if key not in self.copies:
            name = f"{leaf.root}.{len(self.copies)}"
            self.copies[key] = name
            self.new(name, dtype, math.prod(sizes))
            strides = tuple(
                s if n > 1 else 0 for n, s in zip(sizes, leaf.layout.strides, strict=True)
            )
            layout = StridedLayout(shape=sizes, strides=strides, offset=leaf.layout.offset)
            value = GraphValue(
                id=name, dtype=dtype, shape=sizes, operation=SourceNode(kind="input", name="")
            )
            self.elements(
                value, variable("x"), {"x": Leaf(root=leaf.root, layout=layout)},
                self.values[leaf.root].nodes, into=name,
            )  # fmt: skip
        return self.copies[key]

    # -- products ---------------------------------------------------------------------------

    def product(self, root: str, product: GraphValue) -> None:
        operation = product.operation
        assert isinstance(operation, ProductNode)
        if operation.conv is not None:
            return self.convolution(root, product, operation.conv)
        extents = product_extents(self.graph, product)
        *sizes, m, n = extents
        k = self.values[operation.a].shape[-1]
        leaves = self.fused.operands[product.id]
        bindings: dict[str, Binding] = {}
        fields: dict[str, int] = {}
        letters, strides = "", []
        constant: tuple[str, ...] = ()
        for number, (name, leaf) in enumerate(zip("ab", leaves, strict=True)):
            found = matrix(self.graph, product, number, leaf.layout)
            assert found is not None, leaf
            buffer = leaf.root
            constant = ("b",) if name == "b" and buffer in self.constants else ()
            if self.buffers[buffer].dtype is DType.U8:
                # Weights in 4-bit blocks keep their storage, and all matrices of a batch share
                # them.
                bindings[name], letters = Binding(buffer=buffer), f"{letters}t"
                strides.append((0,) * len(sizes))
                continue
            if constant:
                least = k if found.transposed else n
                if found.ld != least or found.offset or math.prod(sizes) > 1:
                    buffer = self.own_constant(leaf)
                    found = matrix(self.graph, product, number, StridedLayout.of(leaf.layout.shape))
                    assert found is not None
            bindings[name] = Binding(buffer=buffer, offset=found.offset)
            fields[f"ld{name}"] = found.ld
            strides.append(found.batch_strides)
            letters += "t" if found.transposed else "n"
        written = self.fused.memory[root].reshaped(extents)
        assert written is not None
        *between, down, _ = written.strides
        batch = Batch(
            sizes=tuple(sizes), strides=tuple(zip(*strides, between, strict=True)), m=m,
            lda=fields["lda"], ldc=down if m > 1 else n,
        ).coalesced()  # fmt: skip
        epilogue, shapes, operands = self.epilogue(root, product, extents)
        if letters[0] == "n" and "mx1" not in shapes.values():
            batch = batch.with_rows(k, n)
        if len(batch.sizes) > 1 or (batch.m <= SKINNY and bindings["b"].buffer in self.looked_at):
            # A matrix that other kernels read unpacked is not stored a second time as prepacked.
            constant = ()
        dtype = self.values[operation.a].dtype
        vectors = [name for name, extent in shapes.items() if extent != "mxn"]
        spec = Matmul(
            m=batch.m, n=n, k=k, dtype=dtype, out_dtype=self.values[root].dtype,
            b_dtype=narrow_type(self.buffers[bindings["b"].buffer].dtype, dtype),
            layout=letters, epilogue=epilogue, epilogue_shapes=shapes, constant=constant,  # type: ignore[arg-type]
            epilogue_dtypes=dict.fromkeys(
                vectors, DType.F32 if product.dtype is DType.S32 else product.dtype
            ),
            lda=batch.lda, ldb=fields.get("ldb"), ldc=batch.ldc, **batch.fields,
        )  # fmt: skip
        self.call(spec, bindings | operands, root, self.all_nodes(root, product.id))

    def convolution(self, root: str, product: GraphValue, conv: Conv2d) -> None:
        bindings: dict[str, Binding] = {}
        for number, (name, leaf) in enumerate(
            zip("ab", self.fused.operands[product.id], strict=True)
        ):
            found = matrix(self.graph, product, number, leaf.layout)
            assert found is not None, leaf
            bindings[name] = Binding(buffer=leaf.root, offset=found.offset)
        weights = bindings["b"]
        constant = weights.buffer in self.constants
        if constant and weights.offset:
            bindings["b"] = Binding(buffer=self.own_constant(self.fused.operands[product.id][1]))
        epilogue, shapes, operands = self.epilogue(
            root, product, product_extents(self.graph, product)
        )
        vectors = [name for name, extent in shapes.items() if extent != "mxn"]
        spec = dataclasses.replace(
            conv,
            out_dtype=self.values[root].dtype,
            b_dtype=narrow_type(self.buffers[bindings["b"].buffer].dtype, conv.dtype),
            epilogue=epilogue,
            epilogue_shapes=shapes,
            epilogue_dtypes=dict.fromkeys(
                vectors, DType.F32 if product.dtype is DType.S32 else product.dtype
            ),
            # A depthwise kernel takes rows of channels as they are.
            constant=("b",) if constant and not conv.is_depthwise else (),
        )
        self.call(spec, bindings | operands, root, self.all_nodes(root, product.id))

    # -- attention --------------------------------------------------------------------------

    def attend(self, root: str) -> None:
        """Put attention in the place of the product that is its last step, if that is better than
        the calls that it replaces."""
        found = self.finder.find(root)
        if found is None:
            return
        steps = tuple(each.spec for each in self.saved_by(found))
        if self.attends is not None:
            seconds, apart, is_one = None, None, self.attends(found.spec, steps)
        else:
            seconds, apart = self.times(found.spec, steps)
            is_one = seconds is not None
            if not is_one:
                return
        written = [call for call in self.calls if call.writes[0] in found.roots]
        before = len(self.calls)
        bindings = {
            name: Binding(buffer=leaf.root, offset=leaf.layout.offset)
            for name, leaf in found.operands.items()
        }
        nodes = tuple(dict.fromkeys(node for call in written for node in call.nodes))
        if is_one:
            for name, mask in found.computed.items():
                bindings[name] = self.mask(mask, found.spec.parameter(name).dtype, nodes)
        if seconds is not None and apart is not None:
            seconds += sum(self.predict(call.spec) or 0.0 for call in self.calls[before:])
            is_one = seconds < apart
        choice = AttentionChoice(
            spec=found.spec,
            steps=steps,
            nodes=nodes,
            is_one_kernel=is_one,
            seconds=seconds,
            seconds_apart=apart,
        )
        self.choices.append(choice)
        if is_one:
            self.call(found.spec, bindings, root, nodes)
            del self.calls[before - 1]
            self.replaced.update(name for name in found.roots if name != root)
        elif len(self.calls) > before:
            _, name = self.masks.popitem()
            del self.calls[before:], self.buffers[name]

    def times(
        self, spec: Attention, steps: tuple[Spec, ...]
    ) -> tuple[float, float] | tuple[None, None]:
        """Return the predicted seconds of attention and of its steps; None if one is not known."""
        seconds, *apart = (self.predict(each) for each in (spec, *steps))
        known = [each for each in apart if each is not None]
        return (None, None) if seconds is None or len(known) < len(apart) else (seconds, sum(known))

    def saved_by(self, found: WrittenAttention) -> Iterator[KernelCall]:
        """Yield the calls so far that nothing needs if attention is one kernel."""
        going = {*found.roots, *self.copies.values()}
        read = {leaf.root for leaf in found.leaves}
        for each in reversed(self.calls):
            stays = not going.issuperset(each.writes) or any(
                name in read or self.finder.is_read_beside(name, found.roots)
                for name in each.writes
            )
            if each.writes[0] == found.roots[-1] or not stays:
                yield each
            elif not self.replaced.issuperset(each.writes):
                read.update(bound.buffer for bound in each.bindings.values())

    def mask(self, mask: Mask, dtype: DType, nodes: tuple[str, ...]) -> Binding:
        """Return the packed mask in memory. It is computed if no such tensor exists."""
        if mask.formula.primitive is Primitive.INPUT:
            leaf = mask.leaves[mask.formula.name]
            at = dataclasses.replace(leaf.layout, offset=0)
            itemsize = self.buffers[leaf.root].dtype.itemsize
            is_aligned = leaf.layout.offset * itemsize % self.alignment == 0
            if self.buffers[leaf.root].dtype is dtype and at.is_packed and is_aligned:
                return Binding(buffer=leaf.root, offset=leaf.layout.offset)
        known = {name: variable(f"{leaf.root} {leaf.layout}") for name, leaf in mask.leaves.items()}
        key = (substituted(mask.formula, known), mask.shape, dtype)
        if key not in self.masks:
            name = self.masks[key] = f"mask.{len(self.masks)}"
            self.new(name, dtype, math.prod(mask.shape))
            value = GraphValue(
                id=name, dtype=dtype, shape=mask.shape,
                operation=SourceNode(kind="input", name=""),
            )  # fmt: skip
            formula = recognised(typed(mask.formula))
            self.elements(value, formula, mask.leaves, nodes, into=name)
        return Binding(buffer=self.masks[key])

    def drop_replaced(self, kept: set[str]) -> None:
        """Drop the calls whose results nothing reads since attention replaced other calls."""
        if not self.replaced:
            return
        read: set[str] = set(kept)
        calls: list[KernelCall] = []
        droppable = self.replaced | {*self.copies.values()}
        for each in reversed(self.calls):
            if droppable.issuperset(each.writes) and read.isdisjoint(each.writes):
                for name in each.writes:
                    del self.buffers[name]
                continue
            calls.append(each)
            read.update(bound.buffer for bound in each.bindings.values())
        self.calls = calls[::-1]

    def own_constant(self, leaf: Leaf) -> str:
        """Return a new constant with the part of a constant that a layout reads."""
        shown = "x".join(map(str, (leaf.layout.offset, *leaf.layout.shape, *leaf.layout.strides)))
        name = f"{leaf.root}:{shown}"
        array = self.constants[leaf.root].reshape(-1)
        step = array.itemsize
        self.constants[name] = np.ascontiguousarray(
            np.lib.stride_tricks.as_strided(
                array[leaf.layout.offset :],
                leaf.layout.shape,
                tuple(s * step for s in leaf.layout.strides),
            )
        )
        self.new(name, self.buffers[leaf.root].dtype, leaf.layout.size)
        return name

    def epilogue(
        self, root: str, product: GraphValue, extents: Shape
    ) -> tuple[str, dict[str, str], dict[str, Binding]]:
        """Return a product's epilogue as text, and the extents and bindings of its operands."""
        lazy = self.fused.formulas.get(root)
        if lazy is None:
            return "x", {}, {}
        whole = requantized(typed(lazy.expression))
        if lazy.value.dtype is not product.dtype:
            whole = without_limits(without_cast(whole), lazy.value.dtype)
        renamed: dict[str, Expression] = {}
        shapes: dict[str, str] = {}
        bindings: dict[str, Binding] = {}
        plain = {"n": "bias", "mxn": "residual", "mx1": "row_scale", "1": "number"}
        for name in inputs(whole):
            leaf = self.fused.leaves[name]
            if leaf.root == product.id:
                renamed[name] = variable("x")
                continue
            layout = leaf.layout.expanded(lazy.value.shape)
            itemsize = self.values[leaf.root].dtype.itemsize
            extent = extent_of(self.graph, layout, extents, itemsize)
            assert extent is not None, leaf
            bound = Binding(buffer=leaf.root, offset=leaf.layout.offset)
            taken = next((n for n, b in bindings.items() if b == bound), None)
            if taken is None:
                count = sum(other == extent for other in shapes.values())
                taken = f"{plain[extent]}{count + 1 if count else ''}"
                shapes[taken], bindings[taken] = extent, bound
            renamed[name] = variable(taken)
        expression = ordered(recognised(substituted(whole, renamed)))
        return str(expression), shapes, bindings

    def call(
        self, spec: Spec, bindings: Mapping[str, Binding], writes: str, nodes: tuple[str, ...]
    ) -> None:
        bound = {**bindings, "out": Binding(buffer=writes)}
        self.calls.append(KernelCall(spec=spec, bindings=bound, writes=(writes,), nodes=nodes))


def without_cast(expression: Expression) -> Expression:
    """Return an expression without an outer cast; the kernel's store converts the value."""
    is_cast = expression.name == "cast" and len(expression.arguments) == 1
    return expression.arguments[0] if is_cast else expression


def without_limits(expression: Expression, dtype: DType) -> Expression:
    """Return an expression of bytes without outer clamps and rounding, which the store does."""
    if dtype not in (DType.S8, DType.U8):
        return expression
    assert dtype.limits
    least, most = dtype.limits
    while expression.name in ("min", "max") and len(expression.arguments) == 2:
        of, limit = expression.arguments
        if limit.primitive is not Primitive.CONSTANT:
            break
        if limit.number < most if expression.name == "min" else limit.number > least:
            break
        expression = of
    return expression.arguments[0] if expression.name == "round" else expression


def narrow_type(dtype: DType, beside: DType) -> BType | None:
    """Return B's type for weights of a dtype beside an A of dtype `beside`; None if equal."""
    if dtype is beside:
        return None
    return BType.S4 if dtype is DType.U8 else BType(dtype)


def elementwise(
    expression: Expression, shapes: Iterable[Shape], dtypes: tuple[DType, ...], out: DType
) -> Elementwise:
    return Elementwise(
        expression=str(expression), shapes=tuple(shapes), dtypes=dtypes, out_dtype=out
    )


def ordered(expression: Expression) -> Expression:
    """Return an expression whose sums and products name the matrix product first."""

    def change(step: Expression) -> Expression:
        if step.name not in ("add", "mul"):
            return step
        first, second = step.arguments
        is_last = "x" in inputs(second) and "x" not in inputs(first)
        return with_arguments(step, (second, first)) if is_last else step

    return rebuilt(expression, change)
