"""Rows whose elements lie next to those of other rows: neighbouring threads have neighbouring rows.

What a warp reads and writes at once is contiguous then. The threads of a row are in several warps,
so that they meet in shared memory, where each leaves its part and reads those of all.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GpuRows
from kgen.spec import Rowwise
from kgen.targets.base import Target
from kgen.targets.cuda.plan.rowwise import PARTIAL_BYTES, RowwisePlan, check, planned
from kgen.targets.powers_of_two import log2
from kgen.targets.rows.folds_and_phases import RowFold
from kgen_runtime.values import frozen

#: Threads of a row: each reads what all of them have folded.
MAX_PARTNERS = 32


@frozen
class InterleavedPlan(RowwisePlan):
    @property
    def interleaved(self) -> bool:
        return True

    @property
    def rows_per_block_log2(self) -> int:
        return log2(self.schedule.rows_per_block)

    @property
    def row_mask(self) -> int:
        return self.schedule.rows_per_block - 1

    @property
    def across_warps(self) -> bool:
        return bool(self._folds) and self.threads_per_row > 1

    @property
    def num_parts(self) -> int:
        """A number for each thread."""
        return self.num_threads

    @property
    def part_noun(self) -> str:
        return "threads"

    def partners(self, fold: RowFold) -> tuple[int, ...]:
        """Shared-memory offsets of the parts of a row's threads."""
        first, step = self.partials[fold.name], self.schedule.rows_per_block * PARTIAL_BYTES
        return tuple(first + lane * step for lane in range(self.threads_per_row))

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            "adjacent threads process adjacent rows, which are contiguous in memory",
        )


def plan_interleaved(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Several interleaved rows for each CTA. Raises ScheduleError if the vector does not divide a
    row, or the row does not fit or has too many threads."""
    check(spec, target, schedule)
    if schedule.threads_per_row > MAX_PARTNERS:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives each row {schedule.threads_per_row} threads; the limit is {MAX_PARTNERS}; "
            f"try rows_per_block={schedule.num_threads // MAX_PARTNERS}"
        )
    return planned(InterleavedPlan, spec, target, schedule)
