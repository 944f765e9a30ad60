"""What products in vector registers share: tiles of sums, written to out as they are finished."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, BlockedMatmul
from kgen.spec import ConstantOperand
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, locality
from kgen.targets.cpu.plan.matmul import MatmulPlan, padded
from kgen.targets.cpu.plan.tiles.next_part import NextPart
from kgen.targets.cpu.plan.tiles.register_tiles import RegisterTiles
from kgen.targets.cpu.plan.tiles.tile import Column, Tile
from kgen.targets.cpu.plan.tiles.tile_loop import PanelBuffer, PanelsAhead, TileArguments, TileLoop
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

#: Prefetch distance, in steps of K, of a tile that packs rows of B, which are too short for the
#: hardware prefetcher.
PACKING_AHEAD = 8
#: Prefetch distance if a step is one k and the tile's part of a row is a single line.
PACKING_AHEAD_NARROW = 32


#: Of the widest vectors, whose instructions have forms for the halves (AVX512VL).
AVX512_BYTES = 64


@frozen
class TiledPlan(MatmulPlan):
    """Steps of K over register tiles of mr x nr."""

    @property
    def is_direct(self) -> bool:
        """Sums go from registers through the epilogue to out, and never to scratch."""
        return not self.blocking.k_blocked

    @property
    def spreads_columns(self) -> bool:
        """The columns of a tile are not side by side."""
        return False

    @property
    def panels_stop(self) -> str:
        """Where the first columns of whole panels end."""
        return self.blocking.panels_whole

    @property
    def panels_step(self) -> int:
        """From the first column of one to that of the next."""
        return self.schedule.nr

    @property
    def streams_b(self) -> bool:
        """Tiles prefetch a block of K of an unpacked B while they multiply the one before."""
        return self.blocking.k_blocked and not self.schedule.pack_b and not self.b_is_packed

    @property
    def fetches_next_panel(self) -> bool:
        """Tiles prefetch the next panel of B."""
        return False

    @cached_property
    def ahead(self) -> NextPart:
        is_panel = self.fetches_next_panel
        _, k_stride, column_stride = self.tensors.b_strides
        return NextPart(
            blocking=self.blocking,
            is_block=self.streams_b and not (is_panel or self.fetches_to_pack),
            is_panel=is_panel,
            k_depth=self.loop.depth,
            k_stride=k_stride,
            column_stride=column_stride,
            panel_vectors=self.b_is_packed * (self.schedule.nr // self.compute.count),
        )

    @property
    def scratch_row(self) -> int:
        row = super().scratch_row
        return padded(row) if self.streams_b and not self.schedule.pack_b else row

    @property
    def packs_a(self) -> bool:
        return self.schedule.pack_a

    @property
    def a_pack_bytes(self) -> int:
        """Bytes of the packed block of A."""
        return 0

    @property
    def packs_b(self) -> bool:
        return self.schedule.pack_b

    @property
    def transposes_b(self) -> bool:
        """All of it is transposed before the tiles, not panel by panel."""
        return False

    @property
    def b_column(self) -> int:
        """Bytes of B, as panels are taken from it, from one column to the next."""
        return self.tensors.b_strides[2]

    # -- what stays packed from one task to the next -------------------------------------------

    @property
    def keeps_b(self) -> bool:
        """Tasks of the same columns follow each other, and the first of them packs B for all."""
        reused = self.packs_b and self.blocking.splits_m and not self.blocking.k_blocked
        panels = self.schedule.nc // self.schedule.nr
        room = self.target.limits["stack_bytes"] - self.scratch_besides_b
        fits = panels * self.b_panel_bytes <= room
        return reused and not (self.packs_a and self.blocking.splits_n) and fits

    @property
    def keeps_a(self) -> bool:
        """Tasks of the same rows follow each other, and the first of them prepares A for all."""
        prepared = self.packs_a or self.starts is not None
        return (
            prepared and self.blocking.splits_n and not self.blocking.k_blocked and not self.keeps_b
        )

    @property
    def rows_are_fastest(self) -> bool:
        return self.keeps_b

    @property
    def packs_in_tiles(self) -> bool:
        """The first tile of a panel packs it while it multiplies: shuffles and stores hide behind
        multiply-adds. Every block has such a tile, and B is row-major."""
        last_rows = self.spec.m - (self.blocking.blocks_m - 1) * self.schedule.mc
        return self.packs_b and self.b_rows_are_whole and last_rows >= self.schedule.mr

    @property
    def b_rows_are_whole(self) -> bool:
        """The columns of each step of K lie side by side in B, and only the very last is cut."""
        return False

    @property
    def fetches_rows(self) -> bool:
        """Tiles fetch the rows of B in place that they multiply some steps later."""
        return False

    @property
    def fetches_to_pack(self) -> bool:
        """Tiles that read a packed panel fetch rows of the one that is packed next."""
        once = self.blocking.row_tiles > 1 and not self.keeps_b
        return isinstance(self.schedule, AheadMatmul) and self.packs_in_tiles and once

    @property
    def pack_share(self) -> int:
        """Rows that each of them fetches."""
        return -(-min(self.schedule.kc, self.spec.k) // (self.blocking.row_tiles - 1))

    @property
    def fetches_sums(self) -> bool:
        """Tiles prefetch the sums in the output that they add to, before they multiply."""
        return self.fetches_to_pack and self.acc.in_out

    def sum_lines(self, tile: Tile) -> tuple[int, ...]:
        """Bytes from a tile's corner in out to each line of its rows."""
        lines = last_bytes(tile.width * self.spec.out.itemsize)
        return tuple(row.index * self.acc.row + line for row in tile.rows for line in lines)

    @property
    def pack_lines(self) -> tuple[int, ...]:
        """Bytes from where a row of a panel begins in B to each of its lines."""
        return last_bytes(self.schedule.nr * self.spec.b_type.itemsize)

    def lines_ahead(self, tile: Tile) -> tuple[int, ...]:
        """Return the bytes from what a step reads of an unpacked B to the lines that it fetches."""
        width = tile.width * self.spec.b_type.itemsize
        aligned = self.tensors.b_strides[1] % LINE_BYTES == 0
        last = () if aligned else (width - 1,)
        offsets = (
            self.rows_ahead(width) + row * self.tensors.b_strides[1] + line
            for row in range(self.loop.depth)
            for line in (*range(0, width, LINE_BYTES), *last)
        )
        return tuple(offset for offset in offsets if self.reaches(ConstantOperand.B, offset))

    def rows_ahead(self, width: int) -> int:
        """Bytes from the first row of B that a step reads, `width` bytes of it, to the first one
        that it fetches."""
        is_short = self.packs_in_tiles and self.loop.depth == 1 and width <= LINE_BYTES
        steps = PACKING_AHEAD_NARROW if is_short else PACKING_AHEAD
        return steps * self.loop.depth * self.tensors.b_strides[1]

    @property
    def rows_locality(self) -> int:
        """Of the cache that they are fetched into, as llvm.prefetch has it."""
        return locality(1)

    @property
    def fetches(self) -> bool:
        """Some tile fetches lines that are read later."""
        in_tiles = self.packs_in_tiles or self.fetches_panels or self.fetches_rows
        return self.ahead.exists or in_tiles

    @property
    def panels_ahead(self) -> PanelsAhead | None:
        """Prefetch of panels of a prepacked B."""
        return None

    @property
    def fetches_panels(self) -> bool:
        """Tiles prefetch what is read of packed panels later, if B has so much."""
        ahead = self.panels_ahead
        return ahead is not None and self.reaches(ConstantOperand.B, ahead.bytes)

    def fetches_panel(self, tile: Tile, column: Column) -> bool:
        """Each step of the tile prefetches for this vector of columns too. A narrower tile stands
        at the last columns of B."""
        first = 0 if tile.width == self.schedule.nr else self.spec.n - tile.width
        if self.panels_ahead is None:
            return False
        distance = first * self.tensors.b_strides[2] + column.b + self.panels_ahead.bytes
        return self.reaches(ConstantOperand.B, distance)

    @property
    def b_buffer(self) -> PanelBuffer:
        panels = self.schedule.nc // self.schedule.nr if self.keeps_b else 1
        return PanelBuffer(panel_bytes=self.b_panel_bytes, columns=self.schedule.nr, panels=panels)

    @property
    @abstractmethod
    def scratch_besides_b(self) -> int:
        """Bytes of the other buffers."""

    @property
    def scratch_bytes(self) -> int:
        return self.scratch_besides_b + self.packs_b * self.b_buffer.bytes

    # -- A and B of the current block of K, as the tiles read them -----------------------------

    @cached_property
    @abstractmethod
    def loop(self) -> TileLoop: ...

    def tile_loop(
        self, *, a: tuple[int, int], b_row: int, b_step: int, steps: str, step: int, depth: int
    ) -> TileLoop:
        """Return the loop; `a` is the bytes of A from one row, and one step of K, to the next."""
        a_block, b_block = self.tensors.a_origin.base, self.tensors.b_origin.base
        if self.blocking.k_blocked:
            a_block, b_block = "%a.k", "%b.k"
        return TileLoop(
            a_block=a_block,
            b_block=b_block,
            a_tiles="%a.pack" if self.packs_a else a_block,
            a_m=a[0],
            a_k=a[1],
            b_row=b_row,
            b_in_rows=depth * self.tensors.b_strides[1],
            b_step=b_step,
            steps=steps,
            step=step,
            depth=depth,
        )

    @property
    def arguments(self) -> TileArguments:
        return TileArguments(
            is_direct=self.is_direct,
            tensors=self.tensors,
            epilogue=self.epilogue,
            acc_base=self.acc.base,
        )

    # -- register tiles ------------------------------------------------------------------------

    @cached_property
    def tiles(self) -> RegisterTiles:
        """Tiles whose sums go to the output, or to the block of accumulators."""
        _, row, column = self.tensors.out_strides
        direct = (row, self.compute.count * column)
        return RegisterTiles(
            blocking=self.blocking,
            lanes=self.compute.count,
            a_stride=self.loop.a_m,
            b_step=self.loop.b_step,
            out_strides=direct if self.is_direct else (self.acc.row, self.acc.vector_bytes),
            has_halves=self.has_halves,
        )

    @property
    def packing_tiles(self) -> tuple[Tile, ...]:
        """Tiles that pack their panel."""
        return self.tiles.top if self.packs_in_tiles else ()

    def unpacked(self, column: Column) -> int:
        """Bytes in a row of B to a column."""
        return column.first * self.tensors.b_strides[2]

    @property
    def has_halves(self) -> bool:
        """Half a vector costs half: AVX-512 has instructions for both widths."""
        return self.sum_vector.bytes == AVX512_BYTES and not self.acc.is_integer

    @property
    def sums_initial(self) -> str:
        """The sums' first value, where it is the same for all."""
        return "" if self.sums_are_loaded or self.starts else "zeroinitializer"

    @property
    def sums_are_loaded(self) -> bool:
        """A tile starts from the sums of the blocks of K before, which scratch keeps."""
        return self.blocking.k_blocked and not self.acc.in_out

    def has_two_sums(self, tile: Tile) -> bool:
        """Each sum of a tile is that of two, whose multiply-adds need not wait for each other."""
        return False

    def two_sums(self, tile: Tile) -> tuple[tuple[str, str, str], ...]:
        """Both: names, first values and next ones."""
        return tuple(
            (f"%{x}.k{i}", first, f"%{x}.k{i}.next")
            for x in tile.sum_names
            for i, first in enumerate((self.sums_initial or f"%{x}.start", "zeroinitializer"))
        )


def last_bytes(width: int) -> tuple[int, ...]:
    """Of each line of so many bytes: the line that they begin in, what is before them has had."""
    return (*range(LINE_BYTES - 1, width - 1, LINE_BYTES), width - 1)


def check_registers(
    target: Target, schedule: BlockedMatmul, compute: Vector, extra: int = 0
) -> None:
    """The sums and what they are made of stay in vector registers, besides `extra` ones."""
    vectors = schedule.nr // compute.count
    needed = registers_needed(schedule.mr, vectors) + extra
    limit = target.limits["vector_registers"]
    if needed > limit:
        fits = max((limit - 2 - extra) // vectors - 1, 1)
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} vector registers; "
            f"{target.name} has {limit}; try mr={fits}"
        )


def registers_needed(rows: int, vectors: int) -> int:
    """Sums, a row of B, one broadcast element of A, and a spare one, without which LLVM spills."""
    return rows * vectors + vectors + 2
