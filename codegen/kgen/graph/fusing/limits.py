"""How large a kernel's formula may become."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from kgen.graph.fusing.truths import converted
from kgen.ops.expression import Expression, Primitive, unknown
from kgen.ops.parse import DEEPEST
from kgen.spec.shapes import MAX_RANK
from kgen_runtime.values import frozen

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
#: Calls that lowering may put around a formula and its operands: slices along each axis of an
#: operand, their order and size, and the size and type of the result.
MOST_AROUND = MAX_RANK + 4
#: Functions of a value that several kernels compute for themselves.
CHEAP = 2


@frozen
class FormulaSize:
    """Size of a formula as text, in which a subexpression that is used twice counts twice.

    `characters` counts all of the text, `computed` all but the views. `depth` is the depth of
    nested calls, with the calls that turn truth values into numbers.
    """

    characters: int
    computed: int
    depth: int
    has_views: bool


#: Sizes of the formulas that were asked for: those of their parts are not computed again.
_SIZES: WeakKeyDictionary[Expression, FormulaSize] = WeakKeyDictionary()


def size_of(expression: Expression) -> FormulaSize:
    for step in unknown((expression,), _SIZES):
        _SIZES[step] = _size(step, [_SIZES[argument] for argument in step.arguments])
    return _SIZES[expression]


def _size(step: Expression, parts: Sequence[FormulaSize]) -> FormulaSize:
    """The size of a step whose arguments have these sizes."""
    is_number, is_view = step.primitive is Primitive.CONSTANT, step.primitive is Primitive.VIEW
    own = len(step.name or step.primitive.value) + 2
    tensors = (
        part.computed
        for part, argument in zip(parts, step.arguments, strict=True)
        if argument.primitive is not Primitive.CONSTANT
    )
    computed = (DIGITS + 2 if is_number else own) + sum(part.computed + 2 for part in parts)
    depths = (1 + p.depth + c for p, c in zip(parts, converted(step), strict=True))
    if is_number:
        own = len(str(step)) + 2
    return FormulaSize(
        characters=own + sum(part.characters + 2 for part in parts),
        computed=sum(tensors) if is_view else computed,
        depth=max(depths, default=0),
        has_views=is_view or any(part.has_views for part in parts),
    )


def is_too_long(expression: Expression) -> bool:
    """Whether a formula is too long, or too deep, for one kernel."""
    size = size_of(expression)
    return (
        size.computed > (MOST_SEEN if size.has_views else MOST_CHARACTERS)
        or size.characters > LONGEST
        or size.depth > DEEPEST - MOST_AROUND
    )


def characters(expression: Expression) -> int:
    """About how long a formula's text is, in which what is used twice stands twice."""
    return size_of(expression).characters
