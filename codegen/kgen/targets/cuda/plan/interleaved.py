"""Interleaved rows: adjacent elements belong to different rows.

Adjacent threads have adjacent rows, so that the accesses of a warp are contiguous. The threads of a
row are in several warps, and exchange partial results through shared memory.
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

#: Most threads of a row. Each thread reads the partial results of all of them.
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
        return bool(self.row.folds) and self.threads_per_row > 1

    @property
    def num_parts(self) -> int:
        """Partial results of a fold in shared memory, one per thread."""
        return self.num_threads

    @property
    def part_noun(self) -> str:
        return "threads"

    def partners(self, fold: RowFold) -> tuple[int, ...]:
        """Return the shared-memory offsets of the partial results of a row's threads."""
        first, step = self.partials[fold.name], self.schedule.rows_per_block * PARTIAL_BYTES
        return tuple(first + lane * step for lane in range(self.threads_per_row))

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            "adjacent threads process adjacent rows, which are contiguous in memory",
        )


def plan_interleaved(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Return a plan with several interleaved rows per CTA. Raises ScheduleError if the vector does
    not divide a row, the row does not fit, or it has too many threads."""
    check(spec, target, schedule)
    if schedule.threads_per_row > MAX_PARTNERS:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives each row {schedule.threads_per_row} threads; the limit is {MAX_PARTNERS}; "
            f"try rows_per_block={schedule.num_threads // MAX_PARTNERS}"
        )
    return planned(InterleavedPlan, spec, target, schedule)
