"""Views: functions that select elements of tensors and compute nothing.

Their first arguments are tensors, followed by numbers, which are constants in an expression.
:mod:`kgen.spec.views` defines their effect on shapes; expressions in primitives have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kgen.errors import Unfit
from kgen.ops.expression import Expression, Primitive, shown, steps
from kgen_runtime.values import frozen


@frozen
class ViewFunction:
    """View of tensors, such as `slice`.

    `tensors` is the number of tensor arguments, 0 for two or more. `numbers` are the names of the
    number arguments; the last ones may have `defaults`. `more` is the name of the number arguments
    that may follow in any number. `meaning` is the view in numpy's words.
    """

    example: str
    meaning: str
    tensors: int = 1
    numbers: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()
    more: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        named = ("table", "index", "rows")[: self.tensors]
        tensors = ("x", "y", "...") if self.tensors == 0 else named
        more = (f"{self.more}...",) if self.more else ()
        return (*(("x",) if self.tensors == 1 else tensors), *self.numbers, *more)


VIEWS: Mapping[str, ViewFunction] = {
    "permute": ViewFunction(example="permute(x, 1, 0)", meaning="`x.transpose(axes)`", more="axes"),
    "transpose": ViewFunction(example="transpose(x)", meaning="the last two axes swapped"),
    "expand": ViewFunction(
        example="expand(x, 8, 64)", meaning="`broadcast_to(x, sizes)`", more="sizes"
    ),
    "slice": ViewFunction(
        example="slice(x, 0, 2, 10)",
        meaning="`x[start:stop:step]` along an axis; `inf` and `-inf` stand for an end left out: "
        "`slice(x, 0, inf, -inf, -1)` is reversed",
        numbers=("axis", "start", "stop", "step"),
        defaults=(1.0,),
    ),
    "pad": ViewFunction(
        example="pad(x, 0, 1, 1)",
        meaning="`pad` along an axis with a constant",
        numbers=("axis", "before", "after", "value"),
        defaults=(0.0,),
    ),
    "concat": ViewFunction(
        example="concat(x, y, axis=0)",
        meaning="`concatenate((x, y, ...), axis)`",
        tensors=0,
        numbers=("axis",),
    ),
    "gather": ViewFunction(
        example="gather(table, index)",
        meaning="`table.take(index, axis)`; zeros for an index out of range",
        tensors=2,
        numbers=("axis",),
        defaults=(0.0,),
    ),
    "scatter": ViewFunction(
        example="scatter(table, index, rows)",
        meaning="`table[index] = rows` along an axis, in place; nothing for an index out of range",
        tensors=3,
        numbers=("axis",),
        defaults=(0.0,),
    ),
}
#: Views whose second tensor holds indices into an axis of the first.
INDEXED = frozenset({"gather", "scatter"})
#: Numbers that need not be integers: fill values, and infinite ends of a slice.
ANY_NUMBER = frozenset({"value"})
ENDS = frozenset({"start", "stop"})


def fits(name: str, number: float) -> bool:
    """Whether a number is valid for a view's parameter of this name."""
    if name in ANY_NUMBER:
        return True
    return (math.isinf(number) and name in ENDS) or (
        math.isfinite(number) and number == int(number)
    )


def has_views(*expressions: Expression) -> bool:
    return any(step.primitive is Primitive.VIEW for step in steps(*expressions))


#: Views that can be expressed by strides.
STRIDED = frozenset({"permute", "transpose", "expand", "slice"})


def refuse_others(expressions: Iterable[Expression], kind: str) -> None:
    """Raise Unfit for a view that is not strided, or not of an input or of such a view."""
    for step in steps(*expressions):
        if step.primitive is not Primitive.VIEW:
            continue
        if step.name not in STRIDED:
            raise Unfit(
                step.name,
                f"{shown(step)} is a {step.name}, and {kind} operations take "
                f"{', '.join(sorted(STRIDED))}; make an element-wise kernel of it",
            )
        tensor, *numbers = step.arguments
        if step.name == "slice" and numbers[-1].number < 0:
            raise Unfit(
                step.name,
                f"{shown(step)} goes backwards, and {kind} operations take steps above 0; make an "
                "element-wise kernel of it",
            )
        if tensor.primitive not in (Primitive.INPUT, Primitive.VIEW):
            raise Unfit(
                step.name,
                f"{shown(step)} is a view of an expression, and {kind} operations take those of "
                f"inputs; write {step.name} around each input of it",
            )
