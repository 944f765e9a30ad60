"""What the sums of each row start from, where the instruction takes B for unsigned.

128 is added to the elements of B, so 128 times the sum of a row of A is too much. Those sums are
found beforehand, a few rows at a time, whose vectors are folded together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.tiles.folds import Fold, folds
from kgen.targets.cpu.plan.tiles.tile import Row
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.device import Multiplied
from kgen_runtime.values import frozen

#: Rows whose vectors are folded together: thirteen instructions instead of eleven for each.
START_ROWS = 4
#: Bytes of a start.
START_BYTES = 4


@frozen
class StartRows:
    """Rows whose starts are found together, in a vector `totals`; values are named from `name`."""

    name: str
    rows: tuple[Row, ...]
    totals: Vector
    folds: tuple[Fold, ...]

    @property
    def sum_names(self) -> tuple[str, ...]:
        return sum_names(self.name, self.rows)

    @property
    def result(self) -> str:
        return self.folds[-1].result


def sum_names(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(f"{name}.sums_{row.name}" for row in rows)


@frozen
class StartsPlan(MatmulPlan):
    #: The instruction that adds groups of K to each sum; None: elements are multiplied singly.
    dot: Dot | None

    @property
    def multiplied(self) -> Multiplied:
        return Multiplied(operands=str(self.spec.dtype)) if self.dot else super().multiplied

    @property
    def features(self) -> tuple[str, ...]:
        features = super().features
        return tuple(sorted({*features, *self.dot.features})) if self.dot else features

    @property
    def has_starts(self) -> bool:
        """The sums of each row start from a number that is found first."""
        return self.dot is not None and self.dot.b_is_unsigned

    @property
    def compensation_notes(self) -> tuple[str, ...]:
        if self.dot is None or not self.has_starts:
            return ()
        return (
            f"zero-point compensation: {self.dot.mnemonic} reads B as unsigned; elements of B get "
            "+128, and the sums of row i start at -128 * (A[i, 0] + A[i, 1] + ...)",
        )

    @property
    def starts_map(self) -> tuple[str, ...]:
        """The buffer of starts, for the header."""
        return (f"%a.starts: i32 [mc], {self.starts_bytes} B",) if self.has_starts else ()

    @property
    @abstractmethod
    def a_m(self) -> int:
        """Bytes from one row of A, as it is multiplied, to the next."""

    @property
    @abstractmethod
    def start_sums(self) -> Vector:
        """What the instruction adds to."""

    @property
    @abstractmethod
    def starts_depth(self) -> str:
        """Depth that is added up in whole runs."""

    @property
    @abstractmethod
    def starts_tail(self) -> int:
        """K of the last, partial run."""

    @property
    @abstractmethod
    def starts_tail_is_last(self) -> bool:
        """Only the last of several blocks of K has it."""

    @property
    def starts_bytes(self) -> int:
        return self.has_starts * self.schedule.mc * START_BYTES

    @property
    def starts_whole(self) -> str:
        """Rows of the block that are taken START_ROWS at a time."""
        if self.blocking.rows_vary:
            return "%starts.whole"
        return str(int(self.blocking.rows) - int(self.blocking.rows) % START_ROWS)

    @property
    def starts_mask(self) -> int:
        """Rounds rows down to those, by `and`."""
        return -START_ROWS

    @property
    def has_starts_together(self) -> bool:
        return self.blocking.rows_vary or int(self.blocking.rows) >= START_ROWS

    @property
    def has_starts_left(self) -> bool:
        return self.blocking.rows_vary or int(self.blocking.rows) % START_ROWS > 0

    @property
    def start_rows(self) -> StartRows:
        return self._start_rows("s", START_ROWS)

    @property
    def start_row(self) -> StartRows:
        """One by itself."""
        return self._start_rows("sr", 1)

    @property
    def tail_row(self) -> StartRows:
        """One by itself, in the last block of K."""
        return self._start_rows("st", 1)

    def _start_rows(self, name: str, count: int) -> StartRows:
        rows = tuple(Row(name=f"m{r}", index=r, a=r * self.a_m, out=0) for r in range(count))
        tail = ".all" if self.starts_tail and not self.starts_tail_is_last else ""
        added = [f"%{sums}{tail}" for sums in sum_names(name, rows)]
        return StartRows(
            name=name,
            rows=rows,
            totals=Vector(count=count, scalar=self.start_sums.scalar),
            folds=folds(f"%{name}", added, self.start_sums.count),
        )
