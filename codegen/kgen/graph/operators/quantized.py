"""Quantised operators (QLinearMatMul, ConvInteger, QuantizeLinear, ...) as dequantised formulas.

Products are written as products of floats here. :mod:`kgen.graph.rewrites.integer_products` turns
them into integer products.
"""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue, SourceNode
from kgen.graph.operators import signed_bytes
from kgen.graph.operators.convolutions import conv
from kgen.graph.operators.products import matmul
from kgen.graph.operators.registry import Operator, axis_of, one, optional
from kgen.graph.operators.signed_bytes import OFFSET, numbers_of, signed, unsigned
from kgen.graph.operators.widened import limited
from kgen.graph.reading.element_types import INTEGERS, WIDENED
from kgen.graph.reading.model import Dequantized, Node
from kgen.ops.expression import Expression, constant
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType

#: Types of quantised numbers.
QUANTIZED = (DType.S8, DType.U8)
F32 = DType.F32
#: Largest K for which a sum of products (a - zero_a) (b - zero_b) of bytes is exact in f32.
MOST_EXACT = 256


def along(b: Builder, value: GraphValue, x: GraphValue, axis: int, block: int = 0) -> GraphValue:
    """Return scales or zero points in a shape that broadcasts to a tensor.

    There may be one for the tensor, one per element of an axis, or one per block along an axis.
    """
    if block:
        wanted = [-(-n // block) if i == axis else n for i, n in enumerate(x.shape)]
        if list(value.shape) != wanted:
            raise b.refusal(
                f"has scales of shape {by_x(value.shape)} for block_size={block}; ONNX requires "
                f"{by_x(tuple(wanted))} here",
                CHANGE_MODEL,
            )
        before, after = value.shape[: axis + 1], value.shape[axis + 1 :]
        wide = b.expand(b.reshape(value, (*before, 1, *after)), (*before, block, *after))
        wide = b.reshape(wide, (*before[:-1], before[-1] * block, *after))
        return b.folded(b.slice(wide, axis, 0, x.shape[axis]))
    if math.prod(value.shape) == 1:
        return b.reshape(value, ())
    if value.shape == (x.shape[axis],):
        return b.reshape(value, (*value.shape, *(1,) * (x.rank - 1 - axis)))
    raise b.refusal(
        f"has scales or zero points of shape {by_x(value.shape)} for axis {axis} of "
        f"{by_x(x.shape)}; ONNX requires one, or {x.shape[axis]}",
        CHANGE_MODEL,
    )


def zero_term(b: Builder, dtype: DType, zero: GraphValue | None) -> Expression:
    """Return the zero point as a term, less 128 for u8 numbers, which are stored as s8."""
    offset = OFFSET if dtype is DType.U8 else 0
    if zero is None:
        return constant(float(-offset))
    array = b.elements(zero)
    if array is not None and array.size == 1:
        return constant(float(array.reshape(-1)[0]) - offset)
    if array is not None:
        return b.tensor(b.made("zero", (array.astype(np.int64) - offset).astype(np.float32), F32))
    wide = b.call("cast", zero)
    less = b.call("sub", wide, float(offset)) if offset else wide
    return b.tensor(b.formula(less, zero.shape, F32))


def dequantized(
    b: Builder, x: GraphValue, scale: GraphValue | None, zero: GraphValue | None, dtype: DType = F32
) -> GraphValue:
    """Return (x - zero) * scale in floats; scales and zero points broadcast to x.

    A constant also keeps its quantised numbers.
    """
    array = b.elements(x)
    others = [None if v is None else b.elements(v) for v in (scale, zero)]
    if (
        array is not None
        and dtype is not DType.BF16
        and all((v is None) == (a is None) for v, a in zip((scale, zero), others, strict=True))
    ):
        factor, less = (
            np.float32(n) if a is None else a for a, n in zip(others, (1, 0), strict=True)
        )
        wide = (array.astype(np.float32) - less.astype(np.float32)) * factor.astype(np.float32)
        made = b.made("dequantized", wide.astype(dtype.storage), dtype)
        if x.dtype in QUANTIZED and isinstance(made.operation, SourceNode):
            b.dequantized[made.operation.name] = Dequantized(
                numbers=array,
                scale=np.broadcast_to(factor, array.shape),
                zero=np.broadcast_to(less, array.shape),
            )
        return made
    if x.dtype not in QUANTIZED:
        # Cast first, because a formula of s32 alone would be computed in s32.
        found = b.tensor(x if x.dtype is F32 else b.formula(b.call("cast", x), x.shape, F32))
        if (less_zero := zero_term(b, x.dtype, zero)) != constant(0.0):
            found = b.call("sub", found, less_zero)
        return b.formula(found if scale is None else b.call("mul", found, scale), x.shape, dtype)
    numbers = b.tensor(signed(b, x))
    term = constant(1.0) if scale is None else b.term(scale)
    return b.formula(
        signed_bytes.dequantized(numbers, zero_term(b, x.dtype, zero), term), x.shape, dtype
    )


def quantized(
    b: Builder, x: GraphValue, scale: GraphValue, zero: GraphValue | None, dtype: DType
) -> GraphValue:
    """Return round(x / scale) + zero, saturated. u8 numbers are computed as s8."""
    term = zero_term(b, dtype, zero)
    before, array = numbers_of(b, x), b.elements(scale)
    if before is not None and array is not None and array.size == 1:
        numbers, parts = before
        if (parts.zero, parts.scale) == (term, constant(float(array.reshape(-1)[0]))):
            return unsigned(b, numbers) if dtype is DType.U8 else numbers
    found = b.call("round", b.call("div", x, scale))
    if term != constant(0.0):
        found = b.call("add", found, term)
    found = b.call("min", b.call("max", found, -128.0), 127.0)
    made = b.formula(found, x.shape, DType.S8)
    return unsigned(b, made) if dtype is DType.U8 else made


def quantize_linear(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, (scale, zero) = one(given), scale_and_zero(b, node, given)
    if (kind := node.attribute("output_dtype", 0)) in WIDENED:
        found = b.call("div", x, scale)
        if kind in INTEGERS:
            found = b.call("round", found)
        if (term := zero_term(b, F32, zero)) != constant(0.0):
            found = b.call("add", found, term)
        return b.formula(limited(b, found, kind, node.attribute("saturate", 1)), x.shape, F32)
    return quantized(b, x, scale, zero, b.result.dtype)


def dequantize_linear(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    return dequantized(b, one(given), *scale_and_zero(b, node, given), b.result.dtype)


def scale_and_zero(
    b: Builder, node: Node, given: list[GraphValue | None]
) -> tuple[GraphValue, GraphValue | None]:
    """Return a node's second and third input in shapes that broadcast to the first."""
    x, scale, zero = one(given), one(given, 1), optional(given, 2)
    block, axis = node.attribute("block_size", 0), node.attribute("axis", 1)
    if block < 0:
        raise b.refusal(f"has block_size={block}; it must be 0 or more", "change it in the model")
    axis = axis_of(b, axis, x.rank) if math.prod(scale.shape) > 1 else 0
    if zero is not None and zero.shape != scale.shape and math.prod(zero.shape) > 1:
        raise b.refusal(
            f"has scales of shape {by_x(scale.shape)} and zero points of {by_x(zero.shape)}; both "
            "must be equal",
            CHANGE_MODEL,
        )
    block = block if scale.rank == x.rank and math.prod(scale.shape) > 1 else 0
    return along(b, scale, x, axis, block), zero and along(b, zero, x, axis, block)


def of_rows(b: Builder, value: GraphValue | None, x: GraphValue, axis: int) -> GraphValue | None:
    """Return scales or zero points of a product's operand in a shape that broadcasts to it.

    There may be one, or one per row of A (axis -2) or column of B (axis -1), as a list or with the
    operand's axes.
    """
    if value is None or (value.rank == x.rank and value.rank > 1):
        return value
    return along(b, value, x, axis % x.rank)


def truncated(b: Builder, x: GraphValue) -> GraphValue:
    """Return a float tensor of integers as s32."""
    return b.formula(b.call("trunc", x), x.shape, DType.S32)


def matmul_integer(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    a, c = one(given), one(given, 1)
    zeros = of_rows(b, optional(given, 2), a, -2), of_rows(b, optional(given, 3), c, -1)
    pair = [dequantized(b, x, None, z, DType.F32) for x, z in zip((a, c), zeros, strict=True)]
    return truncated(b, matmul(b, node, [*pair]))


def conv_integer(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, w = one(given), one(given, 1)
    if w.shape[1] == 1 < x.shape[1] and math.prod(w.shape[2:]) > MOST_EXACT:
        raise b.refusal(
            f"has a kernel of {math.prod(w.shape[2:])} elements for each channel; {MOST_EXACT} is "
            "the limit for exact sums",
            "use a smaller kernel",
        )
    zeros = [v and along(b, v, of, 0) for v, of in zip_inputs(given[2:4], (x, w))]
    pair = [dequantized(b, v, None, z, DType.F32) for v, z in zip((x, w), zeros, strict=True)]
    return truncated(b, conv(b, node, [*pair]))


def zip_inputs(
    values: list[GraphValue | None], of: tuple[GraphValue, ...]
) -> list[tuple[GraphValue | None, GraphValue]]:
    """Pair inputs with other values; missing inputs at the end become None."""
    return list(zip([*values, *[None] * (len(of) - len(values))], of, strict=True))


def qlinear_matmul(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    a, c = one(given), one(given, 3)
    scale, zero = (of_rows(b, one(given, i), a, -2) for i in (1, 2))
    left = dequantized(b, a, scale, zero, DType.F32)
    scale, zero = (of_rows(b, one(given, i), c, -1) for i in (4, 5))
    pair = (left, dequantized(b, c, scale, zero, DType.F32))
    found = matmul(b, node, [*pair])
    scale, zero = (of_rows(b, one(given, i), found, -2) for i in (6, 7))
    assert scale is not None
    return quantized(b, found, scale, zero, b.result.dtype)


def qlinear_conv(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, w, bias = one(given), one(given, 3), optional(given, 8)
    pairs = [(along(b, one(given, i), x, 0), along(b, one(given, i + 1), x, 0)) for i in (1, 6)]
    scale, zero = (along(b, one(given, i), w, 0) for i in (4, 5))
    if bias is not None:
        scales = [b.elements(v) for v in (bias, pairs[0][0], one(given, 4))]
        if all(array is not None for array in scales):
            wide = math.prod(np.asarray(array, np.float64).reshape(-1) for array in scales)
            bias = b.made("bias", np.asarray(wide, np.float32), DType.F32)
        else:
            each = b.call("mul", pairs[0][0], b.reshape(one(given, 4), one(given, 4).shape))
            bias = b.formula(b.call("mul", bias, each), bias.shape, DType.F32)
    found = conv(
        b,
        node,
        [dequantized(b, x, *pairs[0], DType.F32), dequantized(b, w, scale, zero, DType.F32), bias],
    )
    return quantized(b, found, *pairs[1], b.result.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="QuantizeLinear", family="element-wise", becomes="div, round, add, clip",
        lower=quantize_linear, unsupported="4-bit floats, e8m0",
    ),
    Operator(
        name="DequantizeLinear", family="element-wise", becomes="sub, mul",
        lower=dequantize_linear,
        unsupported="4-bit floats, e8m0, except of constants",
    ),
    Operator(
        name="MatMulInteger", family="product", becomes="matmul of s8", lower=matmul_integer
    ),
    Operator(
        name="ConvInteger", family="product", becomes="conv2d or matmul of s8", lower=conv_integer,
        unsupported="kernels of more than 256 elements by channel",
    ),
    Operator(
        name="QLinearMatMul", family="product", becomes="matmul of s8", lower=qlinear_matmul
    ),
    Operator(
        name="QLinearConv", family="product", becomes="conv2d or matmul of s8", lower=qlinear_conv
    ),
)  # fmt: skip
