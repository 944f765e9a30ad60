"""Interleaved rows: adjacent elements belong to different rows.

Neighbouring invocations have neighbouring rows, so that their accesses are contiguous.
"""

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
        """Distances between the invocations of a row: multiples of the rows of a workgroup."""
        return tuple(self.schedule.rows_per_block << bit for bit in range(self.lane_bits))

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            "adjacent invocations process adjacent rows, which are contiguous in memory",
        )
