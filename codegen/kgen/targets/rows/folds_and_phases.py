"""Values that the plan of a row-wise kernel is composed of: folds, phases, vectors, tensors."""

from __future__ import annotations

from typing import ClassVar

from kgen.ops import REDUCTIONS, Expression, Reduction
from kgen.targets.stream import StreamInput
from kgen_runtime.values import frozen


@frozen
class RowFold:
    """Reduction over the row.

    `name` is the name of its value, `title` describes it for a comment. `relative_to` names the
    maximum of the same phase on which the value of an online sum depends.
    """

    name: str
    step: Expression
    title: str
    relative_to: str = ""

    @property
    def before(self) -> str:
        """Name of the maximum before the current step of an online sum."""
        return f"{self.relative_to}_before"

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
    """Vector of a lane, `offset` vectors after the lane's first. With `partial`, some lanes do not
    have it."""

    index: int
    offset: int
    partial: bool


@frozen
class RowInput:
    """Addresses of an operand's elements in its `tensor`.

    `row_terms` are pairs (coordinate of the row, stride), whose products sum to the offset of the
    row's first element from `offset`. `columns` gives the row's elements from there; it is None if
    the whole row has one element.
    """

    name: str
    tensor: str
    offset: int
    row_terms: tuple[tuple[int, int], ...]
    columns: StreamInput | None


@frozen
class RowOutput:
    """Addresses of an output's elements: as those of an input, or with `row_stride` between rows.
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
