"""How large a kernel's formula may become."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive, steps

#: Of one kernel: operands that it reads, and characters of its expression, with room for the views
#: and names that it gets.
MOST_OPERANDS = 9
MOST_CHARACTERS = 600
#: Functions of a value that several kernels compute for themselves.
CHEAP = 2


def characters(expression: Expression) -> int:
    """About how long its text is, in which what is used twice stands twice."""
    lengths: dict[Expression, int] = {}
    for step in steps(expression):
        own = (
            len(step.name or step.primitive.value)
            if step.primitive is not Primitive.CONSTANT
            else 9
        )
        lengths[step] = own + 2 + sum(lengths[a] + 2 for a in step.arguments)
    return lengths[expression]
