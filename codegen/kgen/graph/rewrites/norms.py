"""Graph rewrite: recognise decomposed LayerNormalization and RMSNormalization.

An expression that multiplies a value by the reciprocal root of its own mean square is a
normalization, in any order of factors, with a division or a reciprocal. Models whose exporters
decompose the operator thus get the kernel of the operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ops.expression import Expression, Primitive, call, constant, rebuilt, steps
from kgen.ops.registry import functions

LAYER, RMS = "layer_norm", "rms_norm"
ONE, ZERO = constant(1.0), constant(0.0)


def normalized(expression: Expression) -> Expression:
    """Return the expression with every decomposed normalization replaced by a call."""
    return rebuilt(expression, _named)


def _named(whole: Expression) -> Expression:
    match whole.name:
        case "mul" | "div":
            factors = _factors(whole)
            return _scaled(factors) or _normal(factors) or whole
        case "add":
            return _shifted(*whole.arguments) or _shifted(*reversed(whole.arguments)) or whole
    return whole


def _factors(of: Expression) -> list[Expression]:
    """Return the factors of a product; division by a square root counts as a reciprocal root."""
    if of.name == "mul":
        return [factor for argument in of.arguments for factor in _factors(argument)]
    if of.name == "div" and of.arguments[1].name == "sqrt":
        return [*_factors(of.arguments[0]), call("rsqrt", of.arguments[1].arguments)]
    return [of]


def _normal(factors: Sequence[Expression]) -> Expression | None:
    """Return x * rsqrt(mean(x^2) + epsilon) * scale as layer_norm or rms_norm, or None."""
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
    """Return x and epsilon of mean(x^2) + epsilon, or None."""
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
    """Make the other factors the scale of a normalization with scale 1, or return None."""
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
    """Make an addend the shift of a layer_norm whose shift is 0, or return None."""
    if norm.name != LAYER or norm.arguments[2] != ZERO or not _is_plain(shift):
        return None
    x, scale, _, epsilon = norm.arguments
    return call(LAYER, (x, scale, shift, epsilon))


def _product(factors: Sequence[Expression]) -> Expression | None:
    """Return the product of the factors, 1 for none; None if one holds a row-wise function."""
    if not all(map(_is_plain, factors)):
        return None
    found = factors[0] if factors else ONE
    for factor in factors[1:]:
        found = call("mul", (found, factor))
    return found


def _is_plain(of: Expression) -> bool:
    known = functions()
    return not any(step.name in known and known[step.name].rowwise for step in steps(of))
