"""Graph rewrite: products of dequantised values become s8 products with s32 accumulation.

QDQ, QOperator and dynamically quantised models all multiply (a - zero_a) scale_a by (b - zero_b)
scale_b, with a and b in s8 (:mod:`kgen.graph.operators.quantized`). The rewrite computes ::

    sum a b - zero_a sum (b - zero_b) - zero_b sum a

in integers and multiplies the result by both scales. The corrections and scales become the epilogue
of the product. Sums over a constant B are constants.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from kgen.errors import GraphError
from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode, ViewNode
from kgen.graph.layout import ViewStep
from kgen.graph.lowering.calls import nodes_shown
from kgen.graph.operators.signed_bytes import OFFSET, Dequantization, dequantized
from kgen.graph.reading.dequantized import changed
from kgen.graph.reading.model import Array, Dequantized
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import (
    Expression,
    Primitive,
    call,
    constant,
    inputs,
    rebuilt,
    steps,
    variable,
    view,
    with_arguments,
)
from kgen.spec.conv2d import Conv2d
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Largest K for which a sum of products (a - zero_a) (b - zero_b) of bytes is exact in f32.
EXACT_DEPTH = 256
#: Primitives of an expression that only reads a value through views.
LOOKS = (Primitive.VIEW, Primitive.INPUT, Primitive.CONSTANT)


@frozen
class Bytes:
    """Quantised operand (numbers - zero) * scale.

    `numbers` are s8. `zero` and `scale` are numbers, or values that broadcast to `numbers`.
    `stored` has the arrays of a constant.
    """

    numbers: GraphValue
    scale: Expression
    zero: Expression
    stored: Dequantized | None = None

    @property
    def is_uniform(self) -> bool:
        """Whether scale and zero point are single numbers, which every view keeps."""
        return not inputs(self.scale) and not inputs(self.zero)


@frozen
class Affine:
    """Float result of an integer product, in the affine form numbers * factor + added.

    `factor` and `added` have one number per column, or one for all. `is_rectified` adds a Relu.
    """

    numbers: Expression
    factor: Array
    added: Array
    nodes: tuple[str, ...]
    is_rectified: bool = False


@frozen
class Sums:
    """Integer product (s32) with its operands."""

    product: GraphValue
    a: Bytes
    b: Bytes
    conv: Conv2d | None = None


def integer_products(graph: Graph, *, pads_with_zero_point: bool) -> Graph:
    """Return the graph with integer products.

    `pads_with_zero_point` says that convolution kernels pad with any zero point, not only 0. Raises
    GraphError for an integer operator whose sums would be rounded.
    """
    return _Integers(graph, pads_with_zero_point).all()


class _Integers(Rewriting):
    def __init__(self, graph: Graph, pads_with_zero_point: bool) -> None:
        super().__init__(graph)
        self.pads_with_zero_point = pads_with_zero_point
        self.known: dict[str, Bytes | None] = {}
        #: Rewritten products, by their ids in the original graph.
        self.sums: dict[str, Sums] = {}
        #: Products with constant B in floats, also after a bias and a Relu, by their original ids.
        self.affine: dict[str, Affine] = {}
        #: Float results of integer products that are also needed as exact s32, by their original
        #: ids.
        self.floats: dict[str, GraphValue] = {}

    def visit(self, value: GraphValue) -> None:
        operation = value.operation
        if isinstance(operation, ProductNode) and not value.dtype.is_integer:
            return self.multiply(value, operation)
        if isinstance(operation, FormulaNode) and operation.expression.name in ("trunc", "cast"):
            (argument,) = operation.expression.arguments
            if argument.primitive is Primitive.INPUT and self.converted(value, argument.name):
                return None
        if isinstance(operation, FormulaNode) and not operation.axes:
            if (made := self.folded(value, operation.expression)) is not None:
                return self.take(value, made)
            read = self.by_channel(value, operation.expression)
            read = self.of_bytes(operation.expression, {}) if read is None else read
            return self.take(value, self.add(FormulaNode(expression=read), value))
        return self.copy(value)

    def by_channel(self, value: GraphValue, expression: Expression) -> Expression | None:
        """Rewrite a depthwise convolution of a dequantised value, given as a sum over its window.

        The sum then reads the s8 numbers; scale and zero point move into the constant weights and a
        constant addend. Returns None for any other expression.
        """
        terms, left = [], [expression]
        while left:
            step = left.pop()
            if step.name == "add":
                left += step.arguments
            elif step.name == "mul" and all(a.name == "slice" for a in step.arguments):
                terms.append(step.arguments)
            else:
                return None
        images, tables = ({inputs(term[i]) for term in terms} for i in (0, 1))
        if len(terms) < 2 or len(images) != 1 or len(tables) != 1:
            return None
        ((image,), (table,)) = (*images, *tables)
        inner, weights = self.bytes_of(image), self.array(table)
        if inner is None or weights is None or not inner.is_uniform:
            return None
        seen = [self.within_padding(inner, self.graph.values[image], term[0]) for term in terms]
        rows = [int(other.arguments[2].number) for _, other in terms]
        for (_, other), row in zip(terms, rows, strict=True):
            axis = [number.number for number in other.arguments[1:]]
            if other.arguments[0] != variable(table) or axis != [0, row, row + 1, 1]:
                return None
        scaled = weights.astype(np.float64) * inner.scale.number
        name = self.graph.names.get(value.id, value.id)
        factors = self.made(f"{name}:factors", scaled, DType.F32)
        added = self.made(f"{name}:added", -inner.zero.number * scaled[rows].sum(axis=0), DType.F32)
        found = variable(added.id)
        for (_, other), window in zip(reversed(terms), reversed(seen), strict=True):
            if window is None:
                return None
            weight = with_arguments(other, (variable(factors.id), *other.arguments[1:]))
            found = call("add", (found, call("mul", (call("cast", (window,)), weight))))
        return found

    def array(self, name: str) -> Array | None:
        """Return the elements of an f32 constant; None for any other value."""
        value = self.graph.values[name]
        is_constant = isinstance(value.operation, SourceNode) and value.dtype is DType.F32
        if not is_constant or not isinstance(value.operation, SourceNode):
            return None
        return self.graph.constants.get(value.operation.name)

    def of_bytes(self, step: Expression, known: dict[Expression, Expression]) -> Expression:
        """Return an expression whose windows read s8 numbers and dequantise what they read."""
        if step not in known:
            names = inputs(step)
            found = None
            if step.primitive is Primitive.VIEW and len(names) == 1:
                found = self.window_of_bytes(step, names[0])
            if found is None and step.primitive is Primitive.INPUT:
                found = variable(self.ids[step.name], step.truth)
            if found is None:
                parts = tuple(self.of_bytes(part, known) for part in step.arguments)
                found = with_arguments(step, parts) if parts else step
            known[step] = found
        return known[step]

    def window_of_bytes(self, step: Expression, name: str) -> Expression | None:
        """Return a view of a dequantised value, dequantised after the view, or None."""
        if any(part.primitive not in LOOKS for part in steps(step)):
            return None
        inner = self.bytes_of(name)
        if inner is None or inner.stored is not None or not inner.is_uniform:
            return None
        seen = self.within_padding(inner, self.graph.values[name], step)
        return None if seen is None else dequantized(seen, inner.zero, inner.scale)

    # -- operands -----------------------------------------------------------------------------

    def bytes_of(self, name: str) -> Bytes | None:
        """Return a value as a quantised operand; None if it is not dequantised s8."""
        if name not in self.known:
            self.known[name] = self._bytes_of(self.graph.values[name])
        return self.known[name]

    def _bytes_of(self, value: GraphValue) -> Bytes | None:
        stored = self.stored(value)
        if stored is not None:
            return self.of_constant(value, stored)
        operation = value.operation
        if isinstance(operation, ViewNode):
            inner = self.bytes_of(operation.of)
            if inner is None or self.differs(inner):
                return None
            node = ViewNode(of=inner.numbers.id, step=operation.step)
            return self.with_numbers(inner, self.add_as(node, value, DType.S8))
        if not isinstance(operation, FormulaNode) or operation.axes:
            return None
        return self.of_views(value, operation) or self.of_formula(value, operation.expression)

    def of_formula(self, value: GraphValue, expression: Expression) -> Bytes | None:
        """Return the operand that a dequantisation computes, or None for other formulas."""
        parts = Dequantization.of(expression)
        if parts is None:
            return None
        found = self.graph.values[parts.numbers]
        if found.dtype is not DType.S8 or found.shape != value.shape:
            return None
        return Bytes(
            numbers=self.builder.values[self.ids[parts.numbers]],
            scale=self.moved_term(parts.scale), zero=self.moved_term(parts.zero),
        )  # fmt: skip

    def of_views(self, value: GraphValue, operation: FormulaNode) -> Bytes | None:
        """Return windows of a dequantised value as windows of its numbers, or None."""
        expression = operation.expression
        names = inputs(expression)
        if len(names) != 1 or any(step.primitive not in LOOKS for step in steps(expression)):
            return None
        inner = self.bytes_of(names[0])
        if inner is None or self.differs(inner):
            return None
        numbers = self.within_padding(inner, self.graph.values[names[0]], expression)
        return (
            None
            if numbers is None
            else self.with_numbers(
                inner, self.add_as(FormulaNode(expression=numbers), value, DType.S8)
            )
        )

    def within_padding(
        self, inner: Bytes, value: GraphValue, expression: Expression
    ) -> Expression | None:
        """Return an expression's views applied to s8 numbers, with padding equal to the zero point.

        A zero point that is not constant is added to padding of zeros, by means of a constant mask.
        """
        pads = [step for step in steps(expression) if step.name == "pad"]
        if any(step.arguments[-1] != constant(0.0) for step in pads):
            return None
        source, zero = variable(value.id), inner.zero
        if not inputs(zero) or not pads:

            def padded(step: Expression) -> Expression:
                if step == source:
                    return variable(inner.numbers.id)
                if step.name == "pad":
                    return with_arguments(step, (*step.arguments[:-1], zero))
                return step

            return rebuilt(expression, padded)
        whole = max(pads, key=lambda step: len(steps(step)))
        if any(step not in steps(whole) for step in pads) or inputs(whole) != (value.id,):
            return None
        numbers = rebuilt(
            whole, lambda step: variable(inner.numbers.id) if step == source else step
        )
        made = self.bordered(inner, numbers, value)
        return rebuilt(expression, lambda step: variable(made.id) if step == whole else step)

    def bordered(self, inner: Bytes, numbers: Expression, like: GraphValue) -> GraphValue:
        """Return s8 numbers whose padding is a zero point that is not constant.

        `numbers` pads a tensor of the shape of `like` with zeros.
        """
        sizes = list(like.shape)
        pads = [step for step in steps(numbers) if step.name == "pad"]
        for step in pads:
            axis, before, after = (int(number.number) for number in step.arguments[1:4])
            sizes[axis] += before + after
        around = np.ones(sizes, np.int8)
        around[tuple(self.inside(pads, axis, n) for axis, n in enumerate(like.shape))] = 0
        border = self.made(f"{inner.numbers.id}:border", around, DType.S8)
        total = call("add", (numbers, call("mul", (variable(border.id), inner.zero))))
        return self.builder.add(FormulaNode(expression=total), sizes, DType.S8, like.nodes)

    def inside(self, pads: list[Expression], axis: int, count: int) -> slice:
        before = sum(int(p.arguments[2].number) for p in pads if p.arguments[1].number == axis)
        return slice(before, before + count)

    def differs(self, found: Bytes) -> bool:
        """Whether scale or zero point varies within the tensor, so that views would not keep it."""
        names = (*inputs(found.scale), *inputs(found.zero))
        return any(math.prod(self.builder.values[name].shape) > 1 for name in names)

    def with_numbers(self, found: Bytes, numbers: GraphValue) -> Bytes:
        return Bytes(numbers=numbers, scale=found.scale, zero=found.zero)

    def moved_term(self, term: Expression) -> Expression:
        """Return a scale or zero point as a value of the copied graph.

        A tensor of one element becomes a scalar, so that it broadcasts to every view.
        """
        if not inputs(term):
            return term
        found = self.builder.values[self.ids[term.name]]
        if found.shape and math.prod(found.shape) == 1:
            node = ViewNode(of=found.id, step=ViewStep(kind="reshape", numbers=()))
            found = self.builder.add(node, (), found.dtype, found.nodes)
        return variable(found.id)

    def stored(self, value: GraphValue) -> Dequantized | None:
        """Return the quantised elements of a constant or of a view of one, or None."""
        operation = value.operation
        if isinstance(operation, SourceNode):
            return self.graph.dequantized.get(operation.name)
        if isinstance(operation, ViewNode):
            inner = self.stored(self.graph.values[operation.of])
            return None if inner is None else changed(inner, operation.step.of_array)
        return None

    def of_constant(self, value: GraphValue, stored: Dequantized) -> Bytes | None:
        """Return a constant operand in s8, with one scale and zero point, or one per column.

        Returns None for other granularities.
        """
        if stored.numbers.ndim < 2:
            return None
        columns = changed(stored, lambda array: array[..., :1, :])
        for whole, first in ((stored.scale, columns.scale), (stored.zero, columns.zero)):
            if not np.array_equal(whole, np.broadcast_to(first, whole.shape)):
                return None
        numbers, zero = stored.numbers, columns.zero.astype(np.int64)
        if numbers.dtype == np.uint8:
            numbers, zero = (numbers.astype(np.int16) - OFFSET).astype(np.int8), zero - OFFSET
        name = self.graph.names.get(value.id, value.id)
        kept = Dequantized(numbers=numbers, scale=columns.scale, zero=zero)
        return Bytes(
            numbers=self.made(f"{name}:s8", numbers, DType.S8),
            scale=self.vector(f"{name}:scale", columns.scale),
            zero=self.vector(f"{name}:zero", zero), stored=kept,
        )  # fmt: skip

    def vector(self, name: str, array: Array, dtype: DType = DType.F32) -> Expression:
        """Return values per column as one number if all are equal, otherwise as a constant."""
        if bool(np.all(array == array.flat[0])):
            return constant(float(array.flat[0]))
        return variable(self.made(name, array, dtype).id)

    def made(self, name: str, array: Array, dtype: DType) -> GraphValue:
        """Add a constant; a number is appended to a name that is taken."""
        array = np.ascontiguousarray(array.astype(dtype.storage))
        shown, number = name, 1
        known = self.builder.constants
        while shown in known and not np.array_equal(known[shown], array):
            number += 1
            shown = f"{name}.{number}"
        found = self.builder.constant(shown, array, dtype)
        self.names.setdefault(found.id, shown)
        return found

    # -- products -----------------------------------------------------------------------------

    def multiply(self, value: GraphValue, operation: ProductNode) -> None:
        a, b = self.bytes_of(operation.a), self.bytes_of(operation.b)
        if a is None or b is None or (a.stored is not None and not a.is_uniform):
            return self.copy(value)
        if any(self.along_k(term, axis) for x, axis in ((a, -1), (b, -2))
               for term in (x.scale, x.zero)):  # fmt: skip
            return self.copy(value)
        conv = operation.conv
        if conv is not None:
            a, conv = self.padded_images(a, conv)
        node = ProductNode(a=a.numbers.id, b=b.numbers.id, conv=conv)
        sums = Sums(product=self.add_as(node, value, DType.S32), a=a, b=b, conv=conv)
        self.sums[value.id] = sums
        self.take(value, self.scaled(value, sums))

    def padded_images(self, a: Bytes, conv: Conv2d) -> tuple[Bytes, Conv2d]:
        """Return the images and the convolution of s8, whose padding equals the zero point.

        Padding that the kernels do not support is written around the images.
        """
        conv = dataclasses.replace(conv, dtype=DType.S8, out_dtype=None)
        is_data = bool(inputs(a.zero))
        zero = 0.0 if is_data else a.zero.number
        has_padding = any(map(sum, conv.pads))
        if not has_padding or not (is_data or (zero and not self.pads_with_zero_point)):
            return a, dataclasses.replace(conv, padding_value=int(zero))
        whole, (images, *sizes, channels) = variable(a.numbers.id), a.numbers.shape
        for axis, pads in enumerate(conv.pads, start=1):
            if any(pads):
                whole = view("pad", (whole, axis, *pads, zero))
        sizes = [n + sum(pads) for n, pads in zip(sizes, conv.pads, strict=True)]
        conv = dataclasses.replace(conv, input=(images, channels, *sizes), padding=None)
        if is_data:
            numbers = self.bordered(a, whole, a.numbers)
        else:
            made, shape = FormulaNode(expression=whole), (images, *sizes, channels)
            numbers = self.builder.add(made, shape, DType.S8, a.numbers.nodes)
        return dataclasses.replace(a, numbers=numbers), conv

    def along_k(self, term: Expression, axis: int) -> bool:
        """Whether a scale or zero point varies along the reduced axis."""
        shape = self.builder.values[term.name].shape if inputs(term) else ()
        return len(shape) >= -axis and shape[axis] > 1

    def scaled(self, value: GraphValue, sums: Sums) -> GraphValue:
        """Return the product in floats: the s32 sums with corrections, times both scales.

        With constant scales and zero points this is one multiplication and one addition per column.
        """
        a, b = sums.a, sums.b
        if a.is_uniform and b.stored is not None and not np.any(b.stored.zero):
            factor = a.scale.number * b.stored.scale.astype(np.float64)
            added = -a.zero.number * factor * self.column_sums(b)
            wide = self.wide(variable(sums.product.id), DType.F32)
            affine = Affine(numbers=wide, factor=factor, added=added, nodes=value.nodes)
            if factor.ndim <= 2 and value.dtype is DType.F32:
                flat = (array.reshape(array.shape[-1:]) for array in (factor, added))
                affine = dataclasses.replace(affine, factor=next(flat), added=next(flat))
                self.affine[value.id] = affine
            found = self.of_affine(affine, self.graph.names.get(value.id, value.id))
        else:
            found = self.compensated(value, sums, DType.F32)
            for term in (b.scale, a.scale):
                found = times(found, self.wide(term, DType.F32))
        return self.add_as(FormulaNode(expression=found), value, value.dtype)

    def exact(self, value: GraphValue, sums: Sums) -> GraphValue:
        found = self.compensated(value, sums, DType.S32)
        return (
            sums.product
            if found == variable(sums.product.id)
            else self.add_as(FormulaNode(expression=found), value, DType.S32)
        )

    def compensated(self, value: GraphValue, sums: Sums, dtype: DType) -> Expression:
        """Return the s32 sums with the corrections for zero points, computed in f32 or s32."""
        a, b = sums.a, sums.b
        found = self.wide(variable(sums.product.id), dtype)
        name = self.graph.names.get(value.id, value.id)
        if a.zero != constant(0.0):
            if b.stored is not None:
                columns = self.vector(f"{name}:sums:{dtype}", self.column_sums(b), dtype)
            else:
                columns = self.summed(b.numbers, -2, dtype, value)
                if b.zero != constant(0.0):
                    depth = constant(float(b.numbers.shape[-2]))
                    less = times(self.wide(b.zero, dtype), depth)
                    columns = call("sub", (columns, less))
            found = call("sub", (found, times(self.wide(a.zero, dtype), columns)))
        if b.zero != constant(0.0):
            if sums.conv is not None:
                rows = self.window_sums(sums.conv, a, dtype, value)
            else:
                rows = self.summed(a.numbers, -1, dtype, value)
            found = call("sub", (found, times(rows, self.wide(b.zero, dtype))))
        return found

    def column_sums(self, b: Bytes) -> Array:
        """Return the sum of (b - zero_b) over each column of a constant B."""
        assert b.stored is not None
        found = b.stored.numbers.sum(axis=-2, keepdims=True, dtype=np.int64)
        return np.asarray(found - b.stored.zero * b.stored.numbers.shape[-2])

    def summed(self, x: GraphValue, axis: int, dtype: DType, value: GraphValue) -> Expression:
        """Return the sums of s8 numbers along an axis."""
        axis %= x.rank
        shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
        node = FormulaNode(expression=call("sum", (variable(x.id),)), axes=(axis,))
        return variable(self.builder.add(node, shape, dtype, value.nodes).id)

    def window_sums(self, conv: Conv2d, a: Bytes, dtype: DType, value: GraphValue) -> Expression:
        """Return the sums over the windows of a convolution, computed with weights of 1.

        There is one number per window, or one per output channel if the convolution has groups.
        """
        outputs = 1 if conv.groups == 1 else conv.outputs
        conv = dataclasses.replace(conv, weights=(outputs, *conv.weights[1:]))
        ones = self.made("ones", np.ones((conv.product.k, outputs)), DType.S8)
        node = ProductNode(a=a.numbers.id, b=ones.id, conv=conv)
        shape = (*value.shape[:-1], outputs)
        sums = self.builder.add(node, shape, DType.S32, value.nodes)
        return self.wide(variable(sums.id), dtype)

    def wide(self, term: Expression, dtype: DType) -> Expression:
        """Return a term converted to a type."""
        if not inputs(term) or self.builder.values[term.name].dtype is dtype:
            return term
        value = self.builder.values[term.name]
        node = FormulaNode(expression=call("cast", (term,)))
        return variable(self.builder.add(node, value.shape, dtype, value.nodes).id)

    def folded(self, value: GraphValue, expression: Expression) -> GraphValue | None:
        """Fold a bias, a Relu or a quantisation after an integer product into its factors.

        Returns None for any other formula.
        """
        if value.dtype is DType.S8:
            return self.folded_quantization(value, expression)
        names = inputs(expression)
        at = next((name for name in names if name in self.affine), None)
        if at is None or value.shape != self.graph.values[at].shape:
            return None
        before = self.affine[at]
        if expression == call("relu", (variable(at),)):
            nodes = before.nodes + value.nodes
            self.affine[value.id] = dataclasses.replace(before, is_rectified=True, nodes=nodes)
            return None
        if expression.name != "add" or before.is_rectified:
            return None
        others = [term for term in expression.arguments if term != variable(at)]
        array = self.vector_of(others[0]) if len(others) == 1 else None
        if array is None:
            return None
        added, nodes = before.added + array.astype(np.float64), before.nodes + value.nodes
        found = dataclasses.replace(before, added=added, nodes=nodes)
        self.affine[value.id] = found
        made = FormulaNode(expression=self.of_affine(found, self.graph.names.get(value.id, "")))
        return self.builder.add(made, value.shape, value.dtype, found.nodes)

    def vector_of(self, term: Expression) -> Array | None:
        """Return a number, or the elements of a constant with one axis; None for other terms."""
        if term.primitive is Primitive.CONSTANT:
            return np.array(term.number)
        value = self.graph.values.get(term.name)
        if value is None or math.prod(value.shape) != math.prod(value.shape[-1:]):
            return None
        operation = value.operation
        if not isinstance(operation, SourceNode) or operation.kind != "constant":
            return None
        return self.graph.constants[operation.name].reshape(value.shape[-1:])

    def folded_quantization(self, value: GraphValue, expression: Expression) -> GraphValue | None:
        """Fold round(x / scale) + zero, saturated, after an integer product with constant B.

        A Relu is dropped if the saturation has the same effect.
        """
        quotients = [step for step in steps(expression) if step.name == "div"]
        if len(quotients) != 1 or quotients[0].arguments[1].primitive is not Primitive.CONSTANT:
            return None
        (quotient,) = quotients
        numerator, divisor = quotient.arguments
        before = self.affine.get(numerator.name or "")
        if before is None or inputs(expression) != (numerator.name,) or divisor.number <= 0.0:
            return None
        scaled = dataclasses.replace(
            before, factor=before.factor / divisor.number, added=before.added / divisor.number
        )
        found = self.of_affine(scaled, f"{self.graph.names.get(numerator.name, '')}:quantized")
        lowest = call("add", (call("round", (quotient,)), constant(-128.0)))
        if before.is_rectified and lowest not in steps(expression):
            found = call("relu", (found,))
        whole = rebuilt(expression, lambda step: found if step == quotient else step)
        nodes = before.nodes + value.nodes
        return self.builder.add(FormulaNode(expression=whole), value.shape, value.dtype, nodes)

    def of_affine(self, found: Affine, name: str) -> Expression:
        total = times(found.numbers, self.vector(f"{name}:factor", found.factor))
        if np.any(found.added):
            total = call("add", (total, self.vector(f"{name}:columns", found.added)))
        return total

    # -- integer results ----------------------------------------------------------------------

    def converted(self, value: GraphValue, name: str) -> bool:
        """Replace a conversion of an integer product to s32, or back to f32, by the exact sums.

        Returns whether the value is such a conversion.
        """
        views: list[GraphValue] = []
        at = self.graph.values[name]
        while isinstance(at.operation, ViewNode):
            if at.id in self.floats:
                break
            views.append(at)
            at = self.graph.values[at.operation.of]
        if value.dtype is DType.F32 and at.id in self.floats:
            self.take(value, self.seen(self.floats[at.id], views, value))
            return True
        if value.dtype is not DType.S32 or at.dtype is not DType.F32:
            return False
        if at.id not in self.sums:
            self.check_depth(at)
            return False
        sums = self.sums[at.id]
        if (sums.a.scale, sums.b.scale) != (constant(1.0), constant(1.0)):
            return False
        self.floats[value.id] = self.builder.values[self.ids[name]]
        self.take(value, self.seen(self.exact(at, sums), views, value))
        return True

    def seen(self, found: GraphValue, views: list[GraphValue], like: GraphValue) -> GraphValue:
        """Apply a chain of views to another value."""
        for at in reversed(views):
            assert isinstance(at.operation, ViewNode)
            node = ViewNode(of=found.id, step=at.operation.step)
            found = self.builder.add(node, at.shape, found.dtype, like.nodes)
        return found

    def check_depth(self, value: GraphValue) -> None:
        operation = value.operation
        if not isinstance(operation, ProductNode):
            return
        depth = self.graph.values[operation.a].shape[-1]
        if operation.conv is not None:
            depth = operation.conv.product.k
        if depth > EXACT_DEPTH:
            raise GraphError(
                f"{self.graph.names.get(value.id, value.id)} adds {depth} products of integers, of "
                f"which kernels of floats add {EXACT_DEPTH} exactly; use zero points that do not "
                f"differ along the added axis{nodes_shown(value.nodes)}"
            )

    def add_as(
        self, operation: FormulaNode | ProductNode | ViewNode, like: GraphValue, dtype: DType
    ) -> GraphValue:
        return self.builder.add(operation, like.shape, dtype, like.nodes)


def times(x: Expression, y: Expression) -> Expression:
    """Return the product of two terms; a factor of 1 is dropped."""
    if constant(1.0) in (x, y):
        return y if x == constant(1.0) else x
    return call("mul", (x, y))
