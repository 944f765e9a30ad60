"""Rows whose elements lie next to those of other rows: neighbouring invocations have neighbouring
rows, so that what they read and write at once is contiguous."""

from __future__ import annotations

from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.rows.rowwise import RowwisePlan
from kgen_runtime.values import frozen


@frozen
class InterleavedPlan(RowwisePlan):
    @property
    def interleaved(self) -> bool:
        return True

    @property
    def row_mask(self) -> int:
        return self.schedule.rows_per_block - 1

    @property
    def row_bits(self) -> int:
        return log2(self.schedule.rows_per_block)

    @property
    def distances(self) -> tuple[int, ...]:
        """The invocations of a row are as far apart as a workgroup has rows."""
        return tuple(self.schedule.rows_per_block << bit for bit in range(self.lane_bits))

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            "adjacent invocations process adjacent rows, which are contiguous in memory",
        )
