"""Patterns of expressions: expressions whose inputs stand for anything."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive


def bound(pattern: Expression, expression: Expression) -> dict[str, Expression] | None:
    """Subexpression that each input of the pattern matches; None if the expression does not match.

    An input that occurs several times matches one subexpression.
    """
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
    """Identity of a node without its arguments."""
    return expression.primitive, expression.name, expression.number, len(expression.arguments)
