"""Values that the plan of a row-wise kernel is composed of: folds, phases, vectors, tensors."""

from __future__ import annotations

from typing import ClassVar

from kgen.ops import REDUCTIONS, Expression, Primitive, Reduction
from kgen.ops.expression import node, reduce, variable, with_arguments
from kgen.ops.patterns import bound
from kgen.targets.stream import StreamInput
from kgen_runtime.values import frozen


@frozen
class RowFold:
    """A reduction over the row: `name` is that of its value; `title` says what it is, for a
    comment. `relative_to` names the fold of the same phase that an online one is relative to."""

    name: str
    step: Expression
    title: str
    relative_to: str = ""

    @property
    def before(self) -> str:
        """Name of the maximum before the last step of an online sum."""
        return f"{self.relative_to}_before"

    @property
    def rescaled(self) -> Expression:
        """An online sum in the maximum as it is now."""
        (power,) = self.argument.arguments
        distance = variable(self.before) - variable(self.relative_to)
        factor = with_arguments(power, (distance, power.arguments[1]))
        return variable(self.name) * with_arguments(self.argument, (factor,))

    @property
    def reduction(self) -> Reduction:
        return REDUCTIONS[self.step.name]

    @property
    def argument(self) -> Expression:
        """Expression that is folded."""
        return self.step.arguments[0]


@frozen
class RowPhase:
    """Pass over a row.

    `row_values` are computed once per row, from the folds of earlier phases; then the folds'
    arguments, or in the last phase the results, are computed for each element.
    """

    number: int
    folds: tuple[RowFold, ...]
    wanted: tuple[Expression, ...]
    row_values: tuple[Expression, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def online(self) -> tuple[RowFold, ...]:
        """Folds that are relative to another fold of this phase."""
        return tuple(fold for fold in self.folds if fold.relative_to)

    @property
    def name(self) -> str:
        return "_".join(fold.name for fold in self.folds) or "out"


@frozen
class RowVector:
    """Vector of a lane, `offset` vectors after the lane's first. `partial`: some lanes
    have none."""

    index: int
    offset: int
    partial: bool


@frozen
class RowInput:
    """Place of an operand in its `tensor`.

    `row_terms`: (coordinate of the row, stride) whose products sum to the row's first element,
    counted from `offset`. `columns` is the place of the row's elements from there; None if the
    whole row has one element.
    """

    name: str
    tensor: str
    offset: int
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None


@frozen
class RowOutput:
    """Place of an output: as of an input, or `row_stride` if rows are a constant stride apart.
    `columns` is None if each row has one element."""

    name: str
    result: Expression
    row_stride: int
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None
    offset: ClassVar[int] = 0

    @property
    def tensor(self) -> str:
        return self.name


_X, _C = variable("x"), variable("c")
_EXPONENTIALS = reduce("sum", node(Primitive.EXP2, (_X - reduce("maxnum", _X)) * _C))


def maximum_of(step: Expression) -> Expression | None:
    """The row's maximum M of a sum over the row of exp2((x - M) c), M = maxnum(x), c a constant."""
    found = bound(_EXPONENTIALS, step)
    if found is None or found["c"].primitive is not Primitive.CONSTANT:
        return None
    return reduce("maxnum", found["x"])
