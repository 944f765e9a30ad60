"""Rows of B that are interleaved within lanes (lanes.py), and whose sums stay in that order."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.packing.lanes import LANE_BYTES, Unpack, column_order, unpacks
from kgen.targets.cpu.plan.packing.panel import index_list
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen


@frozen
class Interleaving:
    """Strips of columns whose rows are interleaved in groups.

    `row` is a strip's columns of a row of B, as they are stored; `scalar` is the type of a sum;
    `group` is the rows of a group. If `word_columns` is above 1, words of so many neighbouring
    columns are split instead, which puts the first columns of all words before the second ones.
    """

    row: Access
    scalar: str
    group: int
    word_columns: int = 1

    @property
    def sums(self) -> Vector:
        return Vector(count=self.row.compute.count, scalar=self.scalar)

    @property
    def moves_columns(self) -> bool:
        return list(self._columns) != sorted(self._columns)

    @property
    def order(self) -> str:
        """Shuffle mask that brings a strip's sums into the order of columns."""
        return index_list(self._columns)

    @property
    def _columns(self) -> tuple[int, ...]:
        width, each = self.sums.count, self.word_columns
        if each > 1:
            return tuple(c % each * (width // each) + c // each for c in range(width))
        return column_order(width, lane=self._lane, group=self.group)

    @property
    def _lane(self) -> int:
        """Columns of a row of B in a lane; pairs of bytes for 16 bytes of sums fill half of one."""
        return min(LANE_BYTES // self.row.itemsize, self.sums.count)

    def unpacks(self, rows: Sequence[str], results: Sequence[str]) -> tuple[Unpack, ...]:
        """Return the shuffles from rows of a strip to its vectors of groups."""
        return unpacks(rows, results, count=self.sums.count, lane=self._lane)
