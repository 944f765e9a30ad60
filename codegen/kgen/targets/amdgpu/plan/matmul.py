"""What the two main loops of a matmul share: the walk along K, the epilogue, the launch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
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
from kgen.targets.amdgpu.float8 import Float8
from kgen.targets.amdgpu.plan.base import AmdgpuPlan
from kgen.targets.amdgpu.plan.shares import Shares, raster_of
from kgen.targets.amdgpu.plan.staging import Staging
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.epilogue import ACCUMULATOR, Argument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen.targets.header import counted
from kgen.targets.llvm_ir import FloatType
from kgen.targets.raster import Raster
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: Bytes that 32-bit offsets in a buffer reach, with as many behind them to be outside.
MAX_BUFFER = 2**31
MAKE_BUFFER = (
    "ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)"
)
#: One LDS tile, filled while nothing reads it, or two that take turns.
MAX_STAGES = 2


@frozen
class WalkStep:
    """One step of the walk along K: load the next tile, multiply the one in an LDS stage.

    Its basic block has its name. It goes on with the accumulators and from the tile of the step
    `before`, and fills the stage `fills` with the tile that it loads.
    """

    name: str
    before: str
    reads: int
    fills: int
    of_loop: bool = False

    @property
    def source(self) -> str | None:
        """The step whose accumulators it adds to; None for zeros."""
        return None if self.before == PROLOGUE else self.before


#: What the prologue's tile is called, and what a loop's first step goes on from.
PROLOGUE, START = "first", "start"


@frozen
class KLoop:
    """The walk along K, one tile ahead: tile i+1 is on its way while tile i is multiplied.

    The prologue loads tile 0. Each of the `steps` that follow loads a whole tile and multiplies the
    one that the step before brought; `tail` does so with the partial tile, if it is not the only
    one, and `last` multiplies what is left. The loop is unrolled by the stages of LDS, whose
    addresses are constants then; the steps that are no whole trip come before it.
    """

    full: int
    rest: int
    stages: int

    @property
    def first_is_partial(self) -> bool:
        return self.full == 0

    @property
    def steps(self) -> int:
        """Whole tiles behind the first."""
        return max(0, self.full - 1)

    @property
    def trips(self) -> int:
        """Times that the loop runs; without any there is no loop."""
        return self.steps // self.stages

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
    def peeled(self) -> tuple[WalkStep, ...]:
        """Before the loop."""
        names = ["peeled"] * (self.steps % self.stages)
        return self._in_turn(names, PROLOGUE, tile=0)

    @property
    def loop(self) -> tuple[WalkStep, ...]:
        """Of one trip."""
        names = ["loop", "loop.second"][: self.stages] if self.has_loop else []
        steps = self._in_turn(names, START, tile=len(self.peeled))
        return tuple(dataclasses.replace(step, of_loop=True) for step in steps)

    @property
    def before_loop(self) -> str:
        return self.peeled[-1].name if self.peeled else PROLOGUE

    @property
    def behind_loop(self) -> tuple[WalkStep, ...]:
        """The tail, if there is one."""
        names = ["tail"] * self.has_tail
        return self._in_turn(names, self._behind_steps, tile=self.steps)

    @property
    def last(self) -> WalkStep:
        """Its tile is the last one: it loads none."""
        before = "tail" if self.has_tail else self._behind_steps
        (step,) = self._in_turn(["last"], before, tile=self.steps + self.has_tail)
        return step

    @property
    def _behind_steps(self) -> str:
        return self.loop[-1].name if self.has_loop else self.before_loop

    def _in_turn(self, names: Sequence[str], before: str, tile: int) -> tuple[WalkStep, ...]:
        """The first of these steps multiplies the tile of this number."""
        return tuple(
            WalkStep(
                name=name,
                before=source,
                reads=number % self.stages,
                fills=(number + 1) % self.stages,
            )
            for number, (name, source) in enumerate(
                zip(names, (before, *names), strict=False), tile
            )
        )

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of all steps, in their order."""
        steps = (*self.peeled, *self.loop, *self.behind_loop, self.last)
        return tuple(step.name for step in steps)


