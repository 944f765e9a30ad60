"""Conversions within an expression: `cast(x, f16)` is the number of another type nearest to x, with
which the expression goes on as it is computed."""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.registry import function
from kgen_runtime.dtypes import DType


@function()
def cast(x: Expression) -> Expression:
    """x itself, which becomes a number of the output's type."""
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


def _byte(x: Expression, dtype: DType) -> Expression:
    """The nearest number of 8 bits, ties to even; NaN becomes 0."""
    number = select(node(P.ABS, x) <= math.inf, x, 0.0)
    return _clipped(node(P.ROUND, number), dtype)


@function(whole=lambda x: _clipped(x, DType.S8))
def cast_s8(x: Expression) -> Expression:
    return _byte(x, DType.S8)


@function(whole=lambda x: _clipped(x, DType.U8))
def cast_u8(x: Expression) -> Expression:
    return _byte(x, DType.U8)


@function()
def cast_bool(x: Expression) -> Expression:
    """1 where x is not 0, NaN included."""
    return select(x.equals(0.0), 0.0, 1.0)
