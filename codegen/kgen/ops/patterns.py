"""Pattern matching of expressions: the inputs of a pattern match any subexpression."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive


def bound(pattern: Expression, expression: Expression) -> dict[str, Expression] | None:
    """Return the subexpression that each input of the pattern matches; None without a match.

    An input that occurs several times must match one subexpression.
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
    """Return the identity of a node without its arguments."""
    return expression.primitive, expression.name, expression.number, len(expression.arguments)
