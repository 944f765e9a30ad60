"""Formulas of dequantised numbers that are quantised again, with fewer operations.

The scales between the bytes of a kernel's operands and those of its result are one factor of each
term: `round((a - 3) * 0.1 * ((b - 5) * 0.2) / 0.04)` is `round((a - 3) * (b - 5) * 0.5)`. Sums and
products of bytes are exact, and the factor is rounded once where the definition rounds each step. A
quantisation of an operand itself stays a division.
"""

from __future__ import annotations

import math

from kgen.ops.expression import (
    Expression,
    Primitive,
    call,
    constant,
    rebuilt,
    with_arguments,
)
from kgen.ops.registry import functions

#: Functions of rows with f(x k) = f(x) k.
LINEAR = ("mean", "sum")
#: Views that have each element of their tensors as it is, and no others.
MOVES = ("concat", "expand", "slice", "permute", "reshape")
#: Factors that f32 holds with all digits, and whose reciprocals it holds.
LEAST, MOST = 2.0**-120, 2.0**120


def requantized(expression: Expression) -> Expression:
    """The expression with products in the place of divisions before a rounding, without zero points
    that are added and subtracted again, and without limits that hold already."""
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
    """Limited whole numbers less the zero point that was added to them; None for others."""
    if x.name in ("cast", "min", "max"):
        of, *limit = x.arguments
        inner = _without_zero(of, zero)
        if inner is None or not all(map(_is_number, limit)):
            return None
        return call(x.name, (inner, *(each.number - zero for each in limit)))
    is_sum = x.name == "add" and x.arguments[0].name == "round"
    return x.arguments[0] if is_sum and x.arguments[1] is constant(zero) else None


def _limits(x: Expression) -> tuple[float, float]:
    """Numbers between which the value of a formula is, unless it is NaN."""
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
    """x times a factor above 0, as one factor of each of its terms; None if a term is neither
    dequantised nor of a function that is approximated."""
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
    """Whether x is a function whose last digit is open."""
    return x.primitive is Primitive.CALL and functions()[x.name].accuracy.transcendental > 0


def _parts(x: Expression) -> tuple[Expression, float]:
    """A product without its numbers, and these."""
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
