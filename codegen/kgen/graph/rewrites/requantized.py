"""Graph rewrite: simplify formulas that dequantise their operands and quantise their result.

All scales in a term become one factor: `round((a - 3) * 0.1 * ((b - 5) * 0.2) / 0.04)` becomes
`round((a - 3) * (b - 5) * 0.5)`. The result is more accurate than the model's definition: sums and
products of bytes are exact, and the one factor is rounded once, not each step. A formula that only
quantises an operand keeps its division.
"""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, Primitive, call, constant, rebuilt, with_arguments
from kgen.ops.registry import functions

#: Functions of rows for which f(x k) = f(x) k.
LINEAR = ("mean", "sum")
#: Views that only move elements, and add none.
MOVES = ("concat", "expand", "slice", "permute", "reshape")
#: Bounds of a factor: neither it nor its reciprocal is subnormal or infinite in f32.
LEAST, MOST = 2.0**-120, 2.0**120


def requantized(expression: Expression) -> Expression:
    """Return the simplified expression.

    - A division before a rounding becomes a product.
    - A zero point that is added and subtracted again is dropped.
    - A minimum or maximum without an effect is dropped.
    """
    return rebuilt(expression, _changed)


def _changed(step: Expression) -> Expression:
    if not step.arguments or step.primitive is not Primitive.CALL:
        return step
    of, *others = step.arguments
    number = others[0].number if len(others) == 1 and _is_number(others[0]) else None
    if step.name == "round" and of.name == "div" and _is_number(of.arguments[1]):
        divisor = of.arguments[1].number
        found = _scaled(of.arguments[0], 1.0 / divisor) if divisor > LEAST else None
        return step if found is None else with_arguments(step, (found,))
    if number is not None and step.name == "sub":
        return _without_zero(of, number) or step
    if number is not None and step.name == "max" and _limits(of)[0] >= number:
        return of
    if number is not None and step.name == "min" and _limits(of)[1] <= number:
        return of
    return step


def _is_number(x: Expression) -> bool:
    return x.primitive is Primitive.CONSTANT


def _without_zero(x: Expression, zero: float) -> Expression | None:
    """Return x - zero for rounded numbers x to which `zero` was added, also if x was limited or
    cast since. Return None for any other x."""
    if x.name in ("cast", "min", "max"):
        of, *limit = x.arguments
        inner = _without_zero(of, zero)
        if inner is None or not all(map(_is_number, limit)):
            return None
        return call(x.name, (inner, *(each.number - zero for each in limit)))
    if x.name == "round" and zero.is_integer() and x.arguments[0].name == "add":
        return _without_zero(x.arguments[0], zero)
    is_sum = x.name == "add" and x.arguments[0].name == "round"
    return x.arguments[0] if is_sum and x.arguments[1] is constant(zero) else None


def _limits(x: Expression) -> tuple[float, float]:
    """Return a lower and an upper bound of a formula's value, which does not hold for NaN."""
    least, most = -math.inf, math.inf
    if x.arguments and x.name in ("round", "add", "max", "min", "cast"):
        least, most = _limits(x.arguments[0])
    if x.name == "round" and math.isfinite(least + most):
        return float(round(least)), float(round(most))
    if len(x.arguments) == 2 and _is_number(x.arguments[1]):
        number = x.arguments[1].number
        if x.name == "add":
            return least + number, most + number
        if x.name == "max":
            return max(least, number), max(most, number)
        if x.name == "min":
            return min(least, number), min(most, number)
    return (least, most) if x.name == "cast" else (-math.inf, math.inf)


def _scaled(x: Expression, factor: float) -> Expression | None:
    """Return x times a positive factor, in which each term has one factor.

    Return None if a term is neither dequantised nor the value of an approximated function.
    """
    if not LEAST < factor < MOST:
        return None
    if _is_number(x):
        return constant(x.number * factor)
    if x.name in ("add", "sub", "min", "max", "relu"):
        terms = [found for term in x.arguments if (found := _scaled(term, factor)) is not None]
        return call(x.name, terms) if len(terms) == len(x.arguments) else None
    if x.primitive is Primitive.VIEW and x.name in MOVES:
        parts = [a if _is_number(a) else _scaled(a, factor) for a in x.arguments]
        moved = tuple(part for part in parts if part is not None)
        return with_arguments(x, moved) if len(moved) == len(parts) else None
    if x.name == "hard_sigmoid" and len(x.arguments) == 3:
        of, slope, offset = x.arguments
        line = _scaled(of, slope.number * factor)
        if line is None:
            return None
        line = call("add", (line, offset.number * factor))
        return call("min", (call("max", (line, 0.0)), factor))
    if x.name in LINEAR and len(x.arguments) == 1:
        inner, own = _parts(x.arguments[0])
        return None if own == 1.0 else _times(call(x.name, (inner,)), own * factor)
    inner, own = _parts(x)
    if own == 1.0:
        return _times(x, factor) if is_approximated(x) else None
    return _scaled(inner, own * factor) or _times(inner, own * factor)


def is_approximated(x: Expression) -> bool:
    """Whether x is a call of a function that kernels only approximate."""
    return x.primitive is Primitive.CALL and functions()[x.name].accuracy.transcendental > 0


def _parts(x: Expression) -> tuple[Expression, float]:
    """Return a product without its constant factors, and the product of these factors."""
    if x.name != "mul":
        return x, 1.0
    if _is_number(x.arguments[1]):
        inner, own = _parts(x.arguments[0])
        return inner, own * x.arguments[1].number
    both = [_parts(argument) for argument in x.arguments]
    return call("mul", [inner for inner, _ in both]), math.prod(own for _, own in both)


def _times(x: Expression, factor: float) -> Expression | None:
    if not LEAST < abs(factor) < MOST:
        return None
    return x if factor == 1.0 else call("mul", (x, factor))
