"""Patterns of expressions: expressions whose inputs stand for anything."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive


def bound(pattern: Expression, expression: Expression) -> dict[str, Expression] | None:
    """What each input of the pattern stands for in an expression of its shape, the same wherever it
    is; None for another shape."""
    if pattern.primitive is Primitive.INPUT:
        return {pattern.name: expression}
    if _kind(pattern) != _kind(expression):
        return None
    found: dict[str, Expression] = {}
    for part, argument in zip(pattern.arguments, expression.arguments, strict=True):
        inner = bound(part, argument)
        if inner is None or any(found.get(name, x) is not x for name, x in inner.items()):
            return None
        found |= inner
    return found


def _kind(expression: Expression) -> tuple[object, ...]:
    """All but the arguments."""
    return expression.primitive, expression.name, expression.number, len(expression.arguments)
