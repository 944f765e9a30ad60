"""Plan of matmul_inner.ll.j2: inner products of operands that are contiguous along K.

Vectors run along K, so no operand needs packing. Each accumulator is a vector whose elements are
added at the end. Memory bandwidth limits a skinny GEMM of this kind: its time is that of reading
the larger operand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import InnerMatmul
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import (
    Buffer,
    Run,
    access,
    check_multiple,
    check_registers,
)
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels.blis import PAIR, has_pairs
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.kernels.inner_operands import (
    BlocksOfB,
    TransposedB,
    is_inner,
    k_of_step,
    may_transpose_b,
    tile_registers,
    vector_along,
)
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.panel import PanelFormat
from kgen.targets.cpu.plan.tiles.dots import DotOperands, dot_for, takes_words
from kgen.targets.cpu.plan.tiles.folds import FoldedSums, folds
from kgen.targets.cpu.plan.tiles.panels import PanelPacking
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, RegisterTiles, Row, Sum
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan, TileLoop
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart
from kgen_runtime.values import frozen


@frozen
class InnerPlan(TiledPlan):
    schedule: InnerMatmul
    #: Accesses to A and to B along K: the stored type and the multiplied type.
    along: Access
    along_b: Access
    #: Vector type of a tile's accumulators.
    sums: Vector

    @cached_property
    def blocks(self) -> BlocksOfB | None:
        if not self.spec.has_blocks:
            return None
        narrowest = Vector(count=4, scalar="float")
        return BlocksOfB(sums=self.sums, scale=access(self.target, DType.F16, narrowest))

    @cached_property
    def transposed(self) -> TransposedB | None:
        """Transpose of a skinny B (small N) before the tiles; None without pack_b."""
        if not self.schedule.pack_b:
            return None
        return TransposedB(
            spec=self.spec,
            sums=self.sums,
            format=self.b_format,
            is_prepacked=self.b_is_packed,
            strides=self.tensors.b_strides,
        )

    @property
    def b_format(self) -> PanelFormat:
        depth = PAIR if has_pairs(self.spec) else 1
        width = COLUMNS if self.dot else self.compute.count
        return PanelFormat(width=width, depth=depth, k_unit=depth)

    @cached_property
    def packing(self) -> PanelPacking:
        """Packing of B: a transpose of all of B with pack_b, otherwise none."""
        return PanelPacking(blocking=self.blocking, packs=False, transposes=self.schedule.pack_b)

    @cached_property
    def dots(self) -> DotOperands | None:
        if self.dot is None:
            return None
        return DotOperands(dot=self.dot, sums=self.sums, stored=self.along.stored)

    @property
    def words(self) -> Vector | None:
        """Vector of 32-bit words, each two bf16 along K, or None if bf16 is not read in pairs."""
        return self.sums.integers if takes_words(self.spec, self.target) else None

    @cached_property
    def starts(self) -> Starts | None:
        return self.starts_along(self.schedule.kc, self.along, self.sums, self.loop.a_tiles)

    @property
    def is_direct(self) -> bool:
        return False

    def operand_buffers(self) -> tuple[Buffer, ...]:
        return tuple(part.buffer for part in (self.starts, self.transposed) if part)

    @property
    def notes(self) -> tuple[str, ...]:
        vector = (
            f"inner products: vectors of {self.k_steps.vector} along K, which is contiguous in A"
        )
        if self.transposed:
            return (
                f"{vector}; a task transposes B into scratch memory, then computes mc rows of out "
                "in mr x nr tiles",
            )
        return (
            f"{vector} and B; a task computes an mc x nc block of out in mr x nr tiles; the nr "
            "columns of B are distant, each a stream of its own that continues in the next tile",
            *((self.starts.note,) if self.starts else ()),
        )

    @property
    def streams_b(self) -> bool:
        """Whether blocks stream B: never, because tiles prefetch by themselves."""
        return False

    @property
    def fetches(self) -> bool:
        return self.blocking.k.is_split or self.next_rows > 0

    @property
    def spread(self) -> str:
        """Distance of a tile's columns, each of which begins one of nr parts of the block."""
        return self.blocking.n.operand("%spread", self.blocking.n.first // self.schedule.nr)

    @property
    def next_offsets(self) -> tuple[int, ...]:
        """Prefetch distances in B in bytes, from a tile's columns, in the same block of K. There is
        at most one distance if several tiles share a panel."""
        once = self.blocking.has_row_tiles
        tiles = min(self.schedule.prefetch, 1) if once else self.schedule.prefetch
        offsets = ((i + 1) * self.loop.b_column for i in range(tiles))
        return tuple(offset for offset in offsets if self.reaches(ConstantOperand.B, offset))

    @property
    def next_rows(self) -> int:
        """Prefetch distance in A, in tiles of rows; 0 unless A is the larger operand."""
        down = self.spec.m > self.spec.n or self.schedule.pack_b
        tiles = self.schedule.prefetch
        is_inside = self.reaches("a", tiles * self.schedule.mr * self.loop.a_m)
        return tiles if down and is_inside and not self.blocking.k.is_split else 0

    def next_row(self, row: Row) -> int:
        """Return the bytes from a tile's corner in A to the row that is prefetched with `row`."""
        return row.a + self.next_rows * self.schedule.mr * self.loop.a_m

    def tile_spread(self, tile: RegisterTile) -> str:
        """Return the distance of a tile's columns; the remaining columns at the right are
        adjacent."""
        return self.spread if tile.width == self.schedule.nr else "1"

    @property
    def scratch_row(self) -> int:
        return -(-self.schedule.nc // self.compute.count) * self.sum_vector.bytes

    @cached_property
    def k_steps(self) -> Run:
        """Loop over K in a block, by vectors or by quantisation blocks of B. Each vector of a step
        has its own accumulators."""
        vector = k_of_step(self.spec, self.target)
        return Run(length=self.schedule.kc, vector=vector, unroll=self.schedule.unroll)

    @cached_property
    def loop(self) -> TileLoop:
        _, row, column = self.tensors.b_strides
        _, a_m, a_k = self.tensors.a_strides
        loop = self.tile_loop(
            a_m=a_m,
            a_k=a_k,
            b_row=row,
            b_step=self.compute.count * column,
            steps=str(self.k_steps.unrolled),
            step=self.k_steps.step,
        )
        if self.transposed is None:
            return loop
        return dataclasses.replace(loop, b_block="%b.pack", b_column=self.transposed.column)

    @cached_property
    def tiles(self) -> RegisterTiles:
        """Register tiles whose columns are single; each result is one element of the block of
        accumulators."""
        return RegisterTiles(
            blocking=self.blocking,
            lanes=1,
            a_stride=self.loop.a_m,
            b_step=self.loop.b_column,
            out_strides=(self.acc.row, self.acc.vector.itemsize),
        )

    def sum_names(self, tile: RegisterTile) -> tuple[str, ...]:
        vectors = self.k_steps.step_vectors
        return tuple(f"{name}_k{v.index}" for name in tile.sum_names for v in vectors)

    def last(self, sum_: Sum, vector: VectorPart) -> str:
        """Return the name of the last value of an accumulator, for one vector of a step."""
        rest = ".rest" if vector.index < len(self.k_steps.last_vectors) else ""
        return f"%{sum_.name}_k{vector.index}{rest}"

    def groups_of(self, tile: RegisterTile) -> tuple[FoldedSums, ...]:
        """Return the tile's accumulators in groups of one row and at most a vector's length."""
        return tuple(
            self._group(row, [s for s in tile.sums if s.row == row][at : at + self.sums.count])
            for row in tile.rows
            for at in range(0, len(tile.columns), self.sums.count)
        )

    def _group(self, row: Row, sums: Sequence[Sum]) -> FoldedSums:
        name = f"{sums[0].name}.all"
        first, *others = self.k_steps.step_vectors
        totals = [f"%{s.name}.{len(others)}" if others else self.last(s, first) for s in sums]
        return FoldedSums(
            name=name, row=row, sums=tuple(sums), folds=folds(f"%{name}", totals, self.sums.count)
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        count = self.sums.count if self.spec.has_blocks else self.k_steps.vector
        if self.spec.k % count <= 1:
            return super().masked_accesses
        b = set() if self.spec.has_blocks else {self.along_b.stored}
        return super().masked_accesses | b | {self.along.stored}


def plan_inner(spec: Matmul, target: Target, schedule: InnerMatmul) -> InnerPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    check_operands(spec, target, schedule)
    along, sums = vector_along(spec, target)
    step = k_of_step(spec, target) * schedule.unroll
    if spec.accumulate.is_integer and dot_for(spec.dtype, target) is None:
        raise ScheduleError(
            f"mainloop=inner with dtype={spec.dtype} requires a dot-product instruction, which "
            f"{target.name} lacks; use a blocked main loop (blis or dot)"
        )
    cut = spec.k % schedule.kc == 0 and schedule.kc % step == 0
    cut &= not (spec.has_blocks or schedule.pack_b)
    if schedule.pack_a or not (schedule.kc == spec.k or cut):
        raise ScheduleError(
            f"pack_a={schedule.pack_a:d}, kc={schedule.kc}: mainloop=inner requires pack_a=0 and "
            f"kc={spec.k}, or with pack_b=0 and unscaled weights a kc that divides k={spec.k} and "
            f"is a multiple of {step}; try pack_a=0, kc={spec.k}"
        )
    compute = finishing_vector(spec, target, spec.n)
    plan = InnerPlan.of(
        spec,
        target,
        schedule,
        compute,
        mainloop="inner",
        along=along,
        along_b=access(target, spec.b_type, along.compute),
        sums=sums,
        dot=dot_for(spec.dtype, target),
    )
    if plan.blocking.n.blocks > 1:
        check_multiple(schedule, "nc", compute.count, "as several blocks of columns need")
    needed = tile_registers(spec, target, schedule.mr, schedule.nr, schedule.unroll)
    fields = f"mr={schedule.mr} with nr={schedule.nr} and unroll={schedule.unroll}"
    check_registers(target, needed, fields, "mr=1, nr=2, unroll=4")
    return plan


def check_operands(spec: Matmul, target: Target, schedule: InnerMatmul) -> None:
    """Raise ScheduleError unless vectors can read both operands along K."""
    if spec.has_blocks and schedule.pack_b:
        raise ScheduleError("pack_b=1 is not supported for a B of s4; try pack_b=0")
    if not schedule.pack_b and not is_inner(spec):
        raise ScheduleError(
            f"mainloop=inner with pack_b=0 requires A and B contiguous along k, not {spec.key}; "
            "use layout=nt without constant, or pack_b=1"
        )
    if schedule.pack_b and not may_transpose_b(spec, target):
        raise ScheduleError(
            "mainloop=inner with pack_b=1 requires a row-major B and an A contiguous along k, not "
            f"{spec.key}; use pack_b=0"
        )
    if schedule.pack_b and schedule.nc < spec.n:
        raise ScheduleError(
            f"nc={schedule.nc} is less than n={spec.n}; mainloop=inner with pack_b=1 transposes "
            f"all columns at once; try nc={spec.n}"
        )
