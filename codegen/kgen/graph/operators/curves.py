"""Trigonometric and hyperbolic operators, as formulas of the scalar language."""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.elementwise import formula
from kgen.graph.operators.registry import Operator
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression, Number

#: Formula of one number.
Curve = Callable[["Terms", Expression], Expression]
LN_2 = math.log(2.0)
#: Above this number x^2 + 1 rounds to x^2 or overflows: asinh and acosh are log(x) + log(2).
FAR = 1e8


class Terms:
    """Calls of functions by name: `t.exp(x)`."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        def call(*arguments: GraphValue | Number) -> Expression:
            return self.b.call(name, *arguments)

        return call


def signed(t: Terms, x: Expression, size: Expression) -> Expression:
    """Give a function of |x| the sign of x; return x itself if it is zero."""
    return t.where(t.less(x, 0.0), t.neg(size), t.where(t.equal(x, 0.0), x, size))


def asin(t: Terms, x: Expression) -> Expression:
    """Return 2 atan(x / (1 + sqrt(1 - x^2)))."""
    root = t.sqrt(t.mul(t.sub(1.0, x), t.add(1.0, x)))
    return t.mul(t.atan(t.div(x, t.add(root, 1.0))), 2.0)


def acos(t: Terms, x: Expression) -> Expression:
    """Return 2 atan(sqrt((1 - x) / (1 + x)))."""
    return t.mul(t.atan(t.sqrt(t.div(t.sub(1.0, x), t.add(1.0, x)))), 2.0)


def halves(t: Terms, x: Expression) -> tuple[Expression, Expression]:
    """Return exp(|x|) / 2, which overflows only if the half does, and exp(-|x|) / 2."""
    size = t.abs(x)
    return t.exp(t.sub(size, LN_2)), t.mul(t.exp(t.neg(size)), 0.5)


def sinh(t: Terms, x: Expression) -> Expression:
    """Return sinh(x), by expm1 near zero, where the difference of exponentials cancels."""
    near = t.expm1(t.abs(x))
    large, small = halves(t, x)
    near = t.mul(t.add(near, t.div(near, t.add(near, 1.0))), 0.5)
    return signed(t, x, t.where(t.less(t.abs(x), 1.0), near, t.sub(large, small)))


def cosh(t: Terms, x: Expression) -> Expression:
    return t.add(*halves(t, x))


def asinh(t: Terms, x: Expression) -> Expression:
    """Return log(1 + |x| + x^2 / (1 + sqrt(1 + x^2))) with the sign of x."""
    size = t.abs(x)
    square = t.mul(size, size)
    part = t.div(square, t.add(t.sqrt(t.add(square, 1.0)), 1.0))
    far = t.add(t.log(size), LN_2)
    return signed(t, x, t.where(t.less(size, FAR), t.log1p(t.add(size, part)), far))


def acosh(t: Terms, x: Expression) -> Expression:
    """Return log(1 + y + sqrt(y (y + 2))) with y = x - 1."""
    y = t.sub(x, 1.0)
    near = t.log1p(t.add(y, t.sqrt(t.mul(y, t.add(y, 2.0)))))
    return t.where(t.less(FAR, x), t.add(t.log(x), LN_2), near)


def atanh(t: Terms, x: Expression) -> Expression:
    """Return log(1 + 2 |x| / (1 - |x|)) / 2 with the sign of x."""
    size = t.abs(x)
    quotient = t.div(t.add(size, size), t.sub(1.0, size))
    return signed(t, x, t.mul(t.log1p(quotient), 0.5))


CURVES: dict[str, tuple[Curve, str]] = {
    "Tan": (lambda t, x: t.div(t.sin(x), t.cos(x)), "sin, cos, div"),
    "Atan": (lambda t, x: t.atan(x), "atan"),
    "Asin": (asin, "atan, sqrt"),
    "Acos": (acos, "atan, sqrt"),
    "Sinh": (sinh, "exp, expm1"),
    "Cosh": (cosh, "exp"),
    "Asinh": (asinh, "log1p, sqrt"),
    "Acosh": (acosh, "log1p, sqrt"),
    "Atanh": (atanh, "log1p"),
}


def curve(make: Curve) -> Callable[[Builder, Node, list[GraphValue]], Expression]:
    return lambda b, node, values: make(Terms(b), b.term(values[0]))


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(name=name, family="element-wise", becomes=becomes, lower=formula(curve(make)))
    for name, (make, becomes) in CURVES.items()
)
