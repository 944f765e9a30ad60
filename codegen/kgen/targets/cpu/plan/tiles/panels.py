"""Panels of B: their packing, the steps of register tiles along them, and prefetches."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen


@frozen
class PanelPacking:
    """Packing of B by the kernel: it `packs` panel by panel, or `transposes` all of B at once.

    `keeps`: the first of several tasks packs all panels of its columns for the others.
    `rows_are_whole`: the columns of each step of K are contiguous in B, and only the last step is
    cut. A packed panel has `panel_bytes`, a row of it `row_bytes` in B.
    """

    blocking: Blocking
    packs: bool
    transposes: bool = False
    keeps: bool = False
    rows_are_whole: bool = False
    panel_bytes: int = 0
    row_bytes: int = 0

    @property
    def in_tiles(self) -> bool:
        """Whether the first tile of a panel packs it while it multiplies, which hides shuffles and
        stores. Every block has such a tile, and B is row-major."""
        whole = self.blocking.m.last >= self.blocking.schedule.mr
        return self.packs and self.rows_are_whole and whole

    @property
    def panels(self) -> int:
        """Panels that the buffer has room for."""
        schedule = self.blocking.schedule
        return schedule.nc // schedule.nr if self.keeps else 1

    @property
    def has_several(self) -> bool:
        return self.panels > 1

    @property
    def column_bytes(self) -> int:
        return self.panel_bytes // self.blocking.schedule.nr

    @property
    def share(self) -> int:
        """Rows of the next panel that each tile but the first prefetches."""
        return -(-self.blocking.k.first // (self.blocking.row_tiles - 1))

    @property
    def lines(self) -> tuple[int, ...]:
        """Byte offsets of the lines of a panel's row in B."""
        return last_bytes(self.row_bytes)


@frozen
class PanelsAhead:
    """Prefetch of a prepacked panel, `bytes` ahead of what a step reads, into a cache level."""

    bytes: int
    level: int


@frozen
class PanelSteps:
    """First columns of whole panels: 0, `step`, ... up to `stop`, an operand. Columns of a tile are
    `spread` apart if they are not contiguous."""

    stop: str
    step: int
    spread: str = ""


def last_bytes(width: int) -> tuple[int, ...]:
    """Return an offset in each line but the first, which the panel before has prefetched."""
    return (*range(LINE_BYTES - 1, width - 1, LINE_BYTES), width - 1)


@frozen
class NextPart:
    """Lines of B's next block of K, or of its next panel, that each step of a register tile
    prefetches.

    `strides` are the bytes of B along the batch, K and N. `panel_vectors` is the vectors of a panel
    of a prepacked B, 0 if B is row-major.
    """

    blocking: Blocking
    is_block: bool
    is_panel: bool
    k_depth: int
    strides: Sequence[int]
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
        """Offsets of the lines that a step prefetches."""
        if self.is_panel:
            lines = -(-self.panel_lines // self.blocking.row_tiles)
            return range(0, lines * self.panel_line, self.panel_line)
        return range(0, self.step, LINE_BYTES)

    @property
    def stride(self) -> int:
        """Bytes from what a step prefetches to what the next one does."""
        return self.strides[1] if self.is_panel else self.step

    @property
    def panel_lines(self) -> int:
        """Lines of a row of a panel of B; vectors of a prepacked panel."""
        row = self.blocking.schedule.nr * self._itemsize
        return self.panel_vectors or -(-row // LINE_BYTES)

    @property
    def panel_line(self) -> int:
        """Bytes from one line, or vector, to the next."""
        return self.blocking.lanes * self.strides[2] if self.panel_vectors else LINE_BYTES

    @property
    def block(self) -> int:
        """Bytes to the next block of K."""
        return self.blocking.schedule.kc * self.strides[1]

    @property
    def part(self) -> int:
        return self.blocking.schedule.kc // self.k_depth * self.step
