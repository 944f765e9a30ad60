"""Common part of matmul plans with register tiles: the loop over K, prefetches, accumulators."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, BlockedMatmul, CpuMatmul, DotMatmul, WinogradMatmul
from kgen.spec import ConstantOperand, Extent
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, check_registers
from kgen.targets.cpu.plan.matmul import MatmulPlan, padded
from kgen.targets.cpu.plan.packing.packed_windows import DepthInside
from kgen.targets.cpu.plan.tiles.panels import NextPart, PanelPacking, last_bytes
from kgen.targets.cpu.plan.tiles.tile import Column, RegisterTile, RegisterTiles
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen


@frozen
class TileLoop:
    """Pointers and strides of A and B in the current block of K, as register tiles read them.

    - `a_block` and `b_block` point to the block's corners in A and B, `a_tiles` to the A that tiles
      read, which may be packed.
    - Strides are in bytes. `a_m` and `a_k` lead to the next row and the next step of K in A.
      `b_row` leads to the next step of K in the B that tiles read, `b_in_rows` in the unpacked B.
      `b_column` and `b_step` lead to the next column and the next vector of columns in B.
    - The loop counts to `steps` by `step`; one step covers `depth` elements of K. Each tile counts
      to a number of its own if padding shortens its part of K (`inside`).
    """

    a_block: str
    b_block: str
    a_tiles: str
    a_m: int
    a_k: int
    b_row: int
    b_in_rows: int
    b_column: int
    b_step: int
    steps: str
    step: int = 1
    depth: int = 1
    inside: DepthInside | None = None

    @property
    def reads_rows(self) -> bool:
        """Whether tiles read windows in place, from the row of an image."""
        return self.a_tiles == IMAGE_ROW

    @property
    def tile_steps(self) -> str:
        """End of the loop in a tile."""
        return "%steps" if self.inside else self.steps

    @property
    def takes_steps(self) -> bool:
        """Whether the end of the loop is an argument of tiles."""
        return not self.tile_steps.isdigit()


#: Pointer to the row of an image whose windows a block multiplies.
IMAGE_ROW = "%a.row"
#: Schedules whose tiles may prefetch a prepacked B.
FETCHING = (AheadMatmul, DotMatmul, WinogradMatmul)
#: Bytes of an AVX-512 vector; AVX512VL has the same instructions for half of it.
AVX512_BYTES = 64


@frozen
class TiledPlan(MatmulPlan):
    """Plan of a matmul that computes register tiles of mr x nr in steps of K."""

    @property
    def is_direct(self) -> bool:
        """Whether the epilogue reads accumulators from registers; otherwise from scratch."""
        return not self.blocking.k.is_split

    @property
    def spread(self) -> str:
        """Number of columns from one column of a tile to the next; empty if they are adjacent."""
        return ""

    @cached_property
    def packing(self) -> PanelPacking:
        return PanelPacking(blocking=self.blocking, packs=False)

    def operand_buffers(self) -> tuple[Buffer, ...]:
        """Buffers other than the block of accumulators, in their order on the stack."""
        return ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        in_scratch = not (self.is_direct or self.acc.in_out)
        table = self.results.buffers if self.results else ()
        return (*self.operand_buffers(), *table, *((self.acc.buffer,) if in_scratch else ()))

    @property
    def keeps_a(self) -> bool:
        """Whether consecutive tasks share rows of A, which the first of them prepares for all."""
        prepared = self.schedule.pack_a or self.starts is not None
        along = self.blocking.n.is_split and not self.blocking.k.is_split
        return prepared and along and not self.packing.keeps

    @property
    def rows_are_fastest(self) -> bool:
        """Whether consecutive tasks have consecutive blocks of rows, because they share the part of
        B that the first of them prepares."""
        packing = self.packing
        return packing.keeps or (packing.transposes and self.blocking.m.is_split)

    # -- prefetches ----------------------------------------------------------------------------

    @property
    def streams_b(self) -> bool:
        """Whether tiles prefetch the next block of K of an unpacked B."""
        return self.blocking.k.is_split and not self.schedule.pack_b and not self.b_is_packed

    @cached_property
    def ahead(self) -> NextPart:
        schedule = self.schedule
        is_panel = isinstance(schedule, CpuMatmul) and schedule.prefetch_panel
        return NextPart(
            blocking=self.blocking,
            is_block=self.streams_b and not (is_panel or self.fetches_to_pack),
            is_panel=is_panel,
            k_depth=self.loop.depth,
            strides=self.tensors.b_strides,
            panel_vectors=self.b_is_packed * (schedule.nr // self.compute.count),
        )

    @property
    def rows_fetched(self) -> AheadMatmul | None:
        """Schedule with which tiles prefetch rows of an unpacked B; None without prefetch."""
        return None

    @property
    def fetches_to_pack(self) -> bool:
        """Whether tiles that read a packed panel prefetch rows of the next panel to pack."""
        once = self.blocking.has_row_tiles and not self.packing.keeps
        return isinstance(self.schedule, AheadMatmul) and self.packing.in_tiles and once

    def sum_lines(self, tile: RegisterTile) -> tuple[int, ...]:
        """Return the byte offset of each line of a tile's rows from its corner in the output."""
        lines = last_bytes(tile.width * self.spec.out.itemsize)
        return tuple(row.index * self.acc.row + line for row in tile.rows for line in lines)

    def lines_ahead(self, tile: RegisterTile) -> tuple[int, ...]:
        """Return the prefetch distance in bytes of each line, from a step's read of unpacked B."""
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
        """Return the prefetch distance in bytes of an unpacked B, for rows of `width` bytes."""
        return 0

    @property
    def fetches(self) -> bool:
        ahead = self.panels_ahead
        panels = ahead is not None and self.reaches(ConstantOperand.B, ahead.ahead)
        in_tiles = self.packing.in_tiles or panels or self.rows_fetched is not None
        return self.ahead.exists or in_tiles

    @property
    def panels_ahead(self) -> AheadMatmul | DotMatmul | WinogradMatmul | None:
        """Schedule with which tiles prefetch panels of a prepacked B; None without prefetch."""
        schedule = self.schedule
        if self.b_is_packed and isinstance(schedule, FETCHING) and schedule.ahead:
            return schedule
        return None

    def fetches_panel(self, tile: RegisterTile, column: Column) -> bool:
        """Return whether a tile prefetches panels of a prepacked B for a vector of columns."""
        first = 0 if tile.width == self.schedule.nr else self.spec.n - tile.width
        if self.panels_ahead is None:
            return False
        distance = first * self.tensors.b_strides[2] + column.b + self.panels_ahead.ahead
        return self.reaches(ConstantOperand.B, distance)

    @cached_property
    @abstractmethod
    def loop(self) -> TileLoop: ...

    def tile_loop(self, *, in_place: bool = False, depth: int = 1, **fields: Any) -> TileLoop:
        """Return the loop with pointers to the current block of A and B, and with B's strides. With
        `in_place`, tiles read windows from the row of an image."""
        a_block, b_block = self.tensors.a_origin.base, self.tensors.b_origin.base
        if self.blocking.k.is_split:
            a_block, b_block = "%a.k", "%b.k"
        return TileLoop(
            a_block=a_block,
            b_block=b_block,
            a_tiles=IMAGE_ROW if in_place else "%a.pack" if self.schedule.pack_a else a_block,
            b_in_rows=depth * self.tensors.b_strides[1],
            b_column=self.tensors.b_strides[2],
            depth=depth,
            **fields,
        )

    @property
    def arguments(self) -> dict[str, str]:
        """Tensors other than A and B that a register tile gets as arguments, and their pointers."""
        if not self.is_direct:
            return {"acc": self.acc.base}
        e, origins = self.epilogue, self.tensors.out_origins
        beside = (a.stem for a in (*e.by_column, *e.by_row, *e.numbers))
        found = {name: origins[name].base for name in (*self.tensors.out_like, *beside)}
        return found | ({"table": "%table"} if self.results and self.results.table else {})

    def argument_offset(self, tensor: str, prefix: str) -> str:
        """Return the byte offset of a tile's corner from the block's corner in a tensor."""
        extents = {a.stem: a.extent for a in self.epilogue.arguments if a.extent != Extent.FULL}
        if tensor == "table" or extents.get(tensor) == Extent.ONE:
            return "0"
        return f"%{prefix}.{tensor}.offset" if tensor in extents else f"%{prefix}.corner"

    # -- register tiles and their sums ---------------------------------------------------------

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
            out_strides=direct if self.is_direct else (self.acc.row, self.acc.vector.bytes),
            has_halves=self.has_halves,
        )

    @property
    def scratch_row(self) -> int:
        row = super().scratch_row
        return padded(row) if self.streams_b and not self.schedule.pack_b else row

    def unpacked(self, column: Column) -> int:
        """Return the byte offset of a column in a row of unpacked B."""
        return column.first * self.tensors.b_strides[2]

    @property
    def has_halves(self) -> bool:
        """Whether half vectors are computed as such: AVX-512 has instructions for both widths."""
        return self.sum_vector.bytes == AVX512_BYTES and not self.acc.vector.is_integer

    @property
    def sums_initial(self) -> str:
        """Start value of all accumulators; empty if their start values differ."""
        return "" if self.sums_are_loaded or self.starts else "zeroinitializer"

    @property
    def sums_are_loaded(self) -> bool:
        """Whether a tile starts from the partial sums that earlier blocks of K left in scratch."""
        return self.blocking.k.is_split and not self.acc.in_out

    def has_two_sums(self, tile: RegisterTile) -> bool:
        """Return whether each result has two accumulators, so that multiply-adds wait less."""
        return False

    def two_sums(self, tile: RegisterTile) -> tuple[tuple[str, str, str], ...]:
        """Return the names, first values and next values of both accumulators of each result."""
        return tuple(
            (f"%{x}.k{i}", first, f"%{x}.k{i}.next")
            for x in tile.sum_names
            for i, first in enumerate((self.sums_initial or f"%{x}.start", "zeroinitializer"))
        )


