"""Work on B beside the products of AMX tiles: its next part is packed or prefetched."""

from __future__ import annotations

from kgen.targets.cpu.plan.amx.packing import TiledB
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, TileColumn
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen


@frozen
class Beside:
    """Part of B that is packed (`packs`), or prefetched, while tiles are multiplied.

    A part is a panel's block of K.
    """

    blocking: Blocking
    tiled_b: TiledB
    packs: bool

    @property
    def bytes(self) -> int:
        """Bytes of the part that is multiplied, and of the next one, which is packed meanwhile."""
        return 2 * self.part_bytes * self.packs

    @property
    def part_bytes(self) -> int:
        return self.blocking.schedule.nr * self.part_column

    @property
    def part_column(self) -> int:
        return self.blocking.schedule.kc * self.blocking.spec.dtype.itemsize

    @property
    def tile_column(self) -> int:
        """Bytes of a column of B as it is multiplied."""
        return self.part_column if self.packs else self.tiled_b.column_bytes

    def tile_of_b(self, product: TileColumn) -> int:
        """Bytes to a product's tile of B."""
        return product.column * self.tile_column

    @property
    def shared_groups(self) -> int:
        """Groups of each step that a register tile packs: a power of two, so that it goes up in the
        16 of a tile."""
        needed = -(-TILE_ROWS // self.blocking.row_tiles)
        return 1 << (needed - 1).bit_length()

    @property
    def panel_starts(self) -> tuple[tuple[int, int], ...]:
        """Byte offsets of a panel's columns of tiles: in B, and in a part."""
        return tuple(
            (column * self.tiled_b.groups.column_stride, column * self.part_column)
            for column in range(0, self.blocking.schedule.nr, TILE_ROWS)
        )

    @property
    def _lines_fetched(self) -> int:
        """Lines to fetch per tile, shared among the rows of register tiles."""
        spec, schedule = self.blocking.spec, self.blocking.schedule
        register_tiles = min(spec.m, schedule.mc) // schedule.mr
        return max(1, TILE_ROWS // register_tiles)

    @property
    def fetched_row(self) -> int:
        """Bytes that the next row of A's fetch begins further on."""
        return self._lines_fetched * LINE_BYTES // self.blocking.schedule.mr

    @property
    def fetched_lines(self) -> tuple[int, ...]:
        """Byte offsets in the panel of the lines that a step fetches."""
        return tuple(
            column * self.tiled_b.column_bytes + line * LINE_BYTES
            for column in range(0, self.blocking.schedule.nr, TILE_ROWS)
            for line in range(self._lines_fetched)
        )
