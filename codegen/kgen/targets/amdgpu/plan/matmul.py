"""What the two main loops of a matmul share: the walk along K, the epilogue, the launch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.amdgpu.expressions import (
    DIVISION_ULPS,
    INEXACT,
    AmdgpuRenderer,
    exponentials,
    rounding,
)
from kgen.targets.amdgpu.plan.base import AmdgpuPlan
from kgen.targets.amdgpu.plan.staging import Staging
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.epilogue import ACCUMULATOR, Argument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen.targets.header import counted
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: One LDS tile, filled while nothing reads it, or two that take turns.
MAX_STAGES = 2


@frozen
class KLoop:
    """The walk along K, one tile ahead: tile i+1 is on its way while tile i is multiplied.

    ``prologue`` (tile 0), ``loop`` (tiles 1 .. full-1), ``tail`` (the partial tile, if it is not
    the only one), ``last`` (nothing left to load). Every step but the prologue multiplies the tile
    that the step before brought.
    """

    full: int
    rest: int
    stages: int

    @property
    def first_is_partial(self) -> bool:
        return self.full == 0

    @property
    def trips(self) -> int:
        """Times that the loop runs; without any there is no loop."""
        return max(0, self.full - 1)

    @property
    def has_loop(self) -> bool:
        return self.trips > 0

    @property
    def has_tail(self) -> bool:
        return self.rest > 0 and self.full > 0

    @property
    def double_buffered(self) -> bool:
        return self.stages > 1

    @property
    def behind_loop(self) -> str:
        """The step that follows the loop."""
        return "tail" if self.has_tail else "last"

    @property
    def behind_prologue(self) -> str:
        return "loop" if self.has_loop else self.behind_loop

    @property
    def tail_source(self) -> str | None:
        """The step whose accumulators the tail goes on with; None for zeros."""
        return "loop" if self.has_loop else None

    @property
    def last_source(self) -> str | None:
        return "tail" if self.has_tail else self.tail_source

    @property
    def tail_reads(self) -> int:
        """The LDS stage that the first step behind the loop reads."""
        return self.trips % self.stages

    @property
    def tail_fills(self) -> int:
        return (self.trips + 1) % self.stages

    @property
    def last_reads(self) -> int:
        return self.tail_fills if self.has_tail else self.tail_reads


@frozen
class EpiloguePlan:
    """From accumulators to memory: pieces of `value.lanes` neighbouring columns of one row."""

    spec: Matmul
    value: FloatType
    ragged_rows: bool
    ragged_columns: bool

    @property
    def out(self) -> FloatType:
        return FloatType(dtype=self.spec.out, lanes=self.value.lanes)

    @property
    def guarded(self) -> bool:
        return self.ragged_rows or self.ragged_columns

    @cached_property
    def fused(self) -> FusedEpilogue:
        return FusedEpilogue(spec=self.spec)

    def stored(self, argument: Argument) -> FloatType:
        """A piece of an argument as it lies in memory: of a number or a row's, one element."""
        lanes = self.value.lanes if argument.varies_along_n else 1
        return FloatType(dtype=argument.dtype, lanes=lanes)

    def wide(self, argument: Argument) -> FloatType:
        """The same in f32."""
        return dataclasses.replace(self.stored(argument), dtype=self.value.dtype)

    @property
    def row_stride(self) -> int:
        return self.spec.out_strides[1]

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return batch_terms(self.spec, "c")

    def finished(self, piece: str, row: str, column: str, accumulators: str) -> Rendered:
        """A piece through the epilogue. Names are those that the template gives to what depends on
        the piece, on its row and its column."""
        e = self.fused
        values = {
            ACCUMULATOR: accumulators,
            **{a.name: f"{piece}.{a.stem}" for a in e.full},
            **{a.name: f"{column}.{a.stem}" for a in e.by_column},
            **{a.name: f"{row}.{a.stem}" for a in e.by_row},
            **{a.name: f"%{a.stem}.all" for a in e.numbers},
        }
        return self._renderer.render(e.expression, values, f"{piece}.finished")

    @property
    def _renderer(self) -> AmdgpuRenderer:
        return AmdgpuRenderer(type=self.value)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Of the intrinsics that the epilogue calls."""
        found = (
            *self._renderer.declarations(self.fused.expression),
            *rounding(self.value, self.out),
        )
        return tuple(dict.fromkeys(found))

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        return exponentials((self.value, self.fused.primitives))

    @property
    def division_ulps(self) -> str:
        """What a division or a root may be off by, as LLVM writes it; nothing if there is none."""
        return f"{DIVISION_ULPS:e}" if self.fused.primitives & set(INEXACT) else ""


@frozen
class MatmulPlan(AmdgpuPlan):
    """The integers of a tiled matmul; the main loops add their own."""

    spec: Matmul
    schedule: GpuMatmul
    a: Staging
    b: Staging
    k_loop: KLoop
    epilogue: EpiloguePlan

    def stem(self, name: str) -> str:
        return next((a.stem for a in self.epilogue.fused.arguments if a.name == name), name)

    @property
    def batched(self) -> bool:
        return self.spec.batch > 1

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def has_barriers(self) -> bool:
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        loop = self.k_loop
        rest = f" and a remainder of {loop.rest}" if loop.rest else ""
        return (f"{counted(loop.full, 'whole tile')} along k{rest}",)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Of the intrinsics that both main loops call."""
        found = ["i32 @llvm.amdgcn.workgroup.id.y()", "void @llvm.amdgcn.s.barrier()"]
        if self.k_loop.has_loop:
            found.append("void @llvm.amdgcn.sched.barrier(i32 immarg)")
        if self.batched:
            found.append("i32 @llvm.amdgcn.workgroup.id.z()")
        if self.a.ragged_rows or self.b.ragged_rows:
            found.append("i32 @llvm.umin.i32(i32, i32)")
        return (*found, *self.epilogue.declarations)

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        return self.epilogue.exponentials

    @property
    def memory_map(self) -> tuple[str, ...]:
        sides = (self.a, self.b)
        found = (
            f"@{s.name}_tile: {s.tile.dtype} [stage: {s.tile.stages}]"
            f"[line of {s.tile.slot_k} k: {s.tile.lines}]"
            f"[slot of {s.tile.slot_rows} {s.axis_name('row')}: {s.tile.slots}], "
            f"{s.tile.nbytes} B, slot = {s.tile.swizzle}"
            for s in sides
        )
        return (f"LDS, {sum(s.tile.nbytes for s in sides)} B", *found)


