"""Polynomials, and approximations by them that several functions are made of.

They were fitted by reweighted least squares (Lawson's algorithm) on 2000 Chebyshev nodes and
rounded to f32; their relative errors stand beside them, and a test derives them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.ops.expression import Expression, constant, fma, node, select
from kgen.ops.expression import Primitive as P

LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """Horner's rule, highest power first."""
    value = constant(coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(value, x, coefficient)
    return value


def with_sign(magnitude: Expression, x: Expression) -> Expression:
    """`magnitude`, negated where x is below zero."""
    return select(x < 0.0, -magnitude, magnitude)


#: (2 atanh(s) - 2 s) / s^3 in s^2, for |s| <= 0.18; the error of 2 atanh(s) is 1.6e-9 of it.
ATANH = (0.300076187, 0.399726629, 0.666668117)
#: Where log(1 + x) = 2 atanh(x / (2 + x)) has such an s.
LOG1P_LOW, LOG1P_HIGH = -0.3, 0.42


def accurate_log2(x: Expression) -> Expression:
    """log2(x), also next to 1 with a small error relative to itself."""
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    near = fma(s * z, polynomial(z, ATANH), s + s) * LOG2_E
    return select((x > 1.0 + LOG1P_LOW) & (x < 1.0 + LOG1P_HIGH), near, node(P.LOG2, x))


#: erfc(z) / 2 = exp(-z^2) P(t), t = 1 / (1 + ERFC_SLOPE z), 0 <= z <= 10.3, to 4.1e-8 of it. The
#: form is that of Abramowitz and Stegun 7.1.26.
ERFC_SLOPE = 0.42
ERFC = (
    *(0.0391950279, -0.178477044, 0.255167655, -0.101606622, 0.157107221, 0.0886513017),
    *(0.121786175, 0.118163332, 1.29727817e-05),
)


def normal_tail(x: Expression) -> Expression:
    """Phi(-|x|) of the normal distribution: erfc(|x| / sqrt 2) / 2."""
    t = node(P.RECIPROCAL, fma(node(P.ABS, x), ERFC_SLOPE / math.sqrt(2.0), 1.0))
    return polynomial(t, ERFC) * node(P.EXP2, x * x * (-LOG2_E / 2.0))
