"""Normalizations of rows that an exporter took apart, as the functions that they are.

Whatever multiplies by the inverse root of its own mean square is layer_norm or rms_norm, in any
order of factors, by a division or by a root's reciprocal. So models whose exporters write them out
have the kernels of those that have an operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ops.expression import Expression, Primitive, call, constant, steps, with_arguments
from kgen.ops.registry import functions

LAYER, RMS = "layer_norm", "rms_norm"
ONE, ZERO = constant(1.0), constant(0.0)


def normalized(expression: Expression) -> Expression:
    """The expression with the normalizations in it by their names."""
    done: dict[Expression, Expression] = {}
    for step in steps(expression):
        arguments = tuple(done[a] for a in step.arguments)
        found = step if arguments == step.arguments else with_arguments(step, arguments)
        done[step] = _named(found)
    return done[expression]


def _named(whole: Expression) -> Expression:
    match whole.name:
        case "mul" | "div":
            factors = _factors(whole)
            return _scaled(factors) or _normal(factors) or whole
        case "add":
            return _shifted(*whole.arguments) or _shifted(*reversed(whole.arguments)) or whole
    return whole


def _factors(of: Expression) -> list[Expression]:
    """Factors of a product; a dividing square root counts as its reciprocal."""
    if of.name == "mul":
        return [factor for argument in of.arguments for factor in _factors(argument)]
    if of.name == "div" and of.arguments[1].name == "sqrt":
        return [*_factors(of.arguments[0]), call("rsqrt", of.arguments[1].arguments)]
    return [of]


def _normal(factors: Sequence[Expression]) -> Expression | None:
    """A distance times its inverse root mean square, and a scale."""
    for root in factors:
        found = _mean_square(root.arguments[0]) if root.name == "rsqrt" else None
        if found is None or found[0] not in factors:
            continue
        distance, epsilon = found
        left = list(factors)
        left.remove(root)
        left.remove(distance)
        scale = _product(left)
        if scale is None:
            continue
        if distance.name == "sub" and distance.arguments[1] == call("mean", distance.arguments[:1]):
            return call(LAYER, (distance.arguments[0], scale, ZERO, epsilon))
        return call(RMS, (distance, scale, epsilon))
    return None


def _mean_square(of: Expression) -> tuple[Expression, Expression] | None:
    """Operands x and epsilon of mean(x^2) + epsilon."""
    if of.name != "add":
        return None
    mean, epsilon = of.arguments
    if mean.primitive is Primitive.CONSTANT:
        mean, epsilon = epsilon, mean
    if mean.name != "mean" or epsilon.primitive is not Primitive.CONSTANT:
        return None
    square = mean.arguments[0]
    first, *others = square.arguments or (square,)
    squares = {"pow": [constant(2.0)], "mul": [first], "square": []}
    return (first, epsilon) if squares.get(square.name) == others else None


def _scaled(factors: Sequence[Expression]) -> Expression | None:
    """A normalization that has no scale yet, with the other factors as that."""
    for norm in factors:
        if norm.name not in (LAYER, RMS) or norm.arguments[1] != ONE:
            continue
        x, _, *others = norm.arguments
        left = list(factors)
        left.remove(norm)
        scale = _product(left)
        if scale is not None and (norm.name == RMS or others[0] == ZERO):
            return call(norm.name, (x, scale, *others))
    return None


def _shifted(norm: Expression, shift: Expression) -> Expression | None:
    """A normalization that has no shift yet, with one."""
    if norm.name != LAYER or norm.arguments[2] != ZERO or not _is_plain(shift):
        return None
    x, scale, _, epsilon = norm.arguments
    return call(LAYER, (x, scale, shift, epsilon))


def _product(factors: Sequence[Expression]) -> Expression | None:
    """Product of the factors, 1 without any; None if functions of rows are in them."""
    if not all(map(_is_plain, factors)):
        return None
    found = factors[0] if factors else ONE
    for factor in factors[1:]:
        found = call("mul", (found, factor))
    return found


def _is_plain(of: Expression) -> bool:
    known = functions()
    return not any(step.name in known and known[step.name].rowwise for step in steps(of))
