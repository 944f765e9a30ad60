"""Exponentials and logarithms, and functions composed of them: tanh and the logistic function."""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, fma, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.polynomials import (
    ATANH,
    LN_2,
    LOG1P_HIGH,
    LOG1P_LOW,
    LOG2_E,
    exp_f64,
    polynomial,
    twice_atanh_f64,
    with_sign,
)
from kgen.ops.registry import Accuracy, function


@function(Accuracy(roundings=2, growth=2, transcendental=1, ulps=2), double=exp_f64)
def exp(x: Expression) -> Expression:
    """e^x. Rounding the product by log2(e) costs half a unit for every unit of x log2(e)."""
    return node(P.EXP2, x * LOG2_E)


@function(Accuracy(roundings=2, transcendental=1, ulps=1))
def exp2(x: Expression) -> Expression:
    return node(P.EXP2, x)


#: (exp(x) - 1 - x) / x^2 for |x| <= 0.5; the relative error of exp(x) - 1 is 1.5e-8.
EXPM1 = (1.98498077e-4, 1.39961776e-3, 8.33357871e-3, 4.16653603e-2, 1.66666642e-1, 0.50000006)
EXPM1_LIMIT = 0.5


#: The same function in f64: Taylor's series, whose first omitted term is 3e-19 of it.
EXPM1_F64 = tuple(1.0 / math.factorial(k) for k in range(16, 1, -1))


def expm1_f64(x: Expression) -> Expression:
    near = x * x * polynomial(x, EXPM1_F64) + x
    return select(node(P.ABS, x) < EXPM1_LIMIT, near, exp_f64(x) - 1.0)


@function(Accuracy(roundings=6, growth=2, transcendental=3, ulps=3), double=expm1_f64)
def expm1(x: Expression) -> Expression:
    near = fma(x * x, polynomial(x, EXPM1), x)
    return select(node(P.ABS, x) < EXPM1_LIMIT, near, exp(x) - 1.0)


@function(Accuracy(roundings=3, transcendental=1, scale="one", ulps=3))
def log(x: Expression) -> Expression:
    return node(P.LOG2, x) * LN_2


@function(Accuracy(roundings=2, transcendental=1.5, scale="one", ulps=3))
def log2(x: Expression) -> Expression:
    return node(P.LOG2, x)


def log1p_f64(x: Expression) -> Expression:
    near = twice_atanh_f64(x / (x + 2.0))
    return select((x > LOG1P_LOW) & (x < LOG1P_HIGH), near, log(x + 1.0))


@function(Accuracy(roundings=12, transcendental=6, ulps=3), double=log1p_f64)
def log1p(x: Expression) -> Expression:
    s = x / (x + 2.0)
    z = s * s
    near = fma(s * z, polynomial(z, ATANH), s + s)
    return select((x > LOG1P_LOW) & (x < LOG1P_HIGH), near, log(x + 1.0))


#: Limit from which tanh is 1 in f64.
TANH_F64_LIMIT = 22.0


def tanh_f64(x: Expression) -> Expression:
    """Return m / (m + 2), m = exp(2 |x|) - 1, with the sign of x."""
    m = expm1_f64(node(P.MIN, node(P.ABS, x), TANH_F64_LIMIT) * 2.0)
    return with_sign(m / (m + 2.0), x)


@function(Accuracy(roundings=8, growth=2, transcendental=4, ulps=3), double=tanh_f64)
def tanh(x: Expression) -> Expression:
    size = node(P.ABS, x)
    z = x * x
    near = fma(x * z, polynomial(z, TANH), x)
    far = fma(node(P.RECIPROCAL, exp(size + size) + 1.0), -2.0, 1.0)
    return select(size < TANH_LIMIT, near, with_sign(far, x))


#: (tanh(x) - x) / x^3 in x^2, for |x| <= 0.625; the relative error of tanh(x) is 1.2e-7 / 2.
TANH = (-0.00571703678, 0.0206505787, -0.0537434965, 0.133314908, -0.333332837)
TANH_LIMIT = 0.625


def sigmoid_f64(x: Expression) -> Expression:
    return node(P.RECIPROCAL, exp_f64(-x) + 1.0)


@function(Accuracy(roundings=6, growth=2, transcendental=1, ulps=3), double=sigmoid_f64)
def sigmoid(x: Expression) -> Expression:
    """1 / (1 + exp(-x)); exp may be infinite, whose reciprocal is 0."""
    return node(P.RECIPROCAL, node(P.EXP2, x * -LOG2_E) + 1.0)
