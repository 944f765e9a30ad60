"""From calls of functions to primitives."""

from __future__ import annotations

from collections.abc import Container

from kgen.errors import SpecError
from kgen.ops.expression import (
    Expression,
    Primitive,
    constant,
    rebuilt,
    select,
    steps,
)
from kgen.ops.registry import functions
from kgen.ops.rows import Row


def expand(
    expression: Expression, native: Container[str] = (), row: Row | None = None
) -> Expression:
    """The expression with primitives in the place of calls, but for functions in `native`, of which
    a renderer has a better form. A truth value as the result becomes 1 or 0.

    Row-wise functions need a `row`. Raises SpecError where there is none.
    """

    def change(step: Expression) -> Expression:
        if step.primitive is not Primitive.CALL or step.name in native:
            return step
        # An expansion may call another function by its Python name, but no node of it is a call.
        function = functions()[step.name]
        if not function.rowwise:
            return function.expand(*step.arguments)
        if row is None:
            raise SpecError(f"{step.name} is row-wise; an element-wise expression cannot call it")
        return function.expand(row, *step.arguments)

    result = rebuilt(expression, change)
    return select(result, constant(1.0), constant(0.0)) if result.truth else result


def is_rowwise(expression: Expression) -> bool:
    """Whether an expression in calls calls a row-wise function."""
    calls = (step for step in steps(expression) if step.primitive is Primitive.CALL)
    return any(functions()[call.name].rowwise for call in calls)


def reduces(expression: Expression) -> bool:
    """Whether an expression in calls is one number for a row: all of its inputs are reduced."""
    if expression.primitive is Primitive.CALL and functions()[expression.name].reduces:
        return True
    return expression.primitive is not Primitive.INPUT and all(map(reduces, expression.arguments))


def instructions_of(called: Expression) -> int:
    """Primitives that a call is made of, less those of its arguments."""
    inner = {step for argument in called.arguments for step in steps(expand(argument))}
    return sum(bool(step.arguments) and step not in inner for step in steps(expand(called)))
