"""Bitwise operations and shifts of integers in two's complement. 8-bit integers are computed as
floats."""

from __future__ import annotations

from collections.abc import Callable

from kgen.ops.expression import Expression, constant, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.arithmetic import floor_quotient
from kgen.ops.registry import function

#: Shifts whose sum is a shift by 0 to 63, the largest first.
SHIFTS = (16, 16, 16, 8, 4, 2, 1)
#: Least shift that is out of range.
MOST_SHIFTED = 64.0


@function(whole=lambda x, y: node(P.BITS_AND, x, y))
def bitwise_and(x: Expression, y: Expression) -> Expression:
    """The sum of the powers of two that x and y share; -256 stands for the sign bit.

    A float is rounded down to an integer from -256 to 255 first; NaN counts as 0.
    """
    total = constant(0.0)
    for power in (-256.0, *(2.0**bit for bit in reversed(range(8)))):
        has_x, has_y = (v < 0.0 if power < 0.0 else v >= power for v in (x, y))
        x, y = select(has_x, x - power, x), select(has_y, y - power, y)
        total = select(has_x & has_y, total + power, total)
    return total


def shifted(
    x: Expression, n: Expression, by: Callable[[Expression, int], Expression], beyond: Expression
) -> Expression:
    """Return x shifted by floor(n), from 0 to 63, in steps of `SHIFTS`; `beyond` for other n."""
    found, left = x, n
    for shift in SHIFTS:
        fits = left >= float(shift)
        found = select(fits, by(found, shift), found)
        left = select(fits, left - float(shift), left)
    return select((n >= 0.0) & (n < MOST_SHIFTED), found, beyond)


@function()
def shift_left(x: Expression, n: Expression) -> Expression:
    """x 2^n; 0 for n outside of 0 to 63."""
    return shifted(x, n, lambda v, shift: v * 2.0**shift, constant(0.0))


def _whole_shift_right(x: Expression, n: Expression) -> Expression:
    sign = select(x < 0.0, -1.0, 0.0)
    return shifted(x, n, lambda v, shift: floor_quotient(v, constant(2.0**shift)), sign)


@function(whole=_whole_shift_right)
def shift_right(x: Expression, n: Expression) -> Expression:
    """x 2^-n, rounded down; for n outside of 0 to 63, -1 if x is below 0, else 0."""
    sign = select(x < 0.0, -1.0, 0.0)
    return shifted(node(P.FLOOR, x), n, lambda v, shift: node(P.FLOOR, v * 2.0**-shift), sign)
