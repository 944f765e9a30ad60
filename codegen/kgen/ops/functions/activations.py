"""Activation functions of neural networks."""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, Number, fma, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.exact import clip
from kgen.ops.functions.exponentials import exp, expm1, log1p, sigmoid
from kgen.ops.functions.polynomials import normal_tail, normal_tail_f64
from kgen.ops.registry import Accuracy, function


@function()
def relu(x: Expression) -> Expression:
    """max(x, 0); relu(-0) is 0 and relu(NaN) is NaN."""
    return select(x <= 0.0, 0.0, x)


@function(Accuracy(roundings=1))
def leaky_relu(x: Expression, slope: Number = 0.01) -> Expression:
    return select(x < 0.0, x * slope, x)


@function(Accuracy(roundings=7, growth=2, transcendental=3, ulps=3))
def elu(x: Expression, alpha: Number = 1.0) -> Expression:
    return select(x > 0.0, x, expm1(x) * alpha)


#: G. Klambauer et al., "Self-Normalizing Neural Networks", equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@function(Accuracy(roundings=8, growth=2, transcendental=3, ulps=3))
def selu(x: Expression) -> Expression:
    return select(x > 0.0, x * SELU_SCALE, expm1(x) * (SELU_ALPHA * SELU_SCALE))


@function(Accuracy(roundings=16, growth=4, transcendental=3, ulps=4))
def celu(x: Expression, alpha: Number = 1.0) -> Expression:
    return select(x > 0.0, x, expm1(x / alpha) * alpha)


def gelu_f64(x: Expression) -> Expression:
    tail = normal_tail_f64(x)
    return x * select(x < 0.0, tail, 1.0 - tail)


@function(
    Accuracy(roundings=8, transcendental=2, scale="argument", ulps=3, ulps_of="argument"),
    double=gelu_f64,
)
def gelu(x: Expression) -> Expression:
    """x Phi(x). D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units"."""
    tail = normal_tail(x)
    return x * select(x < 0.0, tail, 1.0 - tail)


@function(Accuracy(roundings=8, transcendental=2, scale="argument", ulps=2, ulps_of="argument"))
def gelu_tanh(x: Expression) -> Expression:
    """x/2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3). Ibid., section 2."""
    linear = 2.0 * math.sqrt(2.0 / math.pi)
    return x * sigmoid(x * fma(x * x, linear * 0.044715, linear))


@function(Accuracy(roundings=8, transcendental=2, scale="argument", ulps=3))
def silu(x: Expression) -> Expression:
    return x * sigmoid(x)


#: Limit above which mish(x) is x in f32, and below which exp(2 x) is finite.
MISH_LIMIT = 20.0


@function(Accuracy(roundings=12, transcendental=4, scale="argument", ulps=4))
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


@function(Accuracy(roundings=16, transcendental=8, scale="one", ulps=4))
def softplus(x: Expression) -> Expression:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    return node(P.MAX, x, 0.0) + log1p(exp(-node(P.ABS, x)))


@function(Accuracy(roundings=8))
def softsign(x: Expression) -> Expression:
    return x / (node(P.ABS, x) + 1.0)
