"""How A and B get into the order in which AMX tiles are loaded.

B, in any case, unless it comes so: [n/16][k/32] tiles of 1 KB, 16 rows of 16 pairs (k, k + 1) each;
bytes in groups of four, [n/16][k/64]. Where nothing of B is cut, each step of a register tile packs
a part of what is multiplied next, beside the products, in two buffers by turns. Else a task that
has all rows packs B itself; where several tasks share it a launch before them packs it for all, in
bands that pass over whole rows of B.

A may be multiplied where it lies. Where the rows of a tile would meet in the sets of a cache, it is
copied: tile by tile, as the first panel of B is multiplied. A transposed A, the windows of a
convolution, and an A whose K is no whole number of tiles are packed row by row before that.
"""

from __future__ import annotations

import math

from kgen.schedule import BlockedMatmul
from kgen.spec import Matmul
from kgen.targets.cpu.plan.amx.tiles import ROW_BYTES, TILE_BYTES, TILE_ROWS, TileColumn, TileRow
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.groups import GroupsOfB, RunsOfA, rounded
from kgen.targets.cpu.plan.packing.packed_windows import are_windows
from kgen.targets.cpu.plan.packing.panel import Stage, transpose_stages
from kgen_runtime.values import frozen


@frozen
class GroupOfRows:
    """`depth` rows of B from byte offset `start` in a band; `to` is that of the group in a tile."""

    start: int
    to: int
    depth: int


@frozen
class TilesOfA:
    """Addresses of the tiles of a register tile's rows: bytes from one row of a tile to the next,
    and from one step of k to the next."""

    pointer: str
    row: int
    step: int

    def at(self, tile: TileRow) -> int:
        """Bytes to a tile."""
        return tile.row * self.row


@frozen
class TiledA:
    """A as AMX tiles are loaded from it: in place, copied tile by tile, or packed row by row.

    `runs` packs rows; a row of A is `row_stride` bytes from the next, and `base` points to the
    block's corner.
    """

    blocking: Blocking
    runs: RunsOfA
    row_stride: int
    base: str
    k_steps: int

    @property
    def must_pack(self) -> bool:
        """Tiles cannot be loaded from A."""
        windows = are_windows(self.blocking.spec)
        return windows or self.runs.is_gathered or self.runs.k_tail > 0

    @property
    def copies(self) -> bool:
        """Tile by tile, as they are loaded for the first panel of B."""
        return self.blocking.schedule.pack_a and not self.must_pack

    @property
    def packs(self) -> bool:
        """Row by row, first of all."""
        return self.blocking.schedule.pack_a and self.must_pack

    @property
    def is_kept(self) -> bool:
        """Whether the packed or copied part of A serves all tasks with these rows in a call."""
        return self.blocking.schedule.pack_a and self.blocking.splits_n

    @property
    def copy_row(self) -> int:
        return self.k_steps * ROW_BYTES

    @property
    def bytes(self) -> int:
        row = self.runs.pack_row if self.packs else self.copy_row
        return self.blocking.schedule.pack_a * self.blocking.schedule.mc * row

    @property
    def source(self) -> str:
        """Name of the pointer from which tiles are loaded at first."""
        return "%a.pack" if self.packs else self.base

    @property
    def given(self) -> TilesOfA:
        """Addresses of the tiles in A or its pack, for the register tile at %i."""
        row = self.runs.pack_row if self.packs else self.row_stride
        return TilesOfA(pointer="%i.a", row=row, step=ROW_BYTES)

    @property
    def copied(self) -> TilesOfA:
        """Addresses of the tiles in the copies: the tiles of a step, one below the other."""
        step = self.blocking.schedule.mr * ROW_BYTES
        return TilesOfA(pointer="%i.copy", row=ROW_BYTES, step=step)


def column_unit(spec: Matmul, schedule: BlockedMatmul) -> int:
    """Return the unit that the columns of B in tiles are rounded up to.

    A prepacked B has pairs of tiles, because kernels of one and of two columns of tiles share it.
    """
    return math.lcm(2 * TILE_ROWS, schedule.nr) if spec.constant else schedule.nr


