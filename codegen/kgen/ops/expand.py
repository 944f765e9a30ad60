"""From calls of functions to primitives."""

from __future__ import annotations

from collections.abc import Container

from kgen.ops.expression import Expression, Primitive, constant, rebuilt, select
from kgen.ops.functions import functions


def expand(expression: Expression, native: Container[str] = ()) -> Expression:
    """The expression with primitives in the place of calls, but for functions in `native`, of which
    a renderer has a better form. A truth value as the result becomes 1 or 0."""

    def change(step: Expression) -> Expression:
        if step.primitive is not Primitive.CALL or step.name in native:
            return step
        # An expansion may call another function by its Python name, but no node of it is a call.
        return functions()[step.name].expand(*step.arguments)

    result = rebuilt(expression, change)
    return select(result, constant(1.0), constant(0.0)) if result.truth else result