@frozen
class EpiloguePlan:
    """From accumulators to memory: pieces of `value.lanes` neighbouring columns of one row.

    The output and what is like it are buffers, whose bounds the hardware checks: outside of them,
    stores do nothing and loads give zero. Rows behind the last are outside by themselves; columns
    behind the last are sent there. Only a tile too large for offsets of 32 bits has branches.
    """

    spec: Matmul
    value: FloatType
    block_m: int
    block_n: int
    ragged_rows: bool
    ragged_columns: bool

    @property
    def out(self) -> FloatType:
        return FloatType(dtype=self.spec.out, lanes=self.value.lanes)

    @property
    def sums(self) -> FloatType:
        """What matrix instructions leave of a piece."""
        return self.value.of(self.spec.accumulate)

    @property
    def float8(self) -> Float8:
        """How a piece of an 8-bit output is converted."""
        return Float8(type=self.out)

    @property
    def row_bytes(self) -> int:
        return self.row_stride * self.out.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """From a whole block's first row to behind its last."""
        return self.block_m * self.row_bytes

    @property
    def outside(self) -> int:
        """An offset that is outside of every block, as is the sum of it and a row's; -2**31."""
        return -MAX_BUFFER

    @property
    def is_buffer(self) -> bool:
        return self.block_bytes < MAX_BUFFER

    @property
    def buffers(self) -> tuple[str, ...]:
        """The output and the arguments like it, by their names in the kernel."""
        return (*(a.stem for a in self.fused.full), "out")

    @property
    def guarded(self) -> bool:
        """Pieces are behind branches."""
        return not self.is_buffer and (self.ragged_rows or self.ragged_columns)

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
        found = [
            *self._renderer.declarations(self.fused.expression),
            *rounding(self.value, self.out),
        ]
        if self.out.is_float8:
            found += self.float8.declarations
        if self.is_buffer:
            t = self.out.words
            found.append(MAKE_BUFFER)
            found.append(
                f"void @llvm.amdgcn.raw.ptr.buffer.store.{t.suffix}"
                f"({t}, ptr addrspace(8), i32, i32, i32 immarg)"
            )
            if self.fused.full:
                found.append(
                    f"{t} @llvm.amdgcn.raw.ptr.buffer.load.{t.suffix}"
                    "(ptr addrspace(8), i32, i32, i32 immarg)"
                )
            if self.ragged_rows:
                found.append("i32 @llvm.umin.i32(i32, i32)")
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
    raster: Raster | None = None
    shares: Shares | None = None

    @property
    def start(self) -> str:
        """The block that the prologue is in."""
        return "share" if self.shares is not None and self.shares.loops else "entry"

    @property
    def thread(self) -> str:
        """What the thread's number is called in the block `entry`."""
        return "%thread" if self.start == "entry" else "%thread.all"

    @property
    def sums(self) -> str:
        """What accumulators are called behind the main loop, and behind the sum of all parts."""
        return "last" if self.shares is None else "done"

    @property
    def trips_of_loop(self) -> int | str:
        """How often the main loop runs: a number, or a value of a share's."""
        return self.k_loop.trips if self.shares is None else "%trips"

    @property
    def numbers_per_die(self) -> int:
        """Workgroups that each die has."""
        assert self.raster is not None
        return self.launches[0].grid[0] // self.raster.dies

    @property
    def longer_dies(self) -> int:
        """The first dies, which have one more."""
        assert self.raster is not None
        return self.launches[0].grid[0] % self.raster.dies

    def stem(self, name: str) -> str:
        return next((a.stem for a in self.epilogue.fused.arguments if a.name == name), name)

    @property
    def moved_each_step(self) -> tuple[Staging, ...]:
        """Operands whose tiles of one trip are so near that a load's own offset reaches them; all,
        if a trip has one."""
        reach, stages = self.target.limits["load_offset"], self.k_loop.stages
        return tuple(
            s
            for s in (self.a, self.b)
            if stages == 1 or s.memory.itemsize * s.steps(stages) <= reach
        )

    @property
    def moved_each_trip(self) -> tuple[Staging, ...]:
        """The others: in the loop, each of its steps has a pointer of its own."""
        return tuple(s for s in (self.a, self.b) if s not in self.moved_each_step)

    @property
    def batched(self) -> bool:
        return self.spec.batch > 1

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def target_features(self) -> tuple[str, ...]:
        """Where halves of registers change places, one V_PERM_B32 for two of them: as registers of
        their own, LLVM moves one at a time."""
        transposes = self.a.gathers or self.b.gathers
        return ("-real-true16",) if transposes and self.target.has("real-true16") else ()

    @property
    def has_barriers(self) -> bool:
        return True

    @property
    def splits_barrier(self) -> bool:
        """While waves wait for one another, the next tile is asked for: with two stages of LDS."""
        return self.k_loop.double_buffered and self.target.has("split-barriers")

    @property
    def notes(self) -> tuple[str, ...]:
        loop = self.k_loop
        rest = f" and a remainder of {loop.rest}" if loop.rest else ""
        if self.shares is not None:
            return (self.shares.note,)
        return (f"{counted(loop.full, 'whole tile')} along k{rest}",)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Of the intrinsics that both main loops call."""
        found = [
            "i32 @llvm.amdgcn.workgroup.id.y()",
            "void @llvm.amdgcn.sched.barrier(i32 immarg)",
        ]
        if self.splits_barrier:
            found.append("void @llvm.amdgcn.s.barrier.signal(i32 immarg)")
            found.append("void @llvm.amdgcn.s.barrier.wait(i16 immarg)")
        else:
            found.append("void @llvm.amdgcn.s.barrier()")
        if self.k_loop.has_loop and self.moved_each_trip:
            found.append("ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1))")
        if self.a.transposes_bytes or self.b.transposes_bytes:
            found.append("i32 @llvm.amdgcn.perm(i32, i32, i32)")
        for s in (self.a, self.b):
            if s.transposing_load:
                found.append(f"{s.load_type} @{s.load_intrinsic}(ptr addrspace(1))")
        if self.raster is not None:
            found.append("i32 @llvm.umin.i32(i32, i32)")
        elif self.batched:
            found.append("i32 @llvm.amdgcn.workgroup.id.z()")
        if self.a.ragged_rows or self.b.ragged_rows:
            found.append("i32 @llvm.umin.i32(i32, i32)")
        return tuple(dict.fromkeys((*found, *self.epilogue.declarations)))

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


def check_stages(schedule: GpuMatmul) -> None:
    """Raises ScheduleError for more stages than there are."""
    if schedule.num_stages > MAX_STAGES:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is more than the {MAX_STAGES} that amdgpu kernels "
            f"have; try num_stages={MAX_STAGES}"
        )


def walked(
    spec: Matmul, schedule: GpuMatmul, a: Staging, b: Staging
) -> tuple[KLoop, Staging, Staging]:
    """The walk along K, and the operands with the depth of its partial tile.

    Where loads overhang, the last tile is always loaded as a partial one, which does not."""
    full, rest = divmod(spec.k, schedule.block_k)
    if rest == 0 and (a.overhangs or b.overhangs):
        full, rest = full - 1, schedule.block_k
    loop = KLoop(full=full, rest=rest, stages=schedule.num_stages)
    a, b = (dataclasses.replace(s, k_rest=rest) for s in (a, b))
    return loop, a, b


def launch(spec: Matmul, schedule: GpuMatmul, threads: int) -> Launch:
    """Workgroup (x, y, z) writes block tile n = x, m = y of batch element z; where block tiles have
    numbers, x is one."""
    if (raster := raster_of(spec, schedule)) is not None:
        return Launch(
            entry_point=spec.key,
            grid=(raster.total, 1, 1),
            block=(threads, 1, 1),
            arguments=tuple(p.name for p in spec.parameters),
            tile=raster.tile,
        )
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
        # Sums in s32 may be the output; all others are finished in f32.
        value=FloatType(dtype=DType.S32 if spec.out is DType.S32 else DType.F32, lanes=lanes),
        block_m=schedule.block_m,
        block_n=schedule.block_n,
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
