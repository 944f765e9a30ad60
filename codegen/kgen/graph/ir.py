"""Graph of a model: inputs, constants, formulas, views and products with static shapes.

The reader of an ONNX model builds this graph, rewrites change it, and fusion turns it into kernels.

::

    GraphValue.operation = SourceNode    an input or a constant of the model
                         | FormulaNode   an expression of the scalar language, which may hold views
                                         and row-wise functions; inputs broadcast
                         | ViewNode      a view of another value
                         | ProductNode   numpy's matmul of two values, or a convolution

Values are numbered in topological order. Equal operations on equal operands are one value (common
subexpression elimination).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
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

#: Largest constant that a node may add to the model, in elements.
MOST_OF_TABLE = 1 << 24
#: Most bytes of a constant that is compared with others.
MOST_COMPARED = 1 << 16
#: Suffix of the name of a constant's transpose.
TRANSPOSED = ".T"
#: Remedy for a node whose inputs have shapes that contradict one another.
CHANGE_MODEL = "correct the shape in the model, or export the model again"


def broadcasts_to(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether a shape broadcasts to another shape, as in numpy's broadcast_to."""
    behind = other[len(other) - len(shape) :]
    return len(shape) <= len(other) and all(n in (1, m) for n, m in zip(shape, behind, strict=True))


@frozen
class SourceNode:
    """Input or constant of the model, with its name in the model."""

    kind: Literal["input", "constant"]
    name: str