def check_keeps_b(plan: TiledPlan) -> None:
    """Raise ScheduleError for keep_b=1 if no later task can reuse a packed panel of B."""
    spec, schedule, blocking = plan.spec, plan.schedule, plan.blocking
    reused = schedule.pack_b and blocking.m.is_split and not blocking.k.is_split
    if plan.packing.keeps and not (reused and not (schedule.pack_a and blocking.n.is_split)):
        raise ScheduleError(
            f"keep_b=1 requires pack_b=1, kc={spec.k} or more, mc below {spec.m}, and pack_a=0 or "
            f"nc={spec.n} or more; kc={schedule.kc}, mc={schedule.mc}, nc={schedule.nc}, "
            f"pack_a={schedule.pack_a:d}, pack_b={schedule.pack_b:d}; try keep_b=0"
        )


def check_tile(target: Target, schedule: BlockedMatmul, compute: Vector, extra: int = 0) -> None:
    """Raise ScheduleError unless the registers hold a tile and `extra` vectors."""
    vectors = schedule.nr // compute.count
    needed = registers_needed(schedule.mr, vectors) + extra
    remedy = f"mr={tallest_tile(target, vectors, extra)}"
    check_registers(target, needed, f"mr={schedule.mr} with nr={schedule.nr}", remedy)


def tallest_tile(target: Target, vectors: int, extra: int) -> int:
    """Return the most rows of a tile of `vectors` that the registers hold."""
    return max((target.limits["vector_registers"] - 2 - extra) // vectors - 1, 1)


def registers_needed(rows: int, vectors: int) -> int:
    """Return the registers of a tile: accumulators, a row of B, an element of A, one for LLVM."""
    return rows * vectors + vectors + 2
