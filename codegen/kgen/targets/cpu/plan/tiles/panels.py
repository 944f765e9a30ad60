"""Panels of B: their packing, the steps of register tiles along them, and prefetches."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.mapped_b import MappedB
from kgen_runtime.values import frozen


@frozen
class PanelPacking:
    """Packing of B by the kernel.

    - `packs`: B is packed panel by panel; `transposes`: all of B is transposed at once.
    - `keeps`: the first of several tasks packs all panels of its columns for the others.
    - `rows_are_whole`: the columns of each step of K are contiguous in B, and all steps but the
      last are whole.
    - `panel_bytes`: bytes of a packed panel.
    - `mapped`: packing through the access map of a B that is no matrix.
    """

    blocking: Blocking
    packs: bool
    transposes: bool = False
    keeps: bool = False
    rows_are_whole: bool = False
    panel_bytes: int = 0
    mapped: MappedB | None = None

    @property
    def in_tiles(self) -> bool:
        """Whether the first tile of a panel packs it while it multiplies. Multiply-adds then hide
        the shuffles and stores. It requires a row-major B, and a whole tile in every block."""
        whole = self.blocking.m.last >= self.blocking.schedule.mr
        return self.packs and self.rows_are_whole and whole

    @property
    def panels(self) -> int:
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
        """Rows of the next panel that each tile prefetches, except the first tile."""
        return -(-self.blocking.k.first // (self.blocking.row_tiles - 1))

    @property
    def lines(self) -> tuple[int, ...]:
        """Byte offsets of the lines of a panel's row in B."""
        return last_bytes(self.blocking.schedule.nr * self.blocking.spec.b_type.itemsize)


def last_bytes(width: int) -> tuple[int, ...]:
    """Return an offset in each line of `width` bytes except the first line. The panel before has
    prefetched the first line."""
    return (*range(LINE_BYTES - 1, width - 1, LINE_BYTES), width - 1)


@frozen
class NextPart:
    """Lines of B's next block of K, or of its next panel, that each step of a register tile
    prefetches. `strides` are the strides of B in bytes along the batch, K and N. `panel_vectors` is
    the number of vectors per panel of a prepacked B, and 0 if B is row-major."""

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
        """Bytes per row of a block of B."""
        if self.blocking.takes_several:
            return "%ahead.row"
        return str(self.blocking.schedule.nc * self._itemsize)

    @property
    def column(self) -> int:
        """Bytes per column of a block of B."""
        return self.blocking.schedule.kc * self._itemsize

    @property
    def step(self) -> int:
        """Bytes of the next block that each step of a tile prefetches. All tiles of a panel
        together prefetch as many bytes as the panel has. If the bytes of a step are less than a
        line, several steps prefetch the same line."""
        step = self.k_depth * self.blocking.schedule.nr * self._itemsize
        return -(-step // self.blocking.row_tiles)

    @property
    def lines(self) -> range:
        """Byte offsets of the lines that a step prefetches."""
        if self.is_panel:
            lines = -(-self.panel_lines // self.blocking.row_tiles)
            return range(0, lines * self.panel_line, self.panel_line)
        return range(0, self.step, LINE_BYTES)

    @property
    def stride(self) -> int:
        """Bytes from the first line that a step prefetches to that of the next step."""
        return self.strides[1] if self.is_panel else self.step

    @property
    def panel_lines(self) -> int:
        """Cache lines per row of a panel of B; for a prepacked B, vectors per panel."""
        row = self.blocking.schedule.nr * self._itemsize
        return self.panel_vectors or -(-row // LINE_BYTES)

    @property
    def panel_line(self) -> int:
        """Bytes from one line, or vector, to the next."""
        return self.blocking.lanes * self.strides[2] if self.panel_vectors else LINE_BYTES

    @property
    def block(self) -> int:
        """Bytes in B from one block of K to the next."""
        return self.blocking.schedule.kc * self.strides[1]

    @property
    def part(self) -> int:
        return self.blocking.schedule.kc // self.k_depth * self.step
