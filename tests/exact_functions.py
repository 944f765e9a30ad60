"""Functions of floats with 50 correct digits, by the decimal module and series."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

DIGITS = 60
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)


def _arctangent(n: int, digits: int) -> Decimal:
    """Return the arctangent of 1 / n."""
    total = term = ONE / n
    k = 1
    while abs(term) > Decimal(10) ** -digits:
        term = -term / (n * n)
        k += 2
        total += term / k
    return total


def _pi(digits: int) -> Decimal:
    """Return pi by Machin's formula."""
    with localcontext() as context:
        context.prec = digits + 10
        return 4 * (4 * _arctangent(5, digits + 8) - _arctangent(239, digits + 8))


PI = _pi(300)


def erf(x: Decimal) -> Decimal:
    """Return erf by the series of the integral, with additional digits for its growing terms."""
    if abs(x) > 28:
        return ONE.copy_sign(x)
    more = int(float(x * x)) + 10
    with localcontext() as context:
        context.prec = DIGITS + more
        term = total = x
        k = 0
        while abs(term) > Decimal(10) ** -(DIGITS + more):
            k += 1
            term = -term * x * x / k
            total += term / (2 * k + 1)
        return total * 2 / PI.sqrt()


def sin(x: Decimal, shift: Decimal = ZERO) -> Decimal:
    """Return the sine of x + shift pi, reduced to within pi."""
    x = x + shift * PI
    x -= (x / (2 * PI)).to_integral_value() * 2 * PI
    term = total = x
    k = 1
    while abs(term) > Decimal(10) ** -55:
        k += 2
        term = -term * x * x / (k * (k - 1))
        total += term
    return total


def power(x: Decimal) -> Decimal:
    return x.exp()


def softplus(x: Decimal) -> Decimal:
    return (ONE + x.exp()).ln()


def tanh(x: Decimal) -> Decimal:
    both = (2 * x).exp()
    return (both - 1) / (both + 1)


def expm1(x: Decimal) -> Decimal:
    return x.exp() - 1


def log1p(x: Decimal) -> Decimal:
    return (ONE + x).ln() if abs(x) > Decimal("1e-20") else x - x * x / 2 + x**3 / 3


def atan(x: Decimal) -> Decimal:
    """Return the arctangent: the angle is halved until the series converges quickly."""
    for _ in range(8):
        x = x / (ONE + (ONE + x * x).sqrt())
    term = total = x
    k = 1
    while abs(term) > abs(total) * Decimal(10) ** -55:
        term = -term * x * x
        k += 2
        total += term / k
    return total * 2**8


def sigmoid(x: Decimal) -> Decimal:
    return ONE / (ONE + (-x).exp())


SELU = tuple(map(Decimal.from_float, (1.6732632423543772, 1.0507009873554805)))
GELU_CUBIC = Decimal.from_float(0.044715)
EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "exp": power,
    "exp2": lambda x: (x * TWO.ln()).exp(),
    "expm1": expm1,
    "log": lambda x: x.ln(),
    "log2": lambda x: x.ln() / TWO.ln(),
    "log1p": log1p,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "elu": lambda x: x if x > 0 else expm1(x),
    "celu": lambda x: x if x > 0 else expm1(x),
    "selu": lambda x: SELU[1] * (x if x > 0 else SELU[0] * expm1(x)),
    "gelu": lambda x: x / 2 * (1 + erf(x / TWO.sqrt())),
    "gelu_tanh": lambda x: x * sigmoid(2 * (2 / PI).sqrt() * (x + GELU_CUBIC * x * x * x)),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * tanh(softplus(x)),
    "softplus": softplus,
    "erf": erf,
    "sin": sin,
    "cos": lambda x: sin(x, Decimal("0.5")),
    "atan": atan,
}


def exact(name: str, x: float) -> Decimal:
    """Return a function of a float with about 50 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        return EXACT[name](Decimal(x))


def ulps(found: float, true: Decimal, of: float | None = None) -> float:
    """Return the error in units in the last place of the true value in f64, or of a larger
    number."""
    with localcontext() as context:
        context.prec = DIGITS
        size = max(abs(float(true)), abs(of) if of is not None else 0.0, 2.0**-1022)
        return float(abs(Decimal(found) - true) / Decimal(math.ulp(size)))
