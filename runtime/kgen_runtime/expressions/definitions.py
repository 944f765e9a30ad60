"""Mathematical definitions of the functions of expressions, most of them one line.

The definitions share no code with the expansions in kernels. The first argument of a definition,
`m`, is the arithmetic: :class:`Scalars` for Python floats, or an object with the same methods for
arrays. Comparisons return truth values. The definition of a row-wise function takes
:class:`RowMathematics`, whose values are whole rows or one number per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen_runtime.expressions.mathematics import Mathematics, RowMathematics, Value

Definition = Callable[..., Value]


def minimum(m: Mathematics, x: Value, y: Value) -> Value:
    return m.where(m.isnan(x), x, m.where(m.isnan(y), y, m.where(x < y, x, y)))


def maximum(m: Mathematics, x: Value, y: Value) -> Value:
    return m.where(m.isnan(x), x, m.where(m.isnan(y), y, m.where(x > y, x, y)))


def whole(m: Mathematics, x: Value, least: Value, largest: Value) -> Value:
    """Round to the nearest integer, ties to even, and clamp to the range; NaN becomes 0. The result
    is never -0."""
    near = minimum(m, maximum(m, m.round(x), least), largest)
    return m.where(m.isnan(x) | (near == 0.0), 0.0, near)


def single(m: Mathematics, x: Value) -> Value:
    """Round to the nearest f32."""
    return m.nearest(x, 23, -126, (2.0 - 2.0**-23) * 2.0**127)


def limited(m: Mathematics, x: Value, bits: int, least: int, largest: float) -> Value:
    """Round to a float format; numbers beyond the largest one, and infinity, become that one."""
    return m.nearest(minimum(m, maximum(m, x, -largest), largest), bits, least, largest)


def sigmoid(m: Mathematics, x: Value) -> Value:
    small = m.exp(m.where(x < 0.0, x, -x))
    return m.where(x < 0.0, small, 1.0) / (1.0 + small)


def softplus(m: Mathematics, x: Value) -> Value:
    return maximum(m, x, 0.0) + m.log1p(m.exp(m.where(x < 0.0, x, -x)))


def elu(m: Mathematics, x: Value, alpha: Value = 1.0) -> Value:
    return m.where(x > 0.0, x, alpha * m.expm1(m.where(x > 0.0, 0.0, x)))


#: A shift by this many bits or more, or by a negative number, is out of range.
MOST_SHIFTED = 64


def is_shift(n: Value) -> Value:
    return (n >= 0) & (n < MOST_SHIFTED)


def shifted_left(m: Mathematics, x: Value, n: Value) -> Value:
    power = m.pow(2, m.floor_divide(m.where(is_shift(n), n, 0), 1))
    return m.where(is_shift(n), x * power, 0)


def shifted_right(m: Mathematics, x: Value, n: Value) -> Value:
    """Shift right in two steps, because an s64 cannot represent 2^63."""
    bits = m.floor_divide(m.where(is_shift(n), n, 0), 1)
    half = m.floor_divide(bits, 2)
    found = m.floor_divide(m.floor_divide(x, m.pow(2, half)), m.pow(2, bits - half))
    return m.where(is_shift(n), m.where(abs(x) == math.inf, x, found), m.where(x < 0, -1, 0))


SQRT_2 = math.sqrt(2.0)
SQRT_2_PI = math.sqrt(2.0 / math.pi)
LN_2 = math.log(2.0)
#: Klambauer et al., "Self-Normalizing Neural Networks", equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
#: Definition of each function. Its arguments are those of the expression; the default values also
#: apply to the steps of an epilogue.
DEFINITIONS: dict[str, Definition] = {
    "neg": lambda m, x: -x,
    "abs": lambda m, x: abs(x),
    "sign": lambda m, x: m.where(x > 0.0, 1.0, m.where(x < 0.0, -1.0, x)),
    "min": minimum,
    "max": maximum,
    "clip": lambda m, x, low, high: minimum(m, maximum(m, x, low), high),
    "floor": lambda m, x: m.floor(x),
    "ceil": lambda m, x: -m.floor(-x),
    "round": lambda m, x: m.round(x),
    "trunc": lambda m, x: m.where(x < 0.0, -m.floor(-x), m.floor(x)),
    "less": lambda m, x, y: x < y,
    "less_equal": lambda m, x, y: x <= y,
    "greater": lambda m, x, y: x > y,
    "greater_equal": lambda m, x, y: x >= y,
    "equal": lambda m, x, y: x == y,
    "not_equal": lambda m, x, y: x != y,
    "logical_and": lambda m, x, y: x & y,
    "logical_or": lambda m, x, y: x | y,
    "logical_xor": lambda m, x, y: x ^ y,
    "logical_not": lambda m, x: x ^ True,
    "isnan": lambda m, x: m.isnan(x),
    "isinf": lambda m, x: abs(x) == math.inf,
    "where": lambda m, condition, x, y: m.where(condition, x, y),
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: m.div(x, y),
    "fmod": lambda m, x, y: m.fmod(x, y),
    "mod": lambda m, x, y: m.mod(x, y),
    "floor_divide": lambda m, x, y: m.floor_divide(x, y),
    "bitwise_and": lambda m, x, y: m.bitwise_and(x, y),
    "shift_left": shifted_left,
    "shift_right": shifted_right,
    "cast": lambda m, x: x,
    "cast_f64": lambda m, x: x,
    "cast_f32": single,
    "cast_f16": lambda m, x: m.nearest(single(m, x), 10, -14, 65504.0),
    "cast_bf16": lambda m, x: m.nearest(single(m, x), 7, -126, (2.0 - 2.0**-7) * 2.0**127),
    "cast_e4m3": lambda m, x: limited(m, x, 3, -6, 448.0),
    "cast_e5m2": lambda m, x: limited(m, x, 2, -14, 57344.0),
    "cast_e4m3fnuz": lambda m, x: limited(m, x, 3, -7, 240.0) + 0.0,
    "cast_e5m2fnuz": lambda m, x: limited(m, x, 2, -15, 57344.0) + 0.0,
    "cast_s64": lambda m, x: whole(m, x, -(2**63), 2**63 - 1),
    "cast_s32": lambda m, x: whole(m, x, -(2**31), 2**31 - 1),
    "cast_s8": lambda m, x: whole(m, x, -128.0, 127.0),
    "cast_u8": lambda m, x: whole(m, x, 0.0, 255.0),
    "cast_bool": lambda m, x: m.where(x == 0.0, 0.0, 1.0),
    "pow": lambda m, x, y: m.pow(x, y),
    "square": lambda m, x: x * x,
    "sqrt": lambda m, x: m.sqrt(x),
    "rsqrt": lambda m, x: m.div(1.0, m.sqrt(x)),
    "reciprocal": lambda m, x: m.div(1.0, x),
    "exp": lambda m, x: m.exp(x),
    "exp2": lambda m, x: m.exp(x * LN_2),
    "expm1": lambda m, x: m.expm1(x),
    "log": lambda m, x: m.log(x),
    "log2": lambda m, x: m.log(x) / LN_2,
    "log1p": lambda m, x: m.log1p(x),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": sigmoid,
    "relu": lambda m, x: m.where(x <= 0.0, 0.0, x),
    "leaky_relu": lambda m, x, slope=0.01: m.where(x < 0.0, slope * x, x),
    "elu": elu,
    "selu": lambda m, x: SELU_SCALE * elu(m, x, SELU_ALPHA),
    "celu": lambda m, x, alpha=1.0: m.where(x > 0.0, x, alpha * m.expm1(m.div(x, alpha))),
    "gelu": lambda m, x: 0.5 * x * m.erfc(-x / SQRT_2),
    "gelu_tanh": lambda m, x: x * sigmoid(m, 2.0 * SQRT_2_PI * (x + 0.044715 * x * x * x)),
    "silu": lambda m, x: x * sigmoid(m, x),
    "mish": lambda m, x: x * m.tanh(softplus(m, x)),
    "hard_sigmoid": lambda m, x, a=1 / 6, b=0.5: minimum(m, maximum(m, a * x + b, 0.0), 1.0),
    "hard_swish": lambda m, x: x * minimum(m, maximum(m, x + 3.0, 0.0), 6.0) / 6.0,
    "softplus": softplus,
    "softsign": lambda m, x: m.div(x, 1.0 + abs(x)),
    "erf": lambda m, x: m.erf(x),
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
    "atan": lambda m, x: m.atan(x),
}


def variance(m: RowMathematics, x: Value) -> Value:
    return m.mean(m.square(x - m.mean(x)))


def logsumexp(m: RowMathematics, x: Value) -> Value:
    """Return log(sum(exp(x))). The maximum is subtracted from x first, unless it is infinite: the
    difference would be NaN."""
    top = m.largest(x)
    top = m.where(m.less(m.abs(top), math.inf), top, 0.0)
    return top + m.log(m.sum(m.exp(x - top)))


def softmax(m: RowMathematics, x: Value) -> Value:
    exponentials = m.exp(x - m.largest(x))
    return exponentials / m.sum(exponentials)


def layer_norm(m: RowMathematics, x: Value, scale: Value, shift: Value, epsilon: Value) -> Value:
    return (x - m.mean(x)) * m.rsqrt(variance(m, x) + epsilon) * scale + shift


#: Functions that reduce a row to one number.
REDUCTIONS: dict[str, Definition] = {
    "sum": lambda m, x: m.sum(x),
    "mean": lambda m, x: m.mean(x),
    "amax": lambda m, x: m.largest(x),
    "amin": lambda m, x: m.smallest(x),
    "prod": lambda m, x: m.prod(x),
    "l1": lambda m, x: m.sum(m.abs(x)),
    "l2": lambda m, x: m.sqrt(m.sum(m.square(x))),
    "logsumexp": logsumexp,
    "var": variance,
    "argmax": lambda m, x: m.first(x, m.largest(x)),
    "argmin": lambda m, x: m.first(x, m.smallest(x)),
}
#: Other functions of whole rows.
ROWS: dict[str, Definition] = {
    "softmax": softmax,
    "log_softmax": lambda m, x: x - m.largest(x) - m.log(m.sum(m.exp(x - m.largest(x)))),
    "layer_norm": layer_norm,
    "rms_norm": lambda m, x, s, epsilon: x * m.rsqrt(m.mean(m.square(x)) + epsilon) * s,
}
