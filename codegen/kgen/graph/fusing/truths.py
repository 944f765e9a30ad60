"""Conversion between truth values and numbers in formulas."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive, call, steps, with_arguments
from kgen.ops.registry import functions


def typed(expression: Expression) -> Expression:
    """Return a formula with explicit conversions between truth values and numbers.

    A truth value becomes 1 or 0 where a view or a function takes numbers. A computed number becomes
    a truth value where a function takes one. Inputs are read as either.
    """
    done: dict[Expression, Expression] = {}
    for step in steps(expression):
        arguments = []
        for argument, converts in zip(step.arguments, converted(step), strict=True):
            found = done[argument]
            if converts and found.truth:
                found = call("where", (found, 1.0, 0.0))
            elif converts:
                found = call("not_equal", (found, 0.0), truth=True)
            arguments.append(found)
        same = tuple(arguments) == step.arguments
        done[step] = step if same else with_arguments(step, tuple(arguments))
    return done[expression]


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
