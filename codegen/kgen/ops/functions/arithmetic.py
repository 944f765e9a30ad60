"""Sums, products, quotients, roots, powers and remainders."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kgen.ops.expression import Expression, constant, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.exact import floor
from kgen.ops.functions.polynomials import accurate_log2, accurate_log2_f64, with_sign
from kgen.ops.registry import Accuracy, function

INFINITY = math.inf


@function(Accuracy(roundings=1))
def add(x: Expression, y: Expression) -> Expression:
    return x + y


@function(Accuracy(roundings=1))
def sub(x: Expression, y: Expression) -> Expression:
    return x - y


@function(Accuracy(roundings=1))
def mul(x: Expression, y: Expression) -> Expression:
    return x * y


@function(Accuracy(roundings=5))
def div(x: Expression, y: Expression) -> Expression:
    return x / y


@function(Accuracy(roundings=1))
def square(x: Expression) -> Expression:
    return x * x


@function(Accuracy(roundings=5))
def sqrt(x: Expression) -> Expression:
    return node(P.SQRT, x)


@function(Accuracy(roundings=5))
def rsqrt(x: Expression) -> Expression:
    return node(P.RSQRT, x)


@function(Accuracy(roundings=5))
def reciprocal(x: Expression) -> Expression:
    return 1.0 / x


#: Largest exponent of a power that is computed by products.
LARGEST_POWER = 8


def _pow_measure(x: Any, y: Any) -> Any:
    """Return |y log2 |x||, which multiplies the error of the logarithm."""
    import numpy as np

    size = abs(x)
    finite = (size > 0.0) & (size < INFINITY) & (abs(y) < INFINITY)
    return abs(y * np.log2(np.where(finite, size, 1.0)))


def power(x: Expression, y: Expression, log2: Callable[[Expression], Expression]) -> Expression:
    """Return IEEE 754's pow by a logarithm.

    A constant integer y up to 8 in magnitude gives products, and a constant half a root.
    """
    if y.primitive is P.CONSTANT and abs(y.number) == 0.5:
        # Unlike a root, pow loses the sign of zero and of infinity.
        above = select(x.equals(-INFINITY), INFINITY, select(x.equals(0.0), 0.0, x))
        return node(P.SQRT if y.number > 0 else P.RSQRT, above)
    if y.primitive is P.CONSTANT and abs(y.number) <= LARGEST_POWER and y.number.is_integer():
        return whole_power(x, int(y.number))
    is_whole, half = floor(y).equals(y), y * 0.5
    size = node(P.ABS, x)
    found = node(P.EXP2, y * log2(size))
    odd = is_whole & ~floor(half).equals(half)
    below = (x < 0.0) | (node(P.RECIPROCAL, x) < 0.0)
    found = select(below & odd, -found, found)
    found = select((x < 0.0) & (size < INFINITY) & ~is_whole, math.nan, found)
    found = select(x.equals(x) & y.equals(y), found, x + y)
    is_one = y.equals(0.0) | x.equals(1.0) | (size.equals(1.0) & node(P.ABS, y).equals(INFINITY))
    return select(is_one, 1.0, found)


#: Bits of the largest exponent.
BITS_OF_EXPONENT = 63
#: Bits of an exponent that are tested between two divisions, which are slow in 64 bits.
BITS_AT_ONCE = 21


def power_of_whole(x: Expression, y: Expression) -> Expression:
    """Return x^y of integers, which wraps around.

    For y below 0 it is 1 / x^-y, truncated towards zero, and 0 if x is 0.
    """
    if y.primitive is P.CONSTANT and 0 <= y.number <= LARGEST_POWER:
        return whole_power(x, int(y.number))
    found, square_of, bits = constant(1.0), x, y
    for bit in range(BITS_OF_EXPONENT):
        place = bit % BITS_AT_ONCE
        if bit and not place:
            bits = node(P.QUOTIENT, bits, 2.0**BITS_AT_ONCE)
        is_zero = node(P.BITS_AND, bits, 2.0**place).equals(0.0)
        found = select(is_zero, found, found * square_of)
        square_of = square_of * square_of
    # For bases 1 and -1 only the parity of y matters.
    return select((y < 0.0) & ~(x.equals(1.0) | x.equals(-1.0)), 0.0, found)


@function(
    Accuracy(roundings=13, growth=12, transcendental=2, amplified=2, measure=_pow_measure),
    whole=power_of_whole,
    double=lambda x, y: power(x, y, accurate_log2_f64),
)
def pow_(x: Expression, y: Expression) -> Expression:
    return power(x, y, accurate_log2)


def whole_power(x: Expression, power: int) -> Expression:
    """Return x multiplied by itself, by repeated squaring."""
    value, square_of = constant(1.0), x
    for bit in reversed(f"{abs(power):b}"):
        value = value * square_of if bit == "1" else value
        square_of = square_of * square_of
    return 1.0 / value if power < 0 else value


def _quotient_is_small(x: Any, y: Any) -> Any:
    return abs(x) < 2.0**22 * abs(y)


def floor_quotient(x: Expression, y: Expression) -> Expression:
    """Return the quotient of integers, rounded down; 0 if y is 0. For y = -1 it is -x."""
    cut = node(P.QUOTIENT, x, select(y.equals(0.0) | y.equals(-1.0), 1.0, y))
    left = x - cut * y
    down = select(~left.equals(0.0) & ((left < 0.0) ^ (y < 0.0)), cut - 1.0, cut)
    return select(y.equals(0.0), 0.0, select(y.equals(-1.0), -x, down))


def whole_remainder(x: Expression, y: Expression) -> Expression:
    """Return x - y floor(x / y), with the sign of y; 0 if y is 0."""
    return select(y.equals(0.0), 0.0, x - floor_quotient(x, y) * y)


def cut_remainder(x: Expression, y: Expression) -> Expression:
    """Return the remainder of integers with the sign of x; 0 if y is 0, 1 or -1."""
    none = y.equals(0.0) | y.equals(-1.0)
    divisor = select(none, 1.0, y)
    return select(none, 0.0, x - node(P.QUOTIENT, x, divisor) * divisor)


@function(Accuracy(steady=_quotient_is_small, slope=1.0), whole=cut_remainder)
def fmod(x: Expression, y: Expression) -> Expression:
    """C's fmod: the remainder of a division that is cut towards zero, with the sign of x."""
    return node(P.REMAINDER, x, y)


def _differ_in_sign(remainder: Expression, y: Expression) -> Expression:
    return ((remainder < 0.0) & (y > 0.0)) | ((remainder > 0.0) & (y < 0.0))


@function(Accuracy(roundings=1, steady=_quotient_is_small, slope=1.0), whole=whole_remainder)
def mod(x: Expression, y: Expression) -> Expression:
    """x - y floor(x / y), with the sign of y, as Python's %: exact where x has that sign too."""
    left = node(P.REMAINDER, x, y)
    found = select(_differ_in_sign(left, y), left + y, left)
    return select(left.equals(0.0), with_sign(constant(0.0), y), found)


@function(Accuracy(roundings=7, steady=_quotient_is_small), whole=floor_quotient)
def floor_divide(x: Expression, y: Expression) -> Expression:
    """floor(x / y): exact for |x / y| below 2**21, as x less its remainder is a multiple of y."""
    left = node(P.REMAINDER, x, y)
    cut = node(P.ROUND, (x - left) / y)
    down = select(_differ_in_sign(left, y), cut - 1.0, cut)
    return select(y.equals(0.0), x / y, down)
