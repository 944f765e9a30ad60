"""Packing of A and B for AMX tiles.

The kernel packs every B that is not prepacked. Packed B has [n/16][k/32] tiles of 1 KB, each with
16 rows of 16 pairs (k, k + 1); for bytes, [n/16][k/64] tiles with groups of four. If all tiles of B
are whole, each step of a register tile packs a part of the next panel, into one of two buffers in
turn. Otherwise a task with all rows packs B itself, or a separate launch packs B for several tasks,
in bands of whole rows of B.

A is read in place. If the rows of its tiles would have set conflicts, tiles are copied while the
first panel of B is multiplied. A transposed A, the windows of a convolution, and an A whose K is
not a multiple of a tile are packed row by row before the products.
"""

from __future__ import annotations

import math

from kgen.schedule import BlockedMatmul
from kgen.spec import Matmul
from kgen.targets.contraction.implicit_gemm import are_windows
from kgen.targets.cpu.plan.amx.tiles import (
    ROW_BYTES,
    TILE_BYTES,
    TILE_ROWS,
    TileColumn,
    TileRow,
    tile_k,
)
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.groups import GroupsOfB, rounded
from kgen.targets.cpu.plan.packing.packed_a import PackedA
from kgen.targets.cpu.plan.packing.panel import Stage, transpose_stages
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.values import frozen


@frozen
class GroupOfRows:
    """Group of `depth` rows of B: its byte offsets in a band, and `to` in a tile."""

    start: int
    to: int
    depth: int


@frozen
class TilesOfA:
    """Addresses of tiles of A: bytes from one row of a tile, and one step of K, to the next."""

    pointer: str
    row: int
    step: int

    def at(self, tile: TileRow) -> int:
        return tile.row * self.row


@frozen
class TiledA:
    """A as AMX tiles are loaded from it: in place, copied tile by tile, or packed row by row.
    `rows` packs rows; `base` points to the block's corner."""

    blocking: Blocking
    rows: PackedA
    base: str
    k_steps: int

    @property
    def copies(self) -> bool:
        """Whether tiles are copied as they are loaded for the first panel of B."""
        return self.blocking.schedule.pack_a and not must_pack_a(self.blocking.spec)

    @property
    def packs(self) -> bool:
        """Whether A is packed row by row before the products."""
        return self.blocking.schedule.pack_a and must_pack_a(self.blocking.spec)

    @property
    def is_kept(self) -> bool:
        """Whether all tasks of a call with the same rows share the packed or copied A."""
        return self.blocking.schedule.pack_a and self.blocking.n.is_split

    @property
    def copy_row(self) -> int:
        return self.k_steps * ROW_BYTES

    @property
    def bytes(self) -> int:
        row = self.rows.row if self.packs else self.copy_row
        return self.blocking.schedule.pack_a * self.blocking.schedule.mc * row

    @property
    def source(self) -> str:
        """Pointer to the A that tiles are loaded from: packed, or in place."""
        return "%a.pack" if self.packs else self.base

    @property
    def given(self) -> TilesOfA:
        """Addresses of the tiles in A or its pack, for the register tile at %i."""
        row = self.rows.row if self.packs else self.rows.strides[1]
        return TilesOfA(pointer="%i.a", row=row, step=ROW_BYTES)

    @property
    def copied(self) -> TilesOfA:
        """Addresses of the tiles in the copies, where a step has its tiles one after the other."""
        step = self.blocking.schedule.mr * ROW_BYTES
        return TilesOfA(pointer="%i.copy", row=ROW_BYTES, step=step)


def must_pack_a(spec: Matmul) -> bool:
    """Return whether tiles cannot be loaded from A in place."""
    return are_windows(spec) or spec.layout.a_transposed or spec.k % tile_k(spec.dtype) != 0


def column_unit(spec: Matmul, schedule: BlockedMatmul) -> int:
    """Return the unit of the columns of B in tiles: pairs of tiles if B is prepacked, because
    kernels of one and of two columns of tiles share it."""
    return math.lcm(2 * TILE_ROWS, schedule.nr) if spec.constant else schedule.nr


