"""Conversions within an expression, such as `cast(x, f16)`.

A cast rounds x to the type; the expression continues in the compute type.
"""

from __future__ import annotations

from kgen.ops.expression import Expression, node, select
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
