"""A model in kgen's words: sources, formulas, views and products over values of fixed shapes.

::

    GraphValue.operation = SourceNode    an input or a constant of the model
                         | FormulaNode   an expression of the scalar language, which may hold views
                                         and row-wise functions; inputs broadcast
                         | ViewNode      a view of another value
                         | ProductNode   numpy's matmul of two values, or a convolution

Values are numbered in a topological order. Equal operations on equal operands are one value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from types import MappingProxyType
from typing import Literal

import numpy as np

from kgen.errors import GraphError, SpecError
from kgen.graph.layout import ViewStep
from kgen.graph.memory import ALIGNMENT
from kgen.graph.reading.dequantized import changed
from kgen.graph.reading.function_bodies import NodeRefused
from kgen.graph.reading.model import Array, Dequantized, Node, Shape, TensorType
from kgen.graph.rewrites.orders import PermutedOperand, common_order, inverse, reordered, squeezed
from kgen.ops.expand import reduces
from kgen.ops.expression import Expression, Number, constant, inputs, substituted, variable, view
from kgen.ops.registry import call_of
from kgen.ops.views import has_views
from kgen.spec.conv2d import Conv2d
from kgen.spec.inference import Shapes
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType
from kgen_runtime.schema.program import Count
from kgen_runtime.values import frozen

#: Elements of a table that a node needs: places along an axis, zeros to begin with, copies.
MOST_OF_TABLE = 1 << 24
#: The end of the name of a constant's transpose.
TRANSPOSED = ".T"
#: Remedy for a node whose inputs contradict one another.
CHANGE_MODEL = "change that shape in the model, or export it again"


def broadcasts_to(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether a tensor of a shape broadcasts to another shape, as numpy's broadcast_to does it."""
    behind = other[len(other) - len(shape) :]
    return len(shape) <= len(other) and all(n in (1, m) for n, m in zip(shape, behind, strict=True))


@frozen
class SourceNode:
    """Input or constant of the model, by its name in the model."""

    kind: Literal["input", "constant"]
    name: str


@frozen
class FormulaNode:
    """Expression of the values that its variables name.

    `axes` are the axes of its domain that its row-wise functions reduce; empty if it has no
    row-wise function.
    """

    expression: Expression
    axes: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[str, ...]:
        return inputs(self.expression)


@frozen
class ViewNode:
    """View of the value `of`."""

    of: str
    step: ViewStep

    @property
    def operands(self) -> tuple[str, ...]:
        return (self.of,)


@frozen
class ProductNode:
    """Matrix product of the values `a` and `b`.

    With `conv`, `a` are images whose channels are the last axis, and the rows that are multiplied
    are its windows. `conv` has no epilogue.
    """

    a: str
    b: str
    conv: Conv2d | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        return (self.a, self.b)


Operation = SourceNode | FormulaNode | ViewNode | ProductNode


@frozen
class GraphValue:
    """Value of a graph. `name` is the model's name, if any; `nodes` are the ONNX nodes that
    computed it."""

    id: str
    dtype: DType
    shape: Shape
    operation: Operation
    nodes: tuple[str, ...] = ()

    @property
    def operands(self) -> tuple[str, ...]:
        return () if isinstance(self.operation, SourceNode) else self.operation.operands

    @property
    def rank(self) -> int:
        return len(self.shape)


@frozen
class Graph:
    """`names` are those that values have in the model."""

    name: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    values: Mapping[str, GraphValue]
    constants: Mapping[str, Array]
    names: Mapping[str, str]
    #: Sizes of outputs that depend on data.
    counts: tuple[Count, ...] = ()
    #: Stored numbers of constants, by the constants' names.
    dequantized: Mapping[str, Dequantized] = field(default_factory=dict)
    #: Names of constants, by those of constants that were made as their views.
    originals: Mapping[str, str] = field(default_factory=dict)
    #: Bytes that kernels' tensors start at multiples of, on all targets.
    alignment: int = ALIGNMENT


@frozen
class ConvolutionKernels:
    """Convolutions that a target has kernels for, beside those of groups of several channels:
    depthwise ones, and ones that pad bytes with any zero point."""

    depthwise: bool = False
    pads_with_zero_point: bool = False

    def include(self, conv: Conv2d) -> bool:
        if conv.is_depthwise and not self.depthwise:
            return False
        return not conv.padding_value or self.pads_with_zero_point


