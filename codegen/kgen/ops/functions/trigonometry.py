"""Sine, cosine and the inverse tangent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgen.ops.expression import Expression, fma, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.exact import floor
from kgen.ops.functions.polynomials import polynomial, with_sign
from kgen.ops.registry import Accuracy, function

#: pi = PI[0] + PI[1] + PI[2], each a f32.
PI = (3.1415927410125732, -8.742277657347586e-08, -3.552713678800501e-15)
#: (sin(r) - r) / r^3 in r^2, for |r| <= pi / 2; the relative error of sin(r) is 1.2e-8.
SINE = (2.60563070e-6, -1.98095382e-4, 8.33306555e-3, -0.166666597)


#: pi in f64, in parts of 30 bits, whose products with the 22 bits of a distance are exact.
PI_F64 = (3.141592651605606, 1.9841871583270443e-09, 1.03403659577805e-18, 5.80771194594155e-28)
#: The same function in f64: Taylor's series, whose first omitted term is 1e-18.
SINE_F64 = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(11, 0, -1))


def sine_of_multiple(
    x: Expression,
    multiple: Expression,
    distance: Expression,
    pi: Sequence[float] = PI,
    sine: Sequence[float] = SINE,
) -> Expression:
    """Return (-1)**multiple sin(x - distance pi), for an argument within about pi / 2."""
    r = x
    for part in pi:
        r = fma(distance, -part, r)
    z = r * r
    value = fma(r * z, polynomial(z, sine), r)
    odd = fma(floor(multiple * 0.5), -2.0, multiple)
    return select(odd.equals(0.0), value, -value)


#: Limit up to which the multiple of pi and its half are exact integers in f32.
FARTHEST_ANGLE = 2.0**22


def _is_near(x: Any) -> Any:
    return abs(x) < FARTHEST_ANGLE


def sin_f64(x: Expression) -> Expression:
    n = node(P.ROUND, x * (1.0 / math.pi))
    return sine_of_multiple(x, n, n, PI_F64, SINE_F64)


def cos_f64(x: Expression) -> Expression:
    n = node(P.ROUND, fma(x, 1.0 / math.pi, 0.5))
    return sine_of_multiple(x, n, n - 0.5, PI_F64, SINE_F64)


@function(Accuracy(roundings=8, growth=2, scale="one", holds=_is_near, ulps=2), double=sin_f64)
def sin(x: Expression) -> Expression:
    """Sine for |x| below 2**22; W. Cody and W. Waite, "Software Manual", chapter 8.

    The error grows with |x| where FMA rounds its product, on Vulkan.
    """
    n = node(P.ROUND, x * (1.0 / math.pi))
    return sine_of_multiple(x, n, n)


@function(Accuracy(roundings=8, growth=2, scale="one", holds=_is_near, ulps=2), double=cos_f64)
def cos(x: Expression) -> Expression:
    """Cosine for |x| below 2**22: (-1)**n sin(x - (n - 1/2) pi)."""
    n = node(P.ROUND, fma(x, 1.0 / math.pi, 0.5))
    return sine_of_multiple(x, n, n - 0.5)


#: (atan(r) - r) / r^3 in r^2, for |r| <= tan(pi / 8) (S. Moshier, Cephes, atanf).
ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
#: The same function in f64: Taylor's series, whose first omitted term is 1e-18.
ATAN_F64 = tuple((-1.0) ** k / (2 * k + 1) for k in range(23, 0, -1))
#: tan(pi / 8) and tan(3 pi / 8).
LOW_TANGENT, HIGH_TANGENT = math.sqrt(2.0) - 1.0, math.sqrt(2.0) + 1.0


def arctangent(x: Expression, series: Sequence[float]) -> Expression:
    """Return atan x as 0, pi / 4 or pi / 2 plus an angle within pi / 8, with the sign of x."""
    size = node(P.ABS, x)
    is_small, is_large = size <= LOW_TANGENT, size > HIGH_TANGENT
    turned = select(is_large, -1.0 / size, (size - 1.0) / (size + 1.0))
    r = select(is_small, size, turned)
    angle = select(is_small, 0.0, select(is_large, math.pi / 2, math.pi / 4))
    z = r * r
    return with_sign(angle + fma(r * z, polynomial(z, series), r), x)


@function(Accuracy(roundings=14, ulps=3), double=lambda x: arctangent(x, ATAN_F64))
def atan(x: Expression) -> Expression:
    return arctangent(x, ATAN)
