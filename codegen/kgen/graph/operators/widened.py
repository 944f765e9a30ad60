"""Numbers of types that kernels lack (s16, u16, 4 and 2 bits, 8-bit floats), computed as f32."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.reading.element_types import FLOATS_8, limits_of
from kgen.graph.reading.model import TensorType
from kgen.ops.expression import Expression, view
from kgen_runtime.dtypes import FLOATS_8 as DTYPES_8
from kgen_runtime.dtypes import DType

#: Number of values of a byte.
BYTE = 256
#: Less than the distance of log2 between a number of an 8-bit float and the next power of two.
BELOW_POWER = 2.0**-6


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
    """Add an input of a type of `STORED`, as bytes. Return the bytes and the numbers."""
    dtype, shape = tensor.dtype, tensor.shape
    count = math.prod(shape)
    codes = b.input(name, (count, dtype.itemsize), DType.U8)
    if not count:
        return codes, codes
    if dtype in DTYPES_8:
        every = np.arange(BYTE, dtype=np.uint8).view(np.dtype(getattr(ml_dtypes, dtype.array_name)))
        table = b.constant(f"numbers by byte of {dtype}", every.astype(np.float32), DType.F32)
        index = b.formula(b.call("cast", codes), codes.shape, DType.S32)
        found = b.formula(
            view("gather", (b.tensor(table), b.tensor(index), 0)), codes.shape, DType.F32
        )
        return codes, b.reshape(found, shape)
    low, high = (b.reshape(b.slice(codes, 1, i, 1), shape) for i in range(2))
    wide = b.call("add", low, b.call("mul", high, float(BYTE)))
    if dtype is DType.S16:
        negative = b.call("greater_equal", high, float(BYTE // 2))
        wide = b.call("where", negative, b.call("sub", wide, float(BYTE * BYTE)), wide)
    return codes, b.formula(wide, shape, DType.F32)


def encoded(b: Builder, x: GraphValue, dtype: DType) -> GraphValue:
    """Return numbers of a type of `STORED` as rows of their bytes."""
    count, size = math.prod(x.shape), dtype.itemsize
    if not count:
        return b.constant(f"no bytes of {dtype}", np.zeros((0, size), np.uint8), DType.U8)
    wide = b.reshape(x, (count, 1))
    if dtype in DTYPES_8:
        return b.formula(code_of(b, wide, dtype), (count, 1), DType.U8)
    units = b.constant("units of bytes", np.array([1, BYTE], np.float32), DType.F32)
    bits = b.call("where", b.call("less", wide, 0.0), b.call("add", wide, float(BYTE * BYTE)), wide)
    above = b.call("floor", b.call("div", bits, units))
    byte = b.call("sub", above, b.call("mul", b.call("floor", b.call("div", above, BYTE)), BYTE))
    return b.formula(byte, (count, 2), DType.U8)


def code_of(b: Builder, x: GraphValue, dtype: DType) -> Expression:
    """Return the byte of each number of an 8-bit float, which must be a number of that type."""
    least = math.frexp(dtype.smallest_normal)[1] - 1
    size = b.call("abs", x)
    power = b.call("floor", b.call("add", b.call("log2", size), BELOW_POWER))
    power = b.call("max", power, float(least))
    digits = b.call("mul", size, b.call("exp2", b.call("sub", float(dtype.mantissa_bits), power)))
    steps = b.call("mul", b.call("sub", power, float(least)), 2.0**dtype.mantissa_bits)
    code = b.call("add", steps, b.call("round", digits))
    negative = b.call("less", x, 0.0)
    nan = float(BYTE // 2 - 1)
    if dtype.is_fnuz:
        nan = float(BYTE // 2)
    else:  # The reciprocal of -0 is less than 0.
        zero = b.call(
            "logical_and", b.call("equal", x, 0.0), b.call("less", b.call("div", 1.0, x), 0.0)
        )
        negative = b.call("logical_or", negative, zero)
    if dtype is DType.E5M2:
        infinity = (2.0**5 - 1) * 2.0**dtype.mantissa_bits
        code = b.call("where", b.call("equal", size, math.inf), infinity, code)
    code = b.call("where", negative, b.call("add", code, BYTE / 2), code)
    return b.call("where", b.call("isnan", x), nan, code)


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