@frozen
class FormulaNode:
    """Expression whose variables name other values.

    `axes` are the axes of the domain that its row-wise functions reduce; empty without such a
    function.
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
    """Matrix product of the values `a` and `b`, or a convolution.

    With `conv`, `a` are images with channels last (NHWC) and `b` is the matrix of weights. `conv`
    has no epilogue.
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
    """Value of a graph. `nodes` are the ONNX nodes that compute it."""

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
    """Values of a model in topological order.

    `outputs` maps output names to values, `constants` names of SourceNodes to elements, and `names`
    values to their names in the model.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    values: Mapping[str, GraphValue]
    constants: Mapping[str, Array]
    names: Mapping[str, str]
    #: Sizes of outputs that depend on data.
    counts: tuple[Count, ...] = ()
    #: Quantised elements of dequantised constants, by the constants' names.
    dequantized: Mapping[str, Dequantized] = field(default_factory=dict)
    #: Name of the original constant, by the name of a constant that was folded from its views.
    originals: Mapping[str, str] = field(default_factory=dict)
    #: Types of inputs and outputs that kernels read and write as bytes.
    stored: Mapping[str, TensorType] = field(default_factory=dict)
    #: Alignment of kernels' tensors on all targets, in bytes.
    alignment: int = ALIGNMENT


@frozen
class ConvolutionKernels:
    """Optional convolution kernels of a target, beside grouped convolutions of several channels.

    `depthwise` stands for one channel per group, `pads_with_zero_point` for s8 images padded with a
    zero point other than 0.
    """

    depthwise: bool = False
    pads_with_zero_point: bool = False

    def include(self, conv: Conv2d) -> bool:
        if conv.is_depthwise and not self.depthwise:
            return False
        return not conv.padding_value or self.pads_with_zero_point


PLAIN_CONVOLUTIONS = ConvolutionKernels()


class Builder:
    """Builder of a graph. Adding an operation that exists returns the existing value."""

    def __init__(
        self,
        tensors: Mapping[str, TensorType],
        dequantized: Mapping[str, Dequantized] = MappingProxyType({}),
        *,
        convolves: ConvolutionKernels = PLAIN_CONVOLUTIONS,
        weights: Collection[str] = (),
    ) -> None:
        self.convolves = convolves
        #: Constants that keep their names, by which weight quantisation finds them.
        self.weights = weights
        #: Types and shapes of the model's values, by their names in the model.
        self.tensors = tensors
        self.values: dict[str, GraphValue] = {}
        self.constants: dict[str, Array] = {}
        #: Quantised elements of dequantised constants, by the constants' names.
        self.dequantized = dict(dequantized)
        self.originals: dict[str, str] = {}
        self.known: dict[tuple[object, ...], str] = {}
        #: Names of small constants by contents.
        self.equal: dict[tuple[object, ...], str] = {}
        #: Names of constants that were added for nodes, by contents, and the last number used for
        #: each name.
        self.made_here: dict[tuple[object, ...], str] = {}
        self.last_number: dict[str, int] = {}
        #: Ids of values that have one number per row: results of row-wise reductions, and formulas
        #: of them.
        self.rows: set[str] = set()
        #: Node that is being lowered.
        self.node: Node | None = None

    def add(
        self,
        operation: Operation,
        shape: Sequence[int],
        dtype: DType,
        nodes: tuple[str, ...] | None = None,
    ) -> GraphValue:
        """Add a value, for the node that is being lowered or for `nodes`. Raises GraphError."""
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
                id=name, dtype=dtype, shape=shape, operation=operation, nodes=nodes
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
            raise GraphError(f"node {', '.join(nodes)} {why}; {CHANGE_MODEL}")
        raise self.refusal(why, CHANGE_MODEL)

    @property
    def result(self) -> TensorType:
        """Type and shape of the node's first output."""
        assert self.node is not None
        return self.tensors[self.node.outputs[0]]

    def refusal(self, why: str, remedy: str) -> GraphError:
        """Return the error that says why the node is refused, and what the user can do."""
        assert self.node is not None
        more = f"; {self.node.unfolded}" if self.node.unfolded else ""
        output = next(filter(None, self.node.outputs), "")
        return NodeRefused(f"node {self.node.shown} {why}; {remedy}{more}", output)

    def input(self, name: str, shape: Shape, dtype: DType) -> GraphValue:
        return self.add(SourceNode(kind="input", name=name), shape, dtype)

    def constant(self, name: str, array: Array, dtype: DType) -> GraphValue:
        """Add a constant, or return an equal small one that exists.

        Layers repeat tables of positions and masks. If the tables are one value, so are the values
        that layers compute from them.
        """
        is_named = name in self.dequantized or name in self.weights
        if array.nbytes <= MOST_COMPARED and not is_named:
            key = (dtype, array.shape, array.dtype.str, array.tobytes())
            name = self.equal.setdefault(key, name)
        self.constants.setdefault(name, array)
        return self.add(SourceNode(kind="constant", name=name), array.shape, dtype)

    def check_table(self, elements: int) -> None:
        """Raise GraphError if a node would add a constant of more than MOST_OF_TABLE elements.

        The check comes before memory is allocated for the constant.
        """
        if elements > MOST_OF_TABLE:
            raise self.refusal(
                f"needs a table of {elements} elements; {MOST_OF_TABLE} is the limit",
                "use smaller shapes",
            )

    def made(self, what: str, array: Array, dtype: DType) -> GraphValue:
        """Add a constant that a node needs and the model does not have."""
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
        """Return a constant's elements; None for any other value."""
        if value is None or not isinstance(value.operation, SourceNode):
            return None
        return (
            self.constants.get(value.operation.name) if value.operation.kind == "constant" else None
        )

    def elements(self, value: GraphValue) -> Array | None:
        """Return the elements of a constant, or of a view of a constant.

        Returns None for any other value.
        """
        operation = value.operation
        if not isinstance(operation, ViewNode):
            return self.array(value)
        array = self.elements(self.values[operation.of])
        if array is not None and operation.step.kind == "expand":
            self.check_table(math.prod(value.shape))
        return None if array is None else operation.step.of_array(array)

    def folded(self, value: GraphValue) -> GraphValue:
        """Return a view of a constant as a new constant (constant folding).

        Any other value is returned unchanged.
        """
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
        """Return the name of the constant that a value is a view of; None for any other value."""
        operation = value.operation
        if isinstance(operation, ViewNode):
            return self.original(self.values[operation.of])
        if not isinstance(operation, SourceNode):
            return None
        return self.originals.get(operation.name, operation.name)

    def stored(self, value: GraphValue) -> Dequantized | None:
        """Return the quantised elements of a dequantised constant or of a view of one.

        Returns None for others.
        """
        operation = value.operation
        if isinstance(operation, ViewNode):
            found = self.stored(self.values[operation.of])
            return None if found is None else changed(found, operation.step.of_array)
        return self.dequantized.get(operation.name) if isinstance(operation, SourceNode) else None

    def term(self, value: GraphValue | Number) -> Expression:
        """Return a value as an operand of a formula: a number if all of its elements are equal."""
        if not isinstance(value, GraphValue):
            return value if isinstance(value, Expression) else constant(value)
        array = self.array(value)
        if array is not None and value.dtype not in (DType.BF16, DType.BOOL) and array.size:
            first = array.flat[0]
            alike = array.size == 1 or bool(np.all(array == first))
            # An integer must be exact in f64.
            if alike and (not value.dtype.is_integer or int(float(first)) == int(first)):
                return constant(float(first))
        return variable(value.id)

    def tensor(self, value: GraphValue) -> Expression:
        """Return a value as an operand of a view, which accepts no number."""
        return variable(value.id)

    def scatter(
        self, table: GraphValue, index: GraphValue, rows: GraphValue, axis: int
    ) -> Expression:
        """Return the expression that writes `rows` into `table` at `index` along an axis.

        A permutation of the rows becomes part of the expression.
        """
        term = self.tensor(rows)
        if isinstance(rows.operation, ViewNode) and (order := self.order_of(rows)):
            term = view("permute", (variable(rows.operation.of), *order))
        return view("scatter", (self.tensor(table), self.tensor(index), term, axis))

    def call(self, name: str, *terms: GraphValue | Number) -> Expression:
        return call_of(name, *map(self.term, terms))

    def formula(
        self, expression: Expression, shape: Sequence[int], dtype: DType, axes: tuple[int, ...] = ()
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
        """Return the shape of operands that have one number per row, without their reduced axes.

        Returns () unless every operand is a reshape that restores these axes, from equal shapes.
        The formula can then run on the values before the reshape, and fuse into the row-wise kernel
        that computes them.
        """
        found = set()
        for name in inputs(expression):
            at = self.values[name].operation
            if not isinstance(at, ViewNode) or at.step.kind != "reshape" or at.of not in self.rows:
                return ()
            found.add(self.values[at.of].shape)
        return found.pop() if len(found) == 1 and not has_views(expression) else ()

    def order_of(self, value: GraphValue) -> tuple[int, ...]:
        """Return the axes by which a value permutes another value, or ()."""
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
        """Return a value with the permutation `back` applied, after extending its rank."""
        wide = self.reshape(value, (1,) * (len(back) - value.rank) + value.shape)
        return self.permute(wide, back)

    def view(
        self, value: GraphValue, kind: str, numbers: Sequence[int], shape: Sequence[int]
    ) -> GraphValue:
        """Return a view of a value, or the value itself if the view changes nothing."""
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
        """Reshape a value. Axes of size 1 are inserted and removed before a permutation."""
        if math.prod(value.shape) != math.prod(shape):
            raise self.refusal(
                f"reshapes {by_x(value.shape)} to {by_x(tuple(shape))}, which has a different "
                "number of elements",
                CHANGE_MODEL,
            )
        order = self.order_of(value)
        if order and [n for n in value.shape if n > 1] == [n for n in shape if n > 1]:
            inner, behind = squeezed(value.shape, order, tuple(shape))
            before = self.permute(value, inverse(order))
            return self.permute(self.reshape(before, inner), behind)
        return self.view(value, "reshape", shape, shape)

    def permute(self, value: GraphValue, axes: Sequence[int]) -> GraphValue:
        """Permute the axes of a value. Two permutations in a row become one."""
        if sorted(axes) != list(range(value.rank)):
            raise self.refusal(
                f"permutes {value.rank} axes by {list(axes)}", "name each axis once in the model"
            )
        at = value.operation
        if isinstance(at, ViewNode) and at.step.kind == "permute":
            value, axes = self.values[at.of], [at.step.numbers[axis] for axis in axes]
        return self.view(value, "permute", axes, [value.shape[axis] for axis in axes])

    def slice(
        self, value: GraphValue, axis: int, start: int, count: int, step: int = 1
    ) -> GraphValue:
        """Return `count` elements along an axis, `step` apart.

        Raises GraphError if one is outside.
        """
        n = value.shape[axis]
        if start < 0 or count < 1 or start + (count - 1) * step >= n:
            raise self.refusal(
                f"slices {count} elements from index {start} on, {step} apart, out of the {n} of "
                f"axis {axis}",
                "correct the slice or the shape in the model",
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
        """Return the value broadcast to a shape. Raises GraphError if it does not broadcast."""
        if not broadcasts_to(value.shape, shape):
            raise self.refusal(
                f"has an input of shape {by_x(value.shape)}, which does not broadcast to "
                f"{by_x(tuple(shape))}",
                CHANGE_MODEL,
            )
        return self.view(value, "expand", shape, shape)

    def product(self, a: GraphValue, b: GraphValue) -> GraphValue:
        """Return numpy's matmul of two operands of rank 2 or more.

        Integers, which matrix kernels lack, become sums of rows of products. If a reshape merged
        several axes into one batch axis (heads of grouped-query attention share a matrix), the
        product keeps them apart, as each may have another stride.
        """
        if a.shape[-1] != b.shape[-2]:
            raise self.refusal(
                f"multiplies rows of {a.shape[-1]} by columns of {b.shape[-2]}; the lengths must "
                "be equal",
                CHANGE_MODEL,
            )
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, a.shape[-2], b.shape[-1])
        if a.dtype.is_integer:
            rows = self.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))
            order = [*range(b.rank - 2), b.rank - 1, b.rank - 2]
            columns = self.reshape(self.permute(b, order), (*b.shape[:-2], 1, *b.shape[:-3:-1]))
            each = self.formula(self.call("mul", rows, columns), (*shape, a.shape[-1]), a.dtype)
            sums = self.formula(self.call("sum", each), (*shape, 1), a.dtype, (each.rank - 1,))
            return self.reshape(sums, shape)
        for value in (b, a):
            parts = self.batch_parts(value)
            if parts is not None:
                rank = len(parts)
                parts = [*((n,) for n in batch[: len(batch) - rank]), *parts]
                return self.reshape(self.product(*(self.cut(o, parts) for o in (a, b))), shape)
        return self.add(ProductNode(a=a.id, b=b.id), shape, a.dtype)

    def convolution(self, x: GraphValue, w: GraphValue, conv: Conv2d) -> GraphValue:
        """Return a convolution of images with channels last.

        `w` is the matrix of weights, with a row for each channel at each kernel position.
        """
        shape = (conv.images, *conv.out_sizes, conv.outputs)
        return self.add(ProductNode(a=x.id, b=w.id, conv=conv), shape, x.dtype)

    def batch_parts(self, value: GraphValue) -> list[Shape] | None:
        """Return the axes that a reshape merged into each batch axis; None if it merged none."""
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
        """Return the matrices before a reshape of their batch, and whether they are transposed."""
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
        """Reshape matrices so that each batch axis is split into the axes of `parts`."""
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
