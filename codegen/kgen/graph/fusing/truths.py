"""Conversion between truth values and numbers in formulas."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive, call, rebuilt, with_arguments
from kgen.ops.registry import functions


def typed(expression: Expression) -> Expression:
    """Return a formula with explicit conversions between truth values and numbers.

    A truth value becomes 1 or 0 where a view or a function takes numbers. A computed number becomes
    a truth value where a function takes one. Inputs are read as either.
    """

    def change(step: Expression) -> Expression:
        arguments = []
        for argument, converts in zip(step.arguments, converted(step), strict=True):
            if converts and argument.truth:
                argument = call("where", (argument, 1.0, 0.0))
            elif converts:
                argument = call("not_equal", (argument, 0.0), truth=True)
            arguments.append(argument)
        return with_arguments(step, tuple(arguments))

    return rebuilt(expression, change)


def converted(step: Expression) -> tuple[bool, ...]:
    """Return, for each argument of a step, whether it needs a conversion."""
    return tuple(
        argument.truth != wanted and (argument.truth or argument.primitive is Primitive.CALL)
        for wanted, argument in zip(takes_truths(step), step.arguments, strict=True)
    )


def takes_truths(step: Expression) -> tuple[bool, ...]:
    """Return, for each argument of a step, whether the step reads it as a truth value."""
    if step.primitive is not Primitive.CALL:
        return (False,) * len(step.arguments)
    function = functions()[step.name]
    return tuple(name in function.truths for name in function.parameters[: len(step.arguments)])
