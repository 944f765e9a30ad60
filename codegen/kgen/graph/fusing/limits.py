"""Size limits of fused formulas: operands, characters and nested calls per kernel."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from kgen.graph.fusing.truths import converted
from kgen.ops.expression import Expression, Primitive, steps, unknown
from kgen.ops.parse import DEEPEST, LONGEST
from kgen.spec.shapes import MAX_RANK
from kgen_runtime.values import frozen

#: Limits of one kernel: operands, and characters of what it computes. A subexpression that is used
#: twice counts once; numbers count as `DIGITS`.
MOST_OPERANDS = 9
MOST_CHARACTERS = 600
#: Limit for the text of an expression without views, in which operands may have longer names than
#: values have.
MOST_TEXT = LONGEST // 2
#: Limit for expressions with views, such as a sum over a window: characters without the views,
#: which compute nothing. With them, the limit is that of the parser.
MOST_SEEN = 2000
#: Characters counted for a number when views are excluded.
DIGITS = 9
#: Calls that lowering may add around a formula: a slice per axis of an operand, a permutation and
#: reshape, and the shape and type of the result.
MOST_AROUND = MAX_RANK + 4
#: A formula of at most this many calls is computed in each of its consumers and not stored.
CHEAP = 2


@frozen
class FormulaSize:
    """Size of a formula as text. A subexpression that is used twice counts twice.

    `characters` counts all of the text, `computed` all but the views. `depth` is the depth of
    nested calls, with the calls that turn truth values into numbers.
    """

    characters: int
    computed: int
    depth: int
    has_views: bool


#: Cache of sizes, so that parts of a formula are measured once.
_SIZES: WeakKeyDictionary[Expression, FormulaSize] = WeakKeyDictionary()


def size_of(expression: Expression) -> FormulaSize:
    for step in unknown((expression,), _SIZES):
        _SIZES[step] = _size(step, [_SIZES[argument] for argument in step.arguments])
    return _SIZES[expression]


def _size(step: Expression, parts: Sequence[FormulaSize]) -> FormulaSize:
    """Return the size of an expression whose arguments have these sizes."""
    is_number, is_view = step.primitive is Primitive.CONSTANT, step.primitive is Primitive.VIEW
    own = _own(step)
    tensors = (
        part.computed
        for part, argument in zip(parts, step.arguments, strict=True)
        if argument.primitive is not Primitive.CONSTANT
    )
    computed = own + sum(part.computed + 2 for part in parts)
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
    """Whether a formula is too long, or nested too deeply, for one kernel."""
    size = size_of(expression)
    if size.depth > DEEPEST - MOST_AROUND:
        return True
    if size.has_views:
        return size.computed > MOST_SEEN or size.characters > LONGEST
    if size.characters > MOST_TEXT:
        return True
    return size.computed > MOST_CHARACTERS and shared_size(expression) > MOST_CHARACTERS


def shared_size(expression: Expression) -> int:
    """Return the characters of what a formula without views computes, each step once."""
    return sum(_own(step) + 2 * len(step.arguments) for step in steps(expression))


def _own(step: Expression) -> int:
    """Return the characters of a step without its arguments."""
    is_number = step.primitive is Primitive.CONSTANT
    return (DIGITS if is_number else len(step.name or step.primitive.value)) + 2


def characters(expression: Expression) -> int:
    """Return the approximate length of a formula's text.

    Repeated subexpressions count each time.
    """
    return size_of(expression).characters