def k_loop(spec: Matmul, schedule: GpuMatmul) -> KLoop:
    """Raises ScheduleError for more stages than there are."""
    if schedule.num_stages > MAX_STAGES:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is more than the {MAX_STAGES} that amdgpu kernels "
            f"have; try num_stages={MAX_STAGES}"
        )
    return KLoop(
        full=spec.k // schedule.block_k,
        rest=spec.k % schedule.block_k,
        stages=schedule.num_stages,
    )


def launch(spec: Matmul, schedule: GpuMatmul, threads: int) -> Launch:
    """Workgroup (x, y, z) writes block tile n = x, m = y of batch element z."""
    grid_n, grid_m = -(-spec.n // schedule.block_n), -(-spec.m // schedule.block_m)
    return Launch(
        entry_point=spec.key,
        grid=(grid_n, grid_m, spec.batch),
        block=(threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(
            shape=(spec.batch, spec.m, spec.n),
            extent=(1, schedule.block_m, schedule.block_n),
            axes=(2, 1, 0),
        ),
    )


def epilogue(spec: Matmul, schedule: GpuMatmul, lanes: int) -> EpiloguePlan:
    return EpiloguePlan(
        spec=spec,
        value=FloatType(dtype=DType.F32, lanes=lanes),
        ragged_rows=spec.m % schedule.block_m != 0,
        ragged_columns=spec.n % schedule.block_n != 0,
    )


def check_lds(
    schedule: GpuMatmul, target: Target, need: Callable[[GpuMatmul], int], granule_k: int
) -> None:
    """Raises ScheduleError if the LDS tiles are more than a workgroup may have.

    `need` gives a schedule's bytes; block_k must stay a multiple of `granule_k`.
    """
    limit = target.limits["shared_memory"]
    if need(schedule) <= limit:
        return
    depths = [schedule.block_k >> i for i in range(1, schedule.block_k.bit_length())]
    smaller: list[dict[str, int]] = [
        {"num_stages": 1},
        *({"block_k": depth} for depth in depths if depth % granule_k == 0),
    ]
    fits = (c for c in smaller if need(schedule.override(**c)) <= limit)
    remedy = next((f"{k}={v}" for c in fits for k, v in c.items()), "a smaller block_m or block_n")
    raise ScheduleError(
        f"block_m={schedule.block_m}, block_n={schedule.block_n}, block_k={schedule.block_k}, "
        f"num_stages={schedule.num_stages} need {need(schedule)} B of LDS; "
        f"{target.name} allows {limit}; try {remedy}"
    )
