"""Functions without rounding error: signs, comparisons, logic, and rounding to integers."""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, Number, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.registry import function


@function()
def neg(x: Expression) -> Expression:
    return -x


@function()
def abs_(x: Expression) -> Expression:
    return node(P.ABS, x)


@function()
def sign(x: Expression) -> Expression:
    """-1, 1, or x where it is zero or NaN."""
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))


@function()
def min_(x: Expression, y: Expression) -> Expression:
    return node(P.MIN, x, y)


@function()
def max_(x: Expression, y: Expression) -> Expression:
    return node(P.MAX, x, y)


@function()
def clip(x: Expression, low: Number, high: Number) -> Expression:
    return node(P.MIN, node(P.MAX, x, low), high)


@function()
def floor(x: Expression) -> Expression:
    return node(P.FLOOR, x)


@function()
def ceil(x: Expression) -> Expression:
    return -node(P.FLOOR, -x)


@function()
def round_(x: Expression) -> Expression:
    return node(P.ROUND, x)


@function()
def trunc(x: Expression) -> Expression:
    return select(x < 0.0, ceil(x), floor(x))


@function(truth=True)
def less(x: Expression, y: Expression) -> Expression:
    return x < y


@function(truth=True)
def less_equal(x: Expression, y: Expression) -> Expression:
    return x <= y


@function(truth=True)
def greater(x: Expression, y: Expression) -> Expression:
    return x > y


@function(truth=True)
def greater_equal(x: Expression, y: Expression) -> Expression:
    return x >= y


@function(truth=True)
def equal(x: Expression, y: Expression) -> Expression:
    return x.equals(y)


@function(truth=True)
def not_equal(x: Expression, y: Expression) -> Expression:
    return ~x.equals(y)


@function(truths="x y", truth=True)
def logical_and(x: Expression, y: Expression) -> Expression:
    return x & y


@function(truths="x y", truth=True)
def logical_or(x: Expression, y: Expression) -> Expression:
    return x | y


@function(truths="x y", truth=True)
def logical_xor(x: Expression, y: Expression) -> Expression:
    return x ^ y


@function(truths="x", truth=True)
def logical_not(x: Expression) -> Expression:
    return ~x


@function(truth=True)
def isnan(x: Expression) -> Expression:
    return ~x.equals(x)


@function(truth=True)
def isinf(x: Expression) -> Expression:
    return node(P.ABS, x).equals(math.inf)


@function(truths="condition")
def where(condition: Expression, x: Expression, y: Expression) -> Expression:
    return select(condition, x, y)
