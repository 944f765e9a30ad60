"""How A and B get into the order in which AMX tiles are loaded.

B, in any case, unless it comes so: [n/16][k/32] tiles of 1 KB, 16 rows of 16 pairs (k, k + 1) each;
bytes in groups of four, [n/16][k/64]. Where nothing of B is cut, each step of a register tile packs
a part of what is multiplied next, beside the products, in two buffers by turns. Else a task that
has all rows packs B itself; where several tasks share it a launch before them packs it for all, in
bands that pass over whole rows of B.

A may be multiplied where it lies. Where the rows of a tile would meet in the sets of a cache, it is
copied: tile by tile, as the first panel of B is multiplied. A transposed A, and one whose K is no
whole number of tiles, is packed row by row before that.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from kgen.targets.cpu.plan.amx.tiles import ROW_BYTES, TILE_BYTES, TILE_ROWS, TileRow
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.packing.groups import GroupsOfB, RunsOfA, rounded
from kgen.targets.cpu.plan.packing.panel import Stage, transpose_stages
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Groups of rows of B that are packed in one pass over its columns: what is written of a tile at a
#: time is whole lines, and what is read few enough streams (1024 x 1024 on Zen 4: eight groups take
#: 8 cycles a line, one 11, sixteen 11).
BAND_GROUPS = 8


@frozen
class Group:
    """`depth` rows of B from byte offset `start` in a band; `to` is that of the group in a tile."""

    start: int
    to: int
    depth: int


@frozen
class TilesOfA:
    """Where the tiles of a register tile's rows are loaded from: bytes from a row of a tile to the
    next, and from a step of k to the next."""

    pointer: str
    row: int
    step: int

    def at(self, tile: TileRow) -> int:
        """Bytes to a tile."""
        return tile.row * self.row


@frozen
class TilePackingPlan(MatmulPlan):
    #: Elements of K in a group.
    group: int
    #: A vector's columns of a row of B, and K of a run of A.
    row: Access
    run: Access

    @cached_property
    def a_runs(self) -> RunsOfA:
        return RunsOfA(
            blocking=self.whole_depth,
            run=self.run,
            packed=self.run.stored,
            k_stride=self.tensors.a_strides[2],
        )

    @cached_property
    def b_groups(self) -> GroupsOfB:
        _, k_stride, column_stride = self.tensors.b_strides
        return GroupsOfB(
            blocking=self.blocking,
            group=self.group,
            row=self.row,
            k_unit=self.b_format.k_unit,
            is_prepacked=self.b_is_packed,
            k_stride=k_stride,
            column_stride=column_stride,
        )

    @property
    def whole_depth(self) -> Blocking:
        """Extents with K in one block, as A is packed."""
        schedule = replace(self.schedule, kc=self.k_steps * self.run.compute.count)
        return replace(self.blocking, schedule=schedule)

    @property
    def b_format(self) -> PanelFormat:
        return PanelFormat(
            width=self.row.compute.count,
            depth=self.group,
            k_unit=self.run.compute.count,
            n_unit=self.schedule.nr,
        )

    @property
    def k_steps(self) -> int:
        """Tiles along K."""
        return -(-self.spec.k // self.run.compute.count)

    # -- A --------------------------------------------------------------------------------------

    @property
    def must_pack_a(self) -> bool:
        """Tiles cannot be loaded from A."""
        return self.a_runs.is_gathered or self.a_runs.k_tail > 0

    @property
    def copies_a(self) -> bool:
        """Tile by tile, as they are loaded for the first panel of B."""
        return self.schedule.pack_a and not self.must_pack_a

    @property
    def packs_a(self) -> bool:
        """Row by row, first of all."""
        return self.schedule.pack_a and self.must_pack_a

    @property
    def keeps_a(self) -> bool:
        """What is packed or copied of A is for all tasks with these rows that a call does."""
        return self.schedule.pack_a and self.blocking.splits_n

    @property
    def a_copy_row(self) -> int:
        """Bytes of a row in tiles."""
        return self.k_steps * ROW_BYTES

    @property
    def a_copy_bytes(self) -> int:
        """Of a task's rows."""
        row = self.a_runs.pack_row if self.packs_a else self.a_copy_row
        return self.schedule.pack_a * self.schedule.mc * row

    @property
    def a_source(self) -> str:
        """What tiles are loaded from, at first."""
        return "%a.pack" if self.packs_a else self.tensors.a_origin.base

    @property
    def given_a(self) -> TilesOfA:
        """From there; of the register tile at %i."""
        row = self.a_runs.pack_row if self.packs_a else self.tensors.a_strides[1]
        return TilesOfA(pointer="%i.a", row=row, step=ROW_BYTES)

    @property
    def copied_a(self) -> TilesOfA:
        """From the copies: the tiles of a step, one below the other."""
        return TilesOfA(pointer="%i.copy", row=ROW_BYTES, step=self.schedule.mr * ROW_BYTES)

    # -- B --------------------------------------------------------------------------------------

    @property
    def packs_b(self) -> bool:
        return not self.b_is_packed

    @property
    def column_bytes(self) -> int:
        """Of a column in tiles."""
        return self.k_steps * ROW_BYTES

    @property
    def panel_bytes(self) -> int:
        """Of the columns that are multiplied together."""
        return self.schedule.nr * self.column_bytes

    @property
    def panels(self) -> int:
        """Columns of tiles."""
        return rounded(self.spec.n, self.schedule.nr) // TILE_ROWS

    @property
    def packed_matrix_bytes(self) -> int:
        return self.panels * self.k_steps * TILE_BYTES

    @property
    def packed_batches(self) -> int:
        """Matrices B that differ."""
        return self.spec.batch if any(self.spec.batch_strides("b")) else 1

    @property
    def packed_batch_bytes(self) -> int:
        """From a batch's packed B to the next."""
        return self.packed_matrix_bytes if self.packed_batches > 1 else 0

    @property
    def bands(self) -> int:
        """Tasks of packing: steps along K; where K lies side by side in B, columns of tiles."""
        return self.panels if self.b_groups.is_gathered else self.k_steps

    @property
    def band_stride(self) -> int:
        """Bytes in B from a band to the next."""
        return (
            TILE_ROWS * self.tensors.b_strides[2]
            if self.b_groups.is_gathered
            else self.a_runs.run_k * self.tensors.b_strides[1]
        )

    @property
    def band_to(self) -> int:
        """The same in tiles."""
        return TILE_ROWS * self.column_bytes if self.b_groups.is_gathered else TILE_BYTES

    @property
    def chunk_groups(self) -> int:
        """Groups that are packed in one pass."""
        return BAND_GROUPS

    @property
    def chunk(self) -> tuple[Group, ...]:
        return tuple(self._group(i, self.group) for i in range(BAND_GROUPS))

    @property
    def last_chunk(self) -> tuple[Group, ...]:
        """All groups of the last band, if K ends in it; some are cut, or beyond K."""
        depths = (
            min(max(self.a_runs.k_tail - i * self.group, 0), self.group) for i in range(TILE_ROWS)
        )
        return tuple(self._group(i, depth) for i, depth in enumerate(depths))

    def _group(self, index: int, depth: int) -> Group:
        return Group(start=index * self.b_groups.group_stride, to=index * ROW_BYTES, depth=depth)

    @property
    def columns_of_tiles(self) -> int:
        """Columns in whole tiles."""
        return self.spec.n - self.columns_left

    @property
    def columns_left(self) -> int:
        """Of the last tile that has any, if they do not fill it."""
        return self.spec.n % TILE_ROWS

    @property
    def columns_beyond(self) -> int:
        """Where tiles without columns begin; as many as there are columns of tiles, if none."""
        return rounded(self.spec.n, TILE_ROWS)

    @property
    def has_columns_beyond(self) -> bool:
        return self.columns_beyond < self.tiled_columns

    @property
    def tiled_columns(self) -> int:
        """Columns of all tiles."""
        return self.panels * TILE_ROWS

    @property
    def depth_of_tiles(self) -> int:
        """Tiles along K that are whole."""
        return self.spec.k // self.a_runs.run_k

    @property
    def column_starts(self) -> tuple[int, ...]:
        """Bytes in B from the first column of a tile to each."""
        return tuple(i * self.tensors.b_strides[2] for i in range(TILE_ROWS))

    @property
    def tile_row_starts(self) -> range:
        """Bytes in a tile to each of its rows."""
        return range(0, TILE_BYTES, ROW_BYTES)

    @property
    def transpose_stages(self) -> tuple[Stage, ...]:
        return transpose_stages(TILE_ROWS)

    @property
    def packing_masked_types(self) -> set[Vector]:
        """Vectors of what is packed that are masked somewhere."""
        types = set()
        cut_b = self.packs_b and self.b_groups.is_gathered
        if self.a_runs.k_tail > 1 and (cut_b or (self.packs_a and not self.a_runs.is_gathered)):
            types.add(self.a_runs.run.stored)
        if self.columns_left > 1 and self.packs_b and not self.b_groups.is_gathered:
            types.add(self.b_groups.row.stored)
        return types
