"""Conversions within an expression, such as `cast(x, f16)`.

A cast rounds x to the type; the expression continues in the compute type.
"""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, constant, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.registry import Accuracy, function
from kgen_runtime.dtypes import DType


@function()
def cast(x: Expression) -> Expression:
    """x, which is rounded to the output's type when it is stored."""
    return x


def _rounded(x: Expression) -> Expression:
    """Return x rounded to f32. The step is the identity in f32, and does not exist for integers."""
    return node(P.TO_F32, x)


@function(whole=_rounded)
def cast_f64(x: Expression) -> Expression:
    return x


@function(whole=_rounded, double=_rounded)
def cast_f32(x: Expression) -> Expression:
    return x


@function()
def cast_f16(x: Expression) -> Expression:
    return node(P.TO_F16, x)


@function()
def cast_bf16(x: Expression) -> Expression:
    return node(P.TO_BF16, x)


@function()
def cast_e4m3(x: Expression) -> Expression:
    return _float8(x, DType.E4M3)


@function()
def cast_e5m2(x: Expression) -> Expression:
    return _float8(x, DType.E5M2)


@function()
def cast_e4m3fnuz(x: Expression) -> Expression:
    return _float8(x, DType.E4M3FNUZ)


@function()
def cast_e5m2fnuz(x: Expression) -> Expression:
    return _float8(x, DType.E5M2FNUZ)


def _float8(x: Expression, dtype: DType) -> Expression:
    """Return x rounded to an 8-bit float, ties to even, clamped to the type's limits.

    The number is divided by the power of two below it, one bit of the exponent at a time. Rounding
    the quotient to a multiple of the last place rounds the mantissa; subnormal numbers are not
    divided.
    """
    smallest = dtype.smallest_normal
    assert dtype.limits is not None
    left, power = _clipped(x, dtype) * (1.0 / smallest), constant(smallest)
    exponents = int(math.log2(dtype.limits[1] / smallest))
    for bit in reversed(range(exponents.bit_length())):
        step = 2.0 ** (1 << bit)
        is_large = node(P.ABS, left) >= step
        left = select(is_large, left * (1.0 / step), left)
        power = select(is_large, power * step, power)
    places = 2.0**dtype.mantissa_bits
    found = node(P.ROUND, left * places) * (1.0 / places) * power
    return select(found.equals(0.0), 0.0, found) if dtype.is_fnuz else found


def _clipped(x: Expression, dtype: DType) -> Expression:
    assert dtype.limits is not None
    least, largest = dtype.limits
    return node(P.MIN, node(P.MAX, x, least), largest)


def _integer(x: Expression, dtype: DType) -> Expression:
    """Return the nearest integer, ties to even, clamped to the type's limits; 0 for NaN.

    There is no -0: numbers that round to zero become 0 first.
    """
    number = select(node(P.ABS, x) > 0.5, x, 0.0)
    return _clipped(node(P.ROUND, number), dtype)


@function(whole=lambda x: x)
def cast_s64(x: Expression) -> Expression:
    """x rounded to s64; the largest result is 2^63, the float nearest to the type's limit."""
    return _integer(x, DType.S64)


@function(Accuracy(roundings=1.0), whole=lambda x: _clipped(x, DType.S32))
def cast_s32(x: Expression) -> Expression:
    """x rounded to s32; in f32 the largest result is 2^31."""
    return _integer(x, DType.S32)


@function(whole=lambda x: _clipped(x, DType.S8))
def cast_s8(x: Expression) -> Expression:
    return _integer(x, DType.S8)


@function(whole=lambda x: _clipped(x, DType.U8))
def cast_u8(x: Expression) -> Expression:
    return _integer(x, DType.U8)


@function()
def cast_bool(x: Expression) -> Expression:
    """1 where x is not 0, NaN included."""
    return select(x.equals(0.0), 0.0, 1.0)
