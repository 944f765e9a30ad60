"""Polynomials, and approximations by them that several functions use.

They were fitted by reweighted least squares (Lawson's algorithm) on 2000 Chebyshev nodes and
rounded to f32. Comments give their relative errors, and a test derives them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.ops.expression import Expression, constant, fma, node, select
from kgen.ops.expression import Primitive as P

LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """Return a polynomial by Horner's rule; the highest power comes first."""
    value = constant(coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(value, x, coefficient)
    return value


def with_sign(magnitude: Expression, x: Expression) -> Expression:
    """Return `magnitude`, negated where x is below zero."""
    return select(x < 0.0, -magnitude, magnitude)


#: (2 * atanh(s) - 2 * s) / s^3 in s^2, for |s| <= 0.18; the relative error of 2 atanh(s) is 1.6e-9.
ATANH = (0.300076187, 0.399726629, 0.666668117)
#: Range in which log(1 + x) = 2 atanh(x / (2 + x)) has such an s.
LOG1P_LOW, LOG1P_HIGH = -0.3, 0.42


def accurate_log2(x: Expression) -> Expression:
    """Return log2(x) with a small relative error, also close to 1."""
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    near = fma(s * z, polynomial(z, ATANH), s + s) * LOG2_E
    return select((x > 1.0 + LOG1P_LOW) & (x < 1.0 + LOG1P_HIGH), near, node(P.LOG2, x))


def exp_f64(x: Expression) -> Expression:
    """Return e^x in f64 as 2^h e^r.

    h = x log2(e), rounded to 20 fractional bits, has 31 bits, so its product with the 22 bits of
    `LN_2_HIGH` is exact (Cody and Waite's reduction); |r| is below 2^-20.
    """
    x = node(P.MIN, node(P.MAX, x, -EXP_F64_LIMIT), EXP_F64_LIMIT)
    h = node(P.ROUND, x * (LOG2_E * 2.0**20)) * 2.0**-20
    r = (x - h * LN_2_HIGH) - h * LN_2_LOW
    return node(P.EXP2, h) * ((r * r * 0.5 + r) + 1.0)


#: Magnitude beyond which e^x is infinite or 0 in f64.
EXP_F64_LIMIT = 800.0
LN_2_HIGH = math.floor(LN_2 * 2.0**22) * 2.0**-22
#: ln 2 - LN_2_HIGH, to the precision of f64.
LN_2_LOW = 2.3651392480160473e-07

#: ATANH in f64: 2 / (2 k + 1), the series itself.
ATANH_F64 = tuple(2.0 / (2 * k + 1) for k in range(12, 0, -1))


def twice_atanh_f64(s: Expression) -> Expression:
    """Return 2 atanh(s) in f64, for |s| <= 0.18."""
    z = s * s
    return s * z * polynomial(z, ATANH_F64) + (s + s)


def accurate_log2_f64(x: Expression) -> Expression:
    near = twice_atanh_f64((x - 1.0) / (x + 1.0)) * LOG2_E
    return select((x > 1.0 + LOG1P_LOW) & (x < 1.0 + LOG1P_HIGH), near, node(P.LOG2, x))


#: erfc(z) = t exp(-z^2 + P(2 t - 1)), t = 2 / (2 + z), z >= 0 (W. Press et al., "Numerical
#: Recipes", 3rd edition, 6.2.2). The coefficients are a Chebyshev fit, computed with 60 digits and
#: converted to powers; the first omitted term is 1.2e-16.
ERFC_F64 = (
    *(-1.5867042914138042e-09, -1.2776086554968677e-08, 3.972203547273795e-08),
    *(7.745572408758512e-08, -3.168341367694147e-07, -4.146853754663641e-08),
    *(1.3267813608518889e-06, -1.409445991433531e-06, -3.007645434410669e-06),
    *(8.662535397475538e-06, 1.699233231227702e-07, -3.023784054007137e-05),
    *(3.173310599377061e-05, 7.141810433422301e-05, -0.00017429984933155644),
    *(-9.373894767667295e-05, 0.0006736782697069831, -0.00014624628742128406),
    *(-0.002345812444802156, 0.0017589335074028032, 0.008824938553738764),
    *(-0.009872689364099222, -0.046895610231083025, 0.047343306841863525),
    *(0.672643223977656, -0.6717940840566922),
)


def erfc_f64(z: Expression) -> Expression:
    """Return erfc(z) in f64, for z >= 0."""
    z = node(P.MIN, z, ERFC_F64_LIMIT)
    t = 2.0 / (z + 2.0)
    return t * exp_f64(polynomial(t + t - 1.0, ERFC_F64) - z * z)


#: Limit from which erfc is zero in f64.
ERFC_F64_LIMIT = 28.0

#: erfc(z) / 2 = exp(-z^2) P(t), t = 1 / (1 + ERFC_SLOPE z), 0 <= z <= 10.3, with a relative error
#: of 4.1e-8. The form is that of Abramowitz and Stegun 7.1.26.
ERFC_SLOPE = 0.42
ERFC = (
    *(0.0391950279, -0.178477044, 0.255167655, -0.101606622, 0.157107221, 0.0886513017),
    *(0.121786175, 0.118163332, 1.29727817e-05),
)


def normal_tail_f64(x: Expression) -> Expression:
    return erfc_f64(node(P.ABS, x) * math.sqrt(0.5)) * 0.5


def normal_tail(x: Expression) -> Expression:
    """Return Phi(-|x|) of the normal distribution: erfc(|x| / sqrt 2) / 2."""
    t = node(P.RECIPROCAL, fma(node(P.ABS, x), ERFC_SLOPE / math.sqrt(2.0), 1.0))
    return polynomial(t, ERFC) * node(P.EXP2, x * x * (-LOG2_E / 2.0))
