"""Numbers of types that kernels lack (s16, u16, 4 and 2 bits, 8-bit floats), computed as f32."""

from __future__ import annotations

import math

import numpy as np
import onnx

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.reading.element_types import FLOATS_8, limits_of
from kgen.graph.reading.model import TensorType
from kgen.ops.expression import Expression
from kgen_runtime.dtypes import DType

#: Number of values of a byte.
BYTE = 256


def limited(b: Builder, found: Expression, kind: int, saturates: int) -> Expression:
    """Return integers clamped to the limits of a type, or numbers rounded to an 8-bit float.

    Without `saturates`, numbers beyond the largest 8-bit float become infinity, or NaN in types
    that lack infinity.
    """
    if kind not in FLOATS_8:
        least, most = map(float, limits_of(kind))
        return b.call("min", b.call("max", found, least), most)
    dtype = FLOATS_8[kind]
    rounded = b.call(f"cast_{dtype}", found)
    if saturates:
        return rounded
    lost: Expression | float = math.nan
    if kind == onnx.TensorProto.FLOAT8E5M2:
        lost = b.call("where", b.call("less", found, 0.0), -math.inf, math.inf)
    return b.call("where", is_beyond(b, found, dtype), lost, rounded)


def decoded(b: Builder, name: str, tensor: TensorType) -> tuple[GraphValue, GraphValue]:
    """Add an input of 16-bit integers, as rows of two bytes. Return the bytes and the numbers."""
    dtype, shape = tensor.dtype, tensor.shape
    pairs = b.input(name, (math.prod(shape), dtype.itemsize), DType.U8)
    if 0 in shape:
        return pairs, pairs
    low, high = (b.reshape(b.slice(pairs, 1, i, 1), shape) for i in range(2))
    found = b.call("add", low, b.call("mul", high, float(BYTE)))
    if dtype is DType.S16:
        negative = b.call("greater_equal", high, float(BYTE // 2))
        found = b.call("where", negative, b.call("sub", found, float(BYTE * BYTE)), found)
    return pairs, b.formula(found, shape, DType.F32)


def encoded(b: Builder, x: GraphValue) -> GraphValue:
    """Return 16-bit integers as rows of two bytes."""
    count = math.prod(x.shape)
    if not count:
        return b.constant("no bytes", np.zeros((0, 2), np.uint8), DType.U8)
    units = b.constant("units of bytes", np.array([1, BYTE], np.float32), DType.F32)
    wide = b.reshape(x, (count, 1))
    bits = b.call("where", b.call("less", wide, 0.0), b.call("add", wide, float(BYTE * BYTE)), wide)
    above = b.call("floor", b.call("div", bits, units))
    byte = b.call("sub", above, b.call("mul", b.call("floor", b.call("div", above, BYTE)), BYTE))
    return b.formula(byte, (count, 2), DType.U8)


def is_beyond(b: Builder, found: Expression, dtype: DType) -> Expression:
    """Return whether numbers overflow a float type: if exponents had no limit, they would round to
    a number above the type's largest. Ties round to an even mantissa."""
    assert dtype.limits is not None
    largest = dtype.limits[1]
    unit = 2.0 ** (math.frexp(largest)[1] - 1 - dtype.mantissa_bits)
    is_even = largest / unit % 2 == 0
    name = "greater" if is_even else "greater_equal"
    return b.call(name, b.call("abs", found), largest + unit / 2)


def cast_to(b: Builder, x: GraphValue, kind: int, saturates: int) -> GraphValue:
    """Return numbers converted to a type that kernels lack, as f32.

    Integers beyond the type's limits wrap around.
    """
    found = b.term(x)
    if x.dtype is DType.BOOL:
        found = b.call("where", x, 1.0, 0.0)
    elif kind in FLOATS_8:
        if x.dtype.is_integer:
            x = b.formula(b.call("cast", x), x.shape, DType.F32)
        found = limited(b, b.term(x), kind, saturates)
    else:
        least, most = map(float, limits_of(kind))
        found = found if x.dtype.is_integer else b.call("trunc", x)
        found = b.call("add", b.call("mod", b.call("sub", found, least), most - least + 1), least)
    return b.formula(found, x.shape, DType.F32)
