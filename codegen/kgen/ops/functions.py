"""Functions over the primitives: one entry each, in the registry (:mod:`kgen.ops.registry`).

An entry's Python function is its expansion in f32. The reference computes the same functions from
their definitions (:mod:`kgen_runtime.definitions`) and shares nothing with these.

Polynomials were fitted by reweighted least squares (Lawson's algorithm) on 2000 Chebyshev nodes and
rounded to f32; their relative errors stand beside them, and a test derives them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgen.ops.expression import Expression, Number, constant, fma, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.registry import Accuracy, function

LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)
INFINITY = math.inf


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """Horner's rule, highest power first."""
    value = constant(coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(value, x, coefficient)
    return value


def with_sign(magnitude: Expression, x: Expression) -> Expression:
    """`magnitude`, negated where x is below zero."""
    return select(x < 0.0, -magnitude, magnitude)


# -- signs, comparisons, rounding to whole numbers --------------------------------------------


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
    return node(P.ABS, x).equals(INFINITY)


@function(truths="condition")
def where(condition: Expression, x: Expression, y: Expression) -> Expression:
    return select(condition, x, y)


# -- arithmetic -------------------------------------------------------------------------------


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


#: Powers up to it are products.
LARGEST_POWER = 8


def _pow_measure(x: Any, y: Any) -> Any:
    """|y log2 |x||, of which the error of the logarithm is a part."""
    import numpy as np

    size = abs(x)
    finite = (size > 0.0) & (size < INFINITY) & (abs(y) < INFINITY)
    return abs(y * np.log2(np.where(finite, size, 1.0)))


@function(
    Accuracy(roundings=13, growth=12, transcendental=2, amplified=2, measure=_pow_measure),
)
def pow_(x: Expression, y: Expression) -> Expression:
    """IEEE 754's pow; a product or a root where y is a whole constant up to 8, or a half."""
    if y.primitive is P.CONSTANT and abs(y.number) == 0.5:
        # Unlike a root's, the sign of zero and of infinity is lost.
        above = select(x.equals(-INFINITY), INFINITY, select(x.equals(0.0), 0.0, x))
        return node(P.SQRT if y.number > 0 else P.RSQRT, above)
    if y.primitive is P.CONSTANT and abs(y.number) <= LARGEST_POWER and y.number.is_integer():
        return whole_power(x, int(y.number))
    is_whole, half = floor(y).equals(y), y * 0.5
    size = node(P.ABS, x)
    power = node(P.EXP2, y * accurate_log2(size))
    odd = is_whole & ~floor(half).equals(half)
    below = (x < 0.0) | (node(P.RECIPROCAL, x) < 0.0)
    power = select(below & odd, -power, power)
    power = select((x < 0.0) & (size < INFINITY) & ~is_whole, math.nan, power)
    power = select(x.equals(x) & y.equals(y), power, x + y)
    is_one = y.equals(0.0) | x.equals(1.0) | (size.equals(1.0) & node(P.ABS, y).equals(INFINITY))
    return select(is_one, 1.0, power)


def accurate_log2(x: Expression) -> Expression:
    """log2(x), also next to 1 with a small error relative to itself."""
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    near = fma(s * z, polynomial(z, ATANH), s + s) * LOG2_E
    return select((x > 1.0 + LOG1P_LOW) & (x < 1.0 + LOG1P_HIGH), near, node(P.LOG2, x))


def whole_power(x: Expression, power: int) -> Expression:
    """x multiplied by itself, by squares."""
    value, square_of = constant(1.0), x
    for bit in reversed(f"{abs(power):b}"):
        value = value * square_of if bit == "1" else value
        square_of = square_of * square_of
    return 1.0 / value if power < 0 else value


def _quotient_is_small(x: Any, y: Any) -> Any:
    return abs(x) < 2.0**22 * abs(y)


def floor_quotient(x: Expression, y: Expression) -> Expression:
    """The quotient of whole numbers, rounded down; 0 if y is 0. Of -1 it is -x."""
    cut = node(P.QUOTIENT, x, select(y.equals(0.0) | y.equals(-1.0), 1.0, y))
    left = x - cut * y
    down = select(~left.equals(0.0) & ((left < 0.0) ^ (y < 0.0)), cut - 1.0, cut)
    return select(y.equals(0.0), 0.0, select(y.equals(-1.0), -x, down))


def whole_remainder(x: Expression, y: Expression) -> Expression:
    """x - y floor(x / y), with the sign of y; 0 if y is 0."""
    return select(y.equals(0.0), 0.0, x - floor_quotient(x, y) * y)


@function(
    Accuracy(roundings=8, scale="argument", holds=_quotient_is_small, slope=1.0),
    whole=whole_remainder,
)
def mod(x: Expression, y: Expression) -> Expression:
    """x - y floor(x / y), with the sign of y, for |x / y| < 2**22.

    The quotient may be off by one next to a whole number: of what is left, the one in range is
    taken. It is exact where FMA is one rounding, as it is everywhere but on Vulkan.
    """
    n = floor(x / y)
    left = with_sign(fma(-n, y, x), y)
    less = with_sign(fma(-1.0 - n, y, x), y)
    more = with_sign(fma(1.0 - n, y, x), y)
    return with_sign(select(less >= 0.0, less, select(left < 0.0, more, left)), y)


def _quotient_is_clear(x: Any, y: Any) -> Any:
    """It is whole, or not next to a whole number."""
    import numpy as np

    quotient = x / y
    gap = abs(quotient - np.rint(quotient))
    return (abs(quotient) < 2.0**22) & ((gap == 0.0) | (gap > 2.0**-21 * abs(quotient)))


@function(Accuracy(roundings=1, holds=_quotient_is_clear), whole=floor_quotient)
def floor_divide(x: Expression, y: Expression) -> Expression:
    """floor(x / y), for |x / y| < 2**22: of the quotient's neighbours the one that fits."""
    n = floor(x / y)
    less = with_sign(fma(-1.0 - n, y, x), y)
    left = with_sign(fma(-n, y, x), y)
    return select(less >= 0.0, n + 1.0, select(left < 0.0, n - 1.0, n))


@function()
def cast(x: Expression) -> Expression:
    """x itself, which becomes a number of the output's type."""
    return x


# -- exponentials and logarithms --------------------------------------------------------------


@function(Accuracy(roundings=2, growth=2, transcendental=1))
def exp(x: Expression) -> Expression:
    """The product by log2(e) is rounded, which costs half a unit for every unit of x log2(e)."""
    return node(P.EXP2, x * LOG2_E)


@function(Accuracy(roundings=2, transcendental=1))
def exp2(x: Expression) -> Expression:
    return node(P.EXP2, x)


#: (exp(x) - 1 - x) / x^2 for |x| <= 0.5; the error of exp(x) - 1 is 1.5e-8 of it.
EXPM1 = (1.98498077e-4, 1.39961776e-3, 8.33357871e-3, 4.16653603e-2, 1.66666642e-1, 0.50000006)
EXPM1_LIMIT = 0.5


@function(Accuracy(roundings=6, growth=2, transcendental=3))
def expm1(x: Expression) -> Expression:
    near = fma(x * x, polynomial(x, EXPM1), x)
    return select(node(P.ABS, x) < EXPM1_LIMIT, near, exp(x) - 1.0)


@function(Accuracy(roundings=3, transcendental=1, scale="one"))
def log(x: Expression) -> Expression:
    return node(P.LOG2, x) * LN_2


@function(Accuracy(roundings=2, transcendental=1.5, scale="one"))
def log2(x: Expression) -> Expression:
    return node(P.LOG2, x)


#: (2 atanh(s) - 2 s) / s^3 in s^2, for |s| <= 0.18; the error of 2 atanh(s) is 1.6e-9 of it.
ATANH = (0.300076187, 0.399726629, 0.666668117)
#: Where log(1 + x) = 2 atanh(x / (2 + x)) has such an s.
LOG1P_LOW, LOG1P_HIGH = -0.3, 0.42


@function(Accuracy(roundings=12, transcendental=6))
def log1p(x: Expression) -> Expression:
    s = x / (x + 2.0)
    z = s * s
    near = fma(s * z, polynomial(z, ATANH), s + s)
    return select((x > LOG1P_LOW) & (x < LOG1P_HIGH), near, log(x + 1.0))


@function(Accuracy(roundings=8, growth=2, transcendental=4))
def tanh(x: Expression) -> Expression:
    size = node(P.ABS, x)
    z = x * x
    near = fma(x * z, polynomial(z, TANH), x)
    far = fma(node(P.RECIPROCAL, exp(size + size) + 1.0), -2.0, 1.0)
    return select(size < TANH_LIMIT, near, with_sign(far, x))


#: (tanh(x) - x) / x^3 in x^2, for |x| <= 0.625; the error of tanh(x) is 1.2e-7 / 2 of it.
TANH = (-0.00571703678, 0.0206505787, -0.0537434965, 0.133314908, -0.333332837)
TANH_LIMIT = 0.625


@function(Accuracy(roundings=6, growth=2, transcendental=1))
def sigmoid(x: Expression) -> Expression:
    """1 / (1 + exp(-x)); exp may be infinite, whose reciprocal is 0."""
    return node(P.RECIPROCAL, node(P.EXP2, x * -LOG2_E) + 1.0)


# -- activations ------------------------------------------------------------------------------


@function()
def relu(x: Expression) -> Expression:
    """max(x, 0); relu(-0) is 0 and relu(NaN) is NaN."""
    return select(x <= 0.0, 0.0, x)


@function(Accuracy(roundings=1))
def leaky_relu(x: Expression, slope: Number = 0.01) -> Expression:
    return select(x < 0.0, x * slope, x)


@function(Accuracy(roundings=7, growth=2, transcendental=3))
def elu(x: Expression, alpha: Number = 1.0) -> Expression:
    return select(x > 0.0, x, expm1(x) * alpha)


#: G. Klambauer et al., "Self-Normalizing Neural Networks", equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@function(Accuracy(roundings=8, growth=2, transcendental=3))
def selu(x: Expression) -> Expression:
    return select(x > 0.0, x * SELU_SCALE, expm1(x) * (SELU_ALPHA * SELU_SCALE))


@function(Accuracy(roundings=16, growth=4, transcendental=3))
def celu(x: Expression, alpha: Number = 1.0) -> Expression:
    return select(x > 0.0, x, expm1(x / alpha) * alpha)


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


@function(Accuracy(roundings=8, transcendental=2, scale="argument"))
def gelu(x: Expression) -> Expression:
    """x Phi(x). D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units"."""
    tail = normal_tail(x)
    return x * select(x < 0.0, tail, 1.0 - tail)


@function(Accuracy(roundings=8, transcendental=2, scale="argument"))
def gelu_tanh(x: Expression) -> Expression:
    """x/2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3). Ibid., section 2."""
    linear = 2.0 * math.sqrt(2.0 / math.pi)
    return x * sigmoid(x * fma(x * x, linear * 0.044715, linear))


@function(Accuracy(roundings=8, transcendental=2, scale="argument"))
def silu(x: Expression) -> Expression:
    return x * sigmoid(x)


#: Beyond it mish(x) is x in f32, and exp(2 x) is finite below it.
MISH_LIMIT = 20.0


@function(Accuracy(roundings=12, transcendental=4, scale="argument"))
def mish(x: Expression) -> Expression:
    """x tanh(log(1 + exp(x))) = x n / (n + 2), n = e (e + 2), e = exp(x)."""
    e = exp(node(P.MIN, x, MISH_LIMIT))
    n = e * (e + 2.0)
    return select(x > MISH_LIMIT, x, x * (n / (n + 2.0)))


@function(Accuracy(roundings=4, scale="one"))
def hard_sigmoid(x: Expression, slope: Number = 1 / 6, offset: Number = 0.5) -> Expression:
    return clip(fma(x, slope, offset), 0.0, 1.0)


@function(Accuracy(roundings=5, scale="argument"))
def hard_swish(x: Expression) -> Expression:
    return x * hard_sigmoid(x)


@function(Accuracy(roundings=16, transcendental=8, scale="one"))
def softplus(x: Expression) -> Expression:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    return node(P.MAX, x, 0.0) + log1p(exp(-node(P.ABS, x)))


@function(Accuracy(roundings=8))
def softsign(x: Expression) -> Expression:
    return x / (node(P.ABS, x) + 1.0)


# -- others -----------------------------------------------------------------------------------

#: erf(x) / x in x^2, for |x| <= 1, to 5.4e-8 of it.
ERF = (-5.63141890e-4, 4.91755083e-3, -2.67113112e-2, 0.112801798, -0.376123250, 1.12837911)


@function(Accuracy(roundings=8, transcendental=2))
def erf(x: Expression) -> Expression:
    near = x * polynomial(x * x, ERF)
    far = fma(normal_tail(x * math.sqrt(2.0)), -2.0, 1.0)
    return select(node(P.ABS, x) < 1.0, near, with_sign(far, x))


#: pi = PI[0] + PI[1] + PI[2], each a f32.
PI = (3.1415927410125732, -8.742277657347586e-08, -3.552713678800501e-15)
#: (sin(r) - r) / r^3 in r^2, for |r| <= pi / 2; the error of sin(r) is 1.2e-8 of it.
SINE = (2.60563070e-6, -1.98095382e-4, 8.33306555e-3, -0.166666597)


def sine_of_multiple(x: Expression, multiple: Expression, distance: Expression) -> Expression:
    """(-1)**multiple sin(x - distance pi), that argument within pi / 2 and a little."""
    r = x
    for part in PI:
        r = fma(distance, -part, r)
    z = r * r
    value = fma(r * z, polynomial(z, SINE), r)
    odd = fma(floor(multiple * 0.5), -2.0, multiple)
    return select(odd.equals(0.0), value, -value)


#: Up to it the multiple of pi and its half are whole numbers of f32.
FARTHEST_ANGLE = 2.0**22


def _is_near(x: Any) -> Any:
    return abs(x) < FARTHEST_ANGLE


@function(Accuracy(roundings=8, growth=2, scale="one", holds=_is_near))
def sin(x: Expression) -> Expression:
    """For |x| below 2**22; W. Cody and W. Waite, "Software Manual", chapter 8.

    The error grows with |x| where FMA rounds its product, on Vulkan.
    """
    n = node(P.ROUND, x * (1.0 / math.pi))
    return sine_of_multiple(x, n, n)


@function(Accuracy(roundings=8, growth=2, scale="one", holds=_is_near))
def cos(x: Expression) -> Expression:
    """For |x| below 2**22: (-1)**n sin(x - (n - 1/2) pi)."""
    n = node(P.ROUND, fma(x, 1.0 / math.pi, 0.5))
    return sine_of_multiple(x, n, n - 0.5)
