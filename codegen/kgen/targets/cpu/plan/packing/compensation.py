"""Start values of each row's accumulators, for instructions that read B as unsigned.

The kernel adds 128 to the elements of B, which adds 128 times the sum of a row of A to each result
of that row. So accumulators start from -128 times the row sum. The kernel computes the row sums of
several rows together.
"""

from __future__ import annotations

from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import AxisUnits, Blocking
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.tiles.folds import Fold, folds
from kgen.targets.cpu.plan.tiles.tile import Row, tile_rows
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.values import frozen

#: Rows whose sums are folded together, which saves most instructions of separate folds.
START_ROWS = RoundingUnit(4)
#: Bytes per start value.
START_BYTES = 4


@frozen
class StartRows:
    """Rows whose start values are computed together, as one vector of type `totals`. `name` is the
    prefix of the names of values."""

    name: str
    rows: tuple[Row, ...]
    totals: Vector
    folds: tuple[Fold, ...]

    @property
    def sum_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.sums_{row.name}" for row in self.rows)

    @property
    def result(self) -> str:
        return self.folds[-1].result


@frozen
class Starts:
    """Start values of each row's accumulators, in the buffer %a.starts.

    - `run` is the access to a vector along K in a row of A. A begins at `pointer`, and its rows are
      `a_row` bytes apart.
    - `sums` is the accumulator type of the instruction.
    - The first `depth` elements of K are read in whole runs, then `tail` elements. With
      `tail_is_last`, only the last block of K has a tail.
    """

    blocking: Blocking
    dot: Dot
    run: Access
    pointer: str
    a_row: int
    sums: Vector
    depth: str
    tail: int
    tail_is_last: bool = False

    @property
    def note(self) -> str:
        return (
            f"zero-point compensation: {self.dot.mnemonic} reads B as unsigned; elements of B get "
            "+128, and the sums of row i start at -128 * (A[i, 0] + A[i, 1] + ...)"
        )

    @property
    def buffer(self) -> Buffer:
        rows = self.blocking.schedule.mc
        holds = f"{self.sums.scalar} [mc]"
        array = f"[{rows} x {self.sums.scalar}]"
        return Buffer(name="%a.starts", holds=holds, bytes=rows * START_BYTES, elements=array)

    @property
    def groups(self) -> AxisUnits:
        """Groups of rows that are computed together."""
        return self.blocking.m.units(START_ROWS, "%starts")

    @property
    def has_single_rows(self) -> bool:
        return self.blocking.m.varies or self.blocking.m.first % START_ROWS > 0

    def rows(self, name: str, count: int) -> StartRows:
        """Return `count` rows, or a row in the last block of K, whose names begin with `name`."""
        rows = tile_rows(count, self.a_row, 0)
        tail = ".all" if self.tail and not self.tail_is_last else ""
        added = [f"%{name}.sums_{row.name}{tail}" for row in rows]
        return StartRows(
            name=name,
            rows=rows,
            totals=Vector(count=count, scalar=self.sums.scalar),
            folds=folds(f"%{name}", added, self.sums.count),
        )