@frozen
class TiledB:
    """B in the order of AMX tiles, `k_steps` along K; a pass packs `band_groups` groups of rows."""

    groups: GroupsOfB
    k_steps: int
    band_groups: int

    @property
    def _spec(self) -> Matmul:
        return self.groups.blocking.spec

    @property
    def column_bytes(self) -> int:
        return self.k_steps * ROW_BYTES

    @property
    def panel_bytes(self) -> int:
        """Bytes of a panel: the columns that a register tile multiplies."""
        return self.groups.blocking.schedule.nr * self.column_bytes

    @property
    def panels(self) -> int:
        """Number of columns of tiles."""
        unit = column_unit(self._spec, self.groups.blocking.schedule)
        return rounded(self._spec.n, unit) // TILE_ROWS

    @property
    def matrix_bytes(self) -> int:
        return self.panels * self.k_steps * TILE_BYTES

    @property
    def batches(self) -> int:
        """Number of different matrices B in the batch."""
        return self._spec.batch if any(self._spec.batch_strides("b")) else 1

    @property
    def bands(self) -> int:
        """Steps along K; columns of tiles if K is contiguous in B."""
        return self.panels if self.groups.is_gathered else self.k_steps

    @property
    def band_stride(self) -> int:
        """Bytes in B from one band to the next."""
        groups = self.groups
        by_columns = TILE_ROWS * groups.column_stride
        return by_columns if groups.is_gathered else groups.k_unit * groups.k_stride

    @property
    def band_to(self) -> int:
        return TILE_ROWS * self.column_bytes if self.groups.is_gathered else TILE_BYTES

    @property
    def chunk(self) -> tuple[GroupOfRows, ...]:
        return self._groups(self.groups.k_unit)[: self.band_groups]

    @property
    def last_chunk(self) -> tuple[GroupOfRows, ...]:
        """Groups of the last band if K ends in it; some are cut, or beyond K."""
        return self._groups(self._spec.k % self.groups.k_unit)

    def _groups(self, rows: int) -> tuple[GroupOfRows, ...]:
        group, stride = self.groups.group, self.groups.group_stride
        depths = [min(max(rows - i * group, 0), group) for i in range(TILE_ROWS)]
        return tuple(
            GroupOfRows(start=i * stride, to=i * ROW_BYTES, depth=depth)
            for i, depth in enumerate(depths)
        )

    @property
    def columns_of_tiles(self) -> int:
        """Number of columns in whole tiles."""
        return self._spec.n - self.columns_left

    @property
    def columns_left(self) -> int:
        """Columns of the last, partly filled tile; 0 if it is full."""
        return self._spec.n % TILE_ROWS

    @property
    def columns_beyond(self) -> int:
        """First column of tiles without columns; all columns of tiles if there are none."""
        return rounded(self._spec.n, TILE_ROWS)

    @property
    def has_columns_beyond(self) -> bool:
        return self.columns_beyond < self.tiled_columns

    @property
    def tiled_columns(self) -> int:
        return self.panels * TILE_ROWS

    @property
    def depth_of_tiles(self) -> int:
        """Number of whole tiles along K."""
        return self._spec.k // self.groups.k_unit

    def column_starts(self, columns: int) -> tuple[int | None, ...]:
        """Return the bytes from a tile's first column of B to each; None for columns past N."""
        starts = (i * self.groups.column_stride for i in range(TILE_ROWS))
        return tuple(start if i < columns else None for i, start in enumerate(starts))

    @property
    def transpose_stages(self) -> tuple[Stage, ...]:
        return transpose_stages(TILE_ROWS)


@frozen
class NextPanel:
    """Next panel of B in a block of K, which tiles pack or prefetch while they multiply."""

    blocking: Blocking
    tiled_b: TiledB
    is_packed: bool

    @property
    def bytes(self) -> int:
        """Bytes of the part that is multiplied, and of the next one, which is packed meanwhile."""
        return 2 * self.part_bytes * self.is_packed

    @property
    def part_bytes(self) -> int:
        return self.blocking.schedule.nr * self._part_column

    @property
    def _part_column(self) -> int:
        return self.blocking.schedule.kc * self.blocking.spec.dtype.itemsize

    def tile_of_b(self, product: TileColumn) -> int:
        """Return the bytes to a product's tile of B."""
        return product.column * (self._part_column if self.is_packed else self.tiled_b.column_bytes)

    @property
    def shared_groups(self) -> int:
        """Groups that a register tile packs in each step: a power of two, at most TILE_ROWS."""
        return power_of_two(-(-TILE_ROWS // self.blocking.row_tiles))

    @property
    def _columns(self) -> range:
        return range(0, self.blocking.schedule.nr, TILE_ROWS)

    @property
    def panel_starts(self) -> tuple[tuple[int, int], ...]:
        """Byte offsets of a panel's columns of tiles: in B, and in a part."""
        apart = self.tiled_b.groups.column_stride
        return tuple((column * apart, column * self._part_column) for column in self._columns)

    @property
    def _lines_fetched(self) -> int:
        """Lines to prefetch per tile, divided among the rows of register tiles."""
        spec, schedule = self.blocking.spec, self.blocking.schedule
        return max(1, TILE_ROWS // (min(spec.m, schedule.mc) // schedule.mr))

    @property
    def fetched_row(self) -> int:
        """Bytes of the panel that each row of A prefetches per tile."""
        return self._lines_fetched * LINE_BYTES // self.blocking.schedule.mr

    @property
    def fetched_lines(self) -> tuple[int, ...]:
        """Byte offsets in the panel of the lines that a step prefetches."""
        starts = (column * self.tiled_b.column_bytes for column in self._columns)
        lines = range(0, self._lines_fetched * LINE_BYTES, LINE_BYTES)
        return tuple(start + line for start in starts for line in lines)
