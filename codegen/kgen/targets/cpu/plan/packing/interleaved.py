"""Plans that interleave rows of B within lanes (lanes.py), and whose sums stay in that order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.packing.lanes import LANE_BYTES, Unpack, column_order, unpacks
from kgen.targets.cpu.plan.packing.panel import index_list
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen


@frozen
class InterleavedPlan(MatmulPlan):
    #: Rows of B in a group; 1 if rows are multiplied singly.
    group: int

    @property
    @abstractmethod
    def strip_row(self) -> Access:
        """A strip's columns of a row of B, as they are stored: a vector of sums for each row of a
        group."""

    @property
    def interleaves_lanes(self) -> bool:
        return True

    @property
    def strip_sums(self) -> Vector:
        return Vector(count=self.strip_row.compute.count, scalar=self.sum_vector.scalar)

    @property
    def sums_are_in_lanes(self) -> bool:
        order = self._column_order
        return self.interleaves_lanes and list(order) != sorted(order)

    @property
    def strip_order(self) -> str:
        """The shuffle mask that brings a strip's sums into the order of columns."""
        return index_list(self._column_order)

    @property
    def _column_order(self) -> tuple[int, ...]:
        return column_order(self.strip_sums.count, lane=self._lane, group=self.group)

    @property
    def _lane(self) -> int:
        """Columns of a row of B in a lane; pairs of bytes for 16 bytes of sums fill half of one."""
        return min(LANE_BYTES // self.spec.dtype.itemsize, self.strip_sums.count)

    def strip_unpacks(self, rows: Sequence[str], results: Sequence[str]) -> tuple[Unpack, ...]:
        """From rows of a strip to its vectors of groups."""
        return unpacks(rows, results, count=self.strip_sums.count, lane=self._lane)
