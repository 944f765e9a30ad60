"""Prefetch of the part of B that register tiles multiply next."""

from __future__ import annotations

from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen


@frozen
class NextPart:
    """Lines of B's next block of K, or of its next panel, that each step of a register tile
    prefetches.

    `k_stride` and `column_stride` are the bytes of B from one k, and from one column, to the next.
    `panel_vectors` is the vectors of a panel of a prepacked B, 0 if B is row-major.
    """

    blocking: Blocking
    is_block: bool
    is_panel: bool
    k_depth: int
    k_stride: int
    column_stride: int
    panel_vectors: int

    @property
    def exists(self) -> bool:
        return self.is_block or self.is_panel

    @property
    def _itemsize(self) -> int:
        return self.blocking.spec.b_type.itemsize

    @property
    def row(self) -> str:
        """Bytes of a row of the block of B."""
        if self.blocking.takes_several:
            return "%ahead.row"
        return str(self.blocking.schedule.nc * self._itemsize)

    @property
    def column(self) -> int:
        """Bytes of a column of the block of B."""
        return self.blocking.schedule.kc * self._itemsize

    @property
    def step(self) -> int:
        """Bytes of the next block from the line that one step of a tile fetches to that of the next
        step. All tiles of a panel together fetch as many bytes as the panel has; a step fetches a
        line again where its own share is less than a line."""
        step = self.k_depth * self.blocking.schedule.nr * self._itemsize
        return -(-step // self.blocking.row_tiles)

    @property
    def lines(self) -> range:
        """Offsets of the lines that a step fetches."""
        if self.is_panel:
            lines = -(-self.panel_lines // self.blocking.row_tiles)
            return range(0, lines * self.panel_line, self.panel_line)
        return range(0, self.step, LINE_BYTES)

    @property
    def stride(self) -> int:
        """Bytes from what a step fetches to what the next one does."""
        return self.k_stride if self.is_panel else self.step

    @property
    def panel_lines(self) -> int:
        """Lines of a row of a panel of B; vectors of a prepacked one."""
        row = self.blocking.schedule.nr * self._itemsize
        return self.panel_vectors or -(-row // LINE_BYTES)

    @property
    def panel_line(self) -> int:
        """Bytes from one of them to the next."""
        return self.blocking.lanes * self.column_stride if self.panel_vectors else LINE_BYTES

    @property
    def block(self) -> int:
        """Bytes to the next block of K."""
        return self.blocking.schedule.kc * self.k_stride

    @property
    def part(self) -> int:
        """Bytes that a tile fetches."""
        return self.blocking.schedule.kc // self.k_depth * self.step