PLAIN_CONVOLUTIONS = ConvolutionKernels()


class Builder:
    """Adds values; what is there already is not added again."""

    def __init__(
        self,
        tensors: Mapping[str, TensorType],
        dequantized: Mapping[str, Dequantized] = MappingProxyType({}),
        *,
        convolves: ConvolutionKernels = PLAIN_CONVOLUTIONS,
    ) -> None:
        self.convolves = convolves
        #: What is known of the model's values, by their names there.
        self.tensors = tensors
        self.values: dict[str, GraphValue] = {}
        self.constants: dict[str, Array] = {}
        #: Stored numbers of constants, by the constants' names.
        self.dequantized = dict(dequantized)
        self.originals: dict[str, str] = {}
        self.known: dict[tuple[object, ...], str] = {}
        #: Names of the constants that nodes needed beside the model's, by their contents; and the
        #: last number behind each name.
        self.made_here: dict[tuple[object, ...], str] = {}
        self.last_number: dict[str, int] = {}
        #: Numbers of rows: what functions of rows give, and what is computed of that alone.
        self.rows: set[str] = set()
        #: The node that is being lowered.
        self.node: Node | None = None

    def add(
        self,
        operation: Operation,
        shape: Sequence[int],
        dtype: DType,
        nodes: tuple[str, ...] | None = None,
    ) -> GraphValue:
        """A value of the node that is being lowered, or of those that are named."""
        shape = tuple(map(int, shape))
        if nodes is None:
            nodes = (self.node.name, *self.node.others) if self.node else ()
        if 0 in shape and not isinstance(operation, SourceNode):
            raise self.refusal(
                f"has a result of shape {'x'.join(map(str, shape))}, without elements",
                "export the model without it",
            )
        key = (operation, shape, dtype)
        if key not in self.known:
            if isinstance(operation, FormulaNode):
                self._check_broadcasts(operation, shape, nodes)
            name = f"v{len(self.values)}"
            self.values[name] = GraphValue(
                id=name,
                dtype=dtype,
                shape=shape,
                operation=operation,
                nodes=nodes,
            )
            self.known[key] = name
        return self.values[self.known[key]]

    def _check_broadcasts(self, formula: FormulaNode, shape: Shape, nodes: tuple[str, ...]) -> None:
        """Raise GraphError unless all operands of a formula broadcast to its result's shape."""
        shapes = {name: self.values[name].shape for name in formula.operands}
        try:
            found = Shapes(shapes)[formula.expression]
        except SpecError as error:
            why = f"has inputs that do not fit one another ({error})"
        else:
            if formula.axes and reduces(formula.expression):
                first = len(shape) - len(found)
                found = tuple(
                    1 if first + axis in formula.axes else n for axis, n in enumerate(found)
                )
            if broadcasts_to(found, shape):
                return
            operands = " and ".join(dict.fromkeys(map(by_x, shapes.values())))
            why = (
                f"has inputs of shape {operands}, which do not broadcast to its result of shape "
                f"{by_x(shape)}"
            )
        if self.node is None:
            raise GraphError(f"node {', '.join(nodes)} {why}")
        raise self.refusal(why, CHANGE_MODEL)

    @property
    def result(self) -> TensorType:
        """Type and shape of the node's first result."""
        assert self.node is not None
        return self.tensors[self.node.outputs[0]]

    def refusal(self, why: str, remedy: str) -> GraphError:
        """An error that says why the node is refused, and what the user can do."""
        assert self.node is not None
        more = f"; {self.node.unfolded}" if self.node.unfolded else ""
        output = next(filter(None, self.node.outputs), "")
        return NodeRefused(f"node {self.node.shown} {why}; {remedy}{more}", output)

    def input(self, name: str, shape: Shape, dtype: DType) -> GraphValue:
        return self.add(SourceNode(kind="input", name=name), shape, dtype)

    def constant(self, name: str, array: Array, dtype: DType) -> GraphValue:
        self.constants.setdefault(name, array)
        return self.add(SourceNode(kind="constant", name=name), array.shape, dtype)

    def check_table(self, elements: int) -> None:
        """Raises GraphError for a table of so many elements that a node would need beside the
        model, before memory is taken for it."""
        if elements > MOST_OF_TABLE:
            raise self.refusal(
                f"needs a table of {elements} elements; {MOST_OF_TABLE} is the limit",
                "use smaller shapes",
            )

    def made(self, what: str, array: Array, dtype: DType) -> GraphValue:
        """A constant that a node needs beside the model's."""
        assert self.node is not None
        array = np.ascontiguousarray(array)
        first = f"{self.node.name}:{what}"
        key = (first, dtype, array.shape, array.dtype.str, sha256(array.tobytes()).digest())
        if key not in self.made_here:
            # Nodes may share a name.
            while True:
                number = self.last_number[first] = self.last_number.get(first, 0) + 1
                name = first if number == 1 else f"{first}.{number}"
                if name not in self.constants:
                    break
            self.made_here[key] = name
        return self.constant(self.made_here[key], array, dtype)

    def array(self, value: GraphValue | None) -> Array | None:
        """A constant's elements; None for any other value."""
        if value is None or not isinstance(value.operation, SourceNode):
            return None
        return (
            self.constants.get(value.operation.name) if value.operation.kind == "constant" else None
        )

    def elements(self, value: GraphValue) -> Array | None:
        """Elements of a constant or of a view of one; None for any other value."""
        operation = value.operation
        if not isinstance(operation, ViewNode):
            return self.array(value)
        array = self.elements(self.values[operation.of])
        if array is not None and operation.step.kind == "expand":
            self.check_table(math.prod(value.shape))
        return None if array is None else operation.step.of_array(array)

    def folded(self, value: GraphValue) -> GraphValue:
        """A view of a constant as a constant of its own; any other value as it is."""
        array = self.elements(value) if isinstance(value.operation, ViewNode) else None
        if array is None:
            return value
        made = self.made("folded", array, value.dtype)
        original, stored = self.original(value), self.stored(value)
        if original is not None and isinstance(made.operation, SourceNode):
            self.originals[made.operation.name] = original
        if stored is not None and isinstance(made.operation, SourceNode):
            self.dequantized[made.operation.name] = stored
        return made

    def original(self, value: GraphValue) -> str | None:
        """Name of the constant that a value is a view of; None for any other value."""
        operation = value.operation
        if isinstance(operation, ViewNode):
            return self.original(self.values[operation.of])
        if not isinstance(operation, SourceNode):
            return None
        return self.originals.get(operation.name, operation.name)

    def stored(self, value: GraphValue) -> Dequantized | None:
        """Stored numbers of a constant that was dequantised, or of a view of one."""
        operation = value.operation
        if isinstance(operation, ViewNode):
            found = self.stored(self.values[operation.of])
            return None if found is None else changed(found, operation.step.of_array)
        return self.dequantized.get(operation.name) if isinstance(operation, SourceNode) else None

    def term(self, value: GraphValue | Number) -> Expression:
        """A value in a formula: a number, if all its elements are that one."""
        if not isinstance(value, GraphValue):
            return value if isinstance(value, Expression) else constant(value)
        array = self.array(value)
        if array is not None and value.dtype not in (DType.BF16, DType.BOOL) and array.size:
            first = array.flat[0]
            alike = array.size == 1 or bool(np.all(array == first))
            # Of integers those that an f64 holds.
            if alike and (not value.dtype.is_integer or int(float(first)) == int(first)):
                return constant(float(first))
        return variable(value.id)

    def tensor(self, value: GraphValue) -> Expression:
        """A value in a view, which a number cannot be."""
        return variable(value.id)

    def scatter(
        self, table: GraphValue, index: GraphValue, rows: GraphValue, axis: int
    ) -> Expression:
        """Rows, which may be computed in another order than the table's, in places of a table."""
        term = self.tensor(rows)
        if isinstance(rows.operation, ViewNode) and (order := self.order_of(rows)):
            term = view("permute", (variable(rows.operation.of), *order))
        return view("scatter", (self.tensor(table), self.tensor(index), term, axis))

    def call(self, name: str, *terms: GraphValue | Number) -> Expression:
        return call_of(name, *map(self.term, terms))

    def formula(
        self,
        expression: Expression,
        shape: Sequence[int],
        dtype: DType,
        axes: tuple[int, ...] = (),
    ) -> GraphValue:
        if not inputs(expression):
            raise self.refusal(
                "is a constant that could not be folded", "make its result an initializer"
            )
        if not axes and (wide := self.squeezed_rows(expression)):
            sources = {name: self.values[name].operation for name in inputs(expression)}
            wider = {n: variable(at.of) for n, at in sources.items() if isinstance(at, ViewNode)}
            made = self.formula(substituted(expression, wider), wide, dtype)
            self.rows.add(made.id)
            return self.reshape(made, shape)
        order = common_order(expression, shape, self._operands(expression))
        if not order:
            found = self.add(FormulaNode(expression=expression, axes=axes), shape, dtype)
            if axes and all(shape[axis] == 1 for axis in axes):
                self.rows.add(found.id)
            return found
        back = inverse(order)
        names = {name: self._before(self.values[name], back).id for name in inputs(expression)}
        made = self.add(
            FormulaNode(
                expression=reordered(expression, order, names),
                axes=tuple(sorted(order[axis] for axis in axes)),
            ),
            [shape[axis] for axis in back],
            dtype,
        )
        return self.permute(made, order)

    def squeezed_rows(self, expression: Expression) -> Shape:
        """The shape of numbers of rows that all values of a formula are, without the axes that were
        reduced; () if they are not. The formula is then of these numbers, and can be part of the
        rows' kernel."""
        found = set()
        for name in inputs(expression):
            at = self.values[name].operation
            if not isinstance(at, ViewNode) or at.step.kind != "reshape" or at.of not in self.rows:
                return ()
            found.add(self.values[at.of].shape)
        return found.pop() if len(found) == 1 and not has_views(expression) else ()

    def order_of(self, value: GraphValue) -> tuple[int, ...]:
        """The order that a value is another's in; () if it is none in another order."""
        at = value.operation
        return at.step.numbers if isinstance(at, ViewNode) and at.step.kind == "permute" else ()

    def _operands(self, expression: Expression) -> dict[str, PermutedOperand]:
        return {
            name: PermutedOperand(
                shape=self.values[name].shape, order=self.order_of(self.values[name])
            )
            for name in inputs(expression)
        }

    def _before(self, value: GraphValue, back: tuple[int, ...]) -> GraphValue:
        """A value before the permutation that an order undoes."""
        wide = self.reshape(value, (1,) * (len(back) - value.rank) + value.shape)
        return self.permute(wide, back)

    def view(
        self, value: GraphValue, kind: str, numbers: Sequence[int], shape: Sequence[int]
    ) -> GraphValue:
        """A view of a value; itself, if it looks the same."""
        numbers = tuple(map(int, numbers))
        same = tuple(shape) == value.shape and (
            kind != "permute" or numbers == tuple(range(value.rank))
        )
        if same:
            return value
        return self.add(
            ViewNode(of=value.id, step=ViewStep(kind=kind, numbers=numbers)), shape, value.dtype
        )

    def reshape(self, value: GraphValue, shape: Sequence[int]) -> GraphValue:
        """Reshape a value. Axes of one element are inserted and removed before a permutation."""
        if math.prod(value.shape) != math.prod(shape):
            raise self.refusal(
                f"makes {'x'.join(map(str, shape))} of {'x'.join(map(str, value.shape))}, which "
                "has another number of elements",
                CHANGE_MODEL,
            )
        order = self.order_of(value)
        if order and [n for n in value.shape if n > 1] == [n for n in shape if n > 1]:
            inner, behind = squeezed(value.shape, order, tuple(shape))
            before = self.permute(value, inverse(order))
            return self.permute(self.reshape(before, inner), behind)
        return self.view(value, "reshape", shape, shape)

    def permute(self, value: GraphValue, axes: Sequence[int]) -> GraphValue:
        """With its axes in this order; of what is permuted already, that in another order."""
        if sorted(axes) != list(range(value.rank)):
            raise self.refusal(
                f"orders {value.rank} axes by {list(axes)}", "name each axis once in the model"
            )
        at = value.operation
        if isinstance(at, ViewNode) and at.step.kind == "permute":
            value, axes = self.values[at.of], [at.step.numbers[axis] for axis in axes]
        return self.view(value, "permute", axes, [value.shape[axis] for axis in axes])

    def slice(
        self, value: GraphValue, axis: int, start: int, count: int, step: int = 1
    ) -> GraphValue:
        """`count` elements along an axis, `step` apart. Raises GraphError if one is outside."""
        n = value.shape[axis]
        if start < 0 or count < 1 or start + (count - 1) * step >= n:
            raise self.refusal(
                f"takes {count} elements from {start} on, {step} apart, of the {n} of axis {axis}",
                CHANGE_MODEL,
            )
        if order := self.order_of(value):
            inner = self.permute(value, inverse(order))
            return self.permute(self.slice(inner, order[axis], start, count, step), order)
        shape = (*value.shape[:axis], count, *value.shape[axis + 1 :])
        at = value.operation
        if isinstance(at, ViewNode) and at.step.kind == "slice" and at.step.numbers[0] == axis:
            _, first, _, by = at.step.numbers
            return self.slice(self.values[at.of], axis, first + start * by, count, step * by)
        return self.view(value, "slice", (axis, start, count, step), shape)

    def expand(self, value: GraphValue, shape: Sequence[int]) -> GraphValue:
        """The value broadcast to a shape. Raises GraphError if it does not broadcast."""
        if not broadcasts_to(value.shape, shape):
            raise self.refusal(
                f"has an input of shape {by_x(value.shape)}, which does not broadcast to "
                f"{by_x(tuple(shape))}",
                CHANGE_MODEL,
            )
        return self.view(value, "expand", shape, shape)

    def product(self, a: GraphValue, b: GraphValue) -> GraphValue:
        """numpy's matmul of operands of two or more axes. Where an axis of the batch was made of
        several, as of groups of heads that share a matrix, the product has these: each may have a
        stride of its own."""
        if a.shape[-1] != b.shape[-2]:
            raise self.refusal(
                f"multiplies rows of {a.shape[-1]} by columns of {b.shape[-2]}; they must be of "
                "one length",
                CHANGE_MODEL,
            )
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, a.shape[-2], b.shape[-1])
        for value in (b, a):
            parts = self.batch_parts(value)
            if parts is not None:
                rank = len(parts)
                parts = [*((n,) for n in batch[: len(batch) - rank]), *parts]
                return self.reshape(self.product(*(self.cut(o, parts) for o in (a, b))), shape)
        return self.add(ProductNode(a=a.id, b=b.id), shape, a.dtype)

    def convolution(self, x: GraphValue, w: GraphValue, conv: Conv2d) -> GraphValue:
        """A convolution of images whose channels are the last axis; `w` is the matrix of weights, a
        row for each channel of each place."""
        shape = (conv.images, *conv.out_sizes, conv.outputs)
        return self.add(ProductNode(a=x.id, b=w.id, conv=conv), shape, x.dtype)

    def batch_parts(self, value: GraphValue) -> list[Shape] | None:
        """The axes that each axis of a batch of matrices was made of by a reshape; None if each was
        made of one."""
        source, _ = self.before_reshape(value)
        if source is None:
            return None
        left, parts = [n for n in source.shape[:-2] if n > 1], []
        for n in value.shape[:-2]:
            part: list[int] = []
            while math.prod(part) < n and left:
                part.append(left.pop(0))
            if math.prod(part) != n:
                return None
            parts.append(tuple(part) or (1,))
        return parts if any(len(part) > 1 for part in parts) else None

    def before_reshape(self, value: GraphValue) -> tuple[GraphValue | None, bool]:
        """Matrices before a reshape of their batch, and whether they were transposed since."""
        rank, is_transposed = value.rank, False
        at = value.operation
        swap = (*range(rank - 2), rank - 1, rank - 2)
        if isinstance(at, ViewNode) and at.step.kind == "permute" and at.step.numbers == swap:
            value, is_transposed = self.values[at.of], True
            at = value.operation
        if not isinstance(at, ViewNode) or at.step.kind != "reshape":
            return None, False
        source = self.values[at.of]
        fits = source.rank >= 2 and source.shape[-2:] == value.shape[-2:]
        return (source, is_transposed) if fits else (None, False)

    def cut(self, value: GraphValue, parts: Sequence[Shape]) -> GraphValue:
        """Matrices whose batch has the axes `parts` instead of one for each."""
        sizes = (1,) * (len(parts) + 2 - value.rank) + value.shape[:-2]
        fine = [
            size
            for n, part in zip(sizes, parts, strict=True)
            for size in (part if n > 1 else (1,) * len(part))
        ]
        if self.batch_parts(value) == list(parts[len(parts) + 2 - value.rank :]):
            source, is_transposed = self.before_reshape(value)
            assert source is not None
            found = self.reshape(source, (*fine, *source.shape[-2:]))
            rank = found.rank
            order = (*range(rank - 2), rank - 1, rank - 2)
            return self.permute(found, order) if is_transposed else found
        return self.reshape(value, (*fine, *value.shape[-2:]))