@frozen
class TiledB:
    """B in the order of AMX tiles; `k_steps` tiles along K. `band_groups` groups of rows are packed
    in one pass over the columns."""

    groups: GroupsOfB
    k_steps: int
    band_groups: int

    @property
    def column_bytes(self) -> int:
        return self.k_steps * ROW_BYTES

    @property
    def panel_bytes(self) -> int:
        """Bytes of the columns that are multiplied together."""
        return self.groups.blocking.schedule.nr * self.column_bytes

    @property
    def panels(self) -> int:
        """Columns of tiles."""
        blocking = self.groups.blocking
        return rounded(blocking.spec.n, column_unit(blocking.spec, blocking.schedule)) // TILE_ROWS

    @property
    def matrix_bytes(self) -> int:
        return self.panels * self.k_steps * TILE_BYTES

    @property
    def batches(self) -> int:
        """Matrices B that differ."""
        spec = self.groups.blocking.spec
        return spec.batch if any(spec.batch_strides("b")) else 1

    @property
    def bands(self) -> int:
        """Tasks of packing: steps along K; where K lies side by side in B, columns of tiles."""
        return self.panels if self.groups.is_gathered else self.k_steps

    @property
    def band_stride(self) -> int:
        """Bytes in B from a band to the next."""
        return (
            TILE_ROWS * self.groups.column_stride
            if self.groups.is_gathered
            else self.groups.k_unit * self.groups.k_stride
        )

    @property
    def band_to(self) -> int:
        return TILE_ROWS * self.column_bytes if self.groups.is_gathered else TILE_BYTES

    @property
    def chunk(self) -> tuple[GroupOfRows, ...]:
        return tuple(self._group(i, self.groups.group) for i in range(self.band_groups))

    @property
    def last_chunk(self) -> tuple[GroupOfRows, ...]:
        """Groups of the last band if K ends in it; some are cut, or beyond K."""
        tail, group = self.groups.blocking.spec.k % self.groups.k_unit, self.groups.group
        depths = (min(max(tail - i * group, 0), group) for i in range(TILE_ROWS))
        return tuple(self._group(i, depth) for i, depth in enumerate(depths))

    def _group(self, index: int, depth: int) -> GroupOfRows:
        return GroupOfRows(
            start=index * self.groups.group_stride, to=index * ROW_BYTES, depth=depth
        )

    @property
    def columns_of_tiles(self) -> int:
        """Columns in whole tiles."""
        return self.groups.blocking.spec.n - self.columns_left

    @property
    def columns_left(self) -> int:
        """Columns of the last, partly filled tile; 0 if it is full."""
        return self.groups.blocking.spec.n % TILE_ROWS

    @property
    def columns_beyond(self) -> int:
        """First column of tiles without columns; the number of columns in tiles if there are
        none."""
        return rounded(self.groups.blocking.spec.n, TILE_ROWS)

    @property
    def has_columns_beyond(self) -> bool:
        return self.columns_beyond < self.tiled_columns

    @property
    def tiled_columns(self) -> int:
        return self.panels * TILE_ROWS

    @property
    def depth_of_tiles(self) -> int:
        """Tiles along K that are whole."""
        return self.groups.blocking.spec.k // self.groups.k_unit

    def column_starts(self, columns: int) -> tuple[int | None, ...]:
        """Bytes in B from the first column of a tile to each; None for columns past N."""
        starts = (i * self.groups.column_stride for i in range(TILE_ROWS))
        return tuple(start if i < columns else None for i, start in enumerate(starts))

    @property
    def tile_row_starts(self) -> range:
        """Bytes in a tile to each of its rows."""
        return range(0, TILE_BYTES, ROW_BYTES)

    @property
    def transpose_stages(self) -> tuple[Stage, ...]:
        return transpose_stages(TILE_ROWS)


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
