"""How large a kernel's formula may become."""

from __future__ import annotations

from kgen.ops.expression import Expression, Primitive, depth, steps
from kgen.ops.parse import DEEPEST
from kgen.ops.views import has_views

#: Of one kernel: operands that it reads, and characters of its expression, with room for the names
#: that it gets.
MOST_OPERANDS = 9
MOST_CHARACTERS = 600
#: Where it has views, as a sum of what a window's places see has: without them, which compute
#: nothing, and with them.
MOST_SEEN = 2000
LONGEST = 10000
#: Of a number where only what is computed counts.
DIGITS = 9
#: Functions of a value that several kernels compute for themselves.
CHEAP = 2


def is_too_long(expression: Expression) -> bool:
    """For one kernel."""
    computed = characters(expression, views=False)
    most = MOST_SEEN if has_views(expression) else MOST_CHARACTERS
    return computed > most or characters(expression) > LONGEST or depth(expression) > DEEPEST


def characters(expression: Expression, *, views: bool = True) -> int:
    """About how long its text is, in which what is used twice stands twice; without views, which
    compute nothing, if they do not count."""
    lengths: dict[Expression, int] = {}
    for step in steps(expression):
        if step.primitive is Primitive.VIEW and not views:
            tensors = (a for a in step.arguments if a.primitive is not Primitive.CONSTANT)
            lengths[step] = sum(lengths[a] for a in tensors)
            continue
        own = len(step.name or step.primitive.value)
        if step.primitive is Primitive.CONSTANT:
            own = len(str(step)) if views else DIGITS
        lengths[step] = own + 2 + sum(lengths[a] + 2 for a in step.arguments)
    return lengths[expression]
