"""Plan that all matmul main loops share: two staged operands, the K loop, the launch."""

from __future__ import annotations

from collections.abc import Callable

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan
from kgen.targets.amdgpu.plan.matmul.epilogue import EpiloguePlan
from kgen.targets.amdgpu.plan.matmul.k_loop import KLoop
from kgen.targets.amdgpu.plan.matmul.shared_k import Shares, raster_of
from kgen.targets.amdgpu.plan.staging.guarded_staging import GuardedStaging
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate, batch_coordinates
from kgen.targets.contraction.grid import numbered, plan_launch
from kgen.targets.contraction.raster import Raster
from kgen.targets.header import k_tiles_note
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen_runtime.manifest import Launch
from kgen_runtime.values import frozen


@frozen
class MatmulPlan(AmdgpuPlan):
    """Plan of a tiled matmul; each main loop adds its own values."""

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
        """Label of the block of the prologue."""
        return "share" if self.shares is not None and self.shares.loops else "entry"

    @property
    def thread(self) -> str:
        """Value with the thread's number in the block `entry`."""
        return "%thread" if self.start == "entry" else "%thread.all"

    @property
    def sums(self) -> str:
        """Suffix of the accumulators after the main loop and after the sum of all parts."""
        return "last" if self.shares is None else "done"

    @property
    def trips_of_loop(self) -> int | str:
        """Trip count of the main loop: a number, or a value that depends on the workgroup's
        share."""
        return self.k_loop.trips if self.shares is None else "%trips"

    @property
    def numbers_per_die(self) -> int:
        """Least number of workgroups of a die."""
        assert self.raster is not None
        return self.launches[0].grid[0] // self.raster.dies

    @property
    def longer_dies(self) -> int:
        """Number of dies with one workgroup more: the first ones."""
        assert self.raster is not None
        return self.launches[0].grid[0] % self.raster.dies

    def stem(self, name: str) -> str:
        return next((a.stem for a in self.epilogue.fused.arguments if a.name == name), name)

    @property
    def moved_each_step(self) -> tuple[Staging, ...]:
        """Operands whose K-tiles of one iteration are within a load's immediate offset; all
        operands if an iteration has one K-tile."""
        reach, stages = self.target.limits["load_offset"], self.k_loop.stages
        return tuple(
            s
            for s in (self.a, self.b)
            if stages == 1 or s.is_guarded or s.memory.itemsize * s.steps(stages) <= reach
        )

    @property
    def guarded(self) -> tuple[GuardedStaging, ...]:
        """Operands that are not matrices."""
        return tuple(s for s in (self.a, self.b) if isinstance(s, GuardedStaging))

    @property
    def moved_each_trip(self) -> tuple[Staging, ...]:
        """Operands beyond that offset: each step of the loop has a pointer of its own."""
        return tuple(s for s in (self.a, self.b) if s not in self.moved_each_step)

    @property
    def batched(self) -> bool:
        return self.spec.batch > 1

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def target_features(self) -> tuple[str, ...]:
        """LLVM features of the kernel: no real-true16 if operands are transposed.

        V_PERM_B32 then swaps two halves at once; with 16-bit registers, LLVM moves them one by one.
        """
        transposes = self.a.gathers or self.b.gathers
        return ("-real-true16",) if transposes and self.target.has("real-true16") else ()

    @property
    def has_barriers(self) -> bool:
        return True

    @property
    def splits_barrier(self) -> bool:
        """Whether loads of the next K-tile start between both halves of a split barrier, which
        needs two stages of LDS."""
        return self.k_loop.double_buffered and self.target.has("split-barriers")

    @property
    def notes(self) -> tuple[str, ...]:
        loop = self.k_loop
        if self.shares is not None:
            return (self.shares.note,)
        return (k_tiles_note(loop.full, self.schedule.block_k, loop.rest),)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of the intrinsics that both main loops call."""
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
        if self.a.has_far_loads or self.b.has_far_loads:
            found.append("ptr addrspace(3) @llvm.launder.invariant.group.p3(ptr addrspace(3))")
        if self.a.transposes_bytes or self.b.transposes_bytes:
            found.append("i32 @llvm.amdgcn.perm(i32, i32, i32)")
        for s in (self.a, self.b):
            if s.transposing_load:
                found.append(f"{s.load_type} @{s.load_intrinsic}(ptr addrspace(1))")
        for s in self.guarded:
            found += s.declarations
        if self.raster is not None:
            found.append("i32 @llvm.umin.i32(i32, i32)")
        elif self.batched:
            found.append("i32 @llvm.amdgcn.workgroup.id.z()")
        if self.a.ragged_rows or self.b.ragged_rows:
            found.append("i32 @llvm.umin.i32(i32, i32)")
        return tuple(dict.fromkeys((*found, *self.epilogue.declarations)))

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return self.epilogue.remainders

    @property
    def division_ulps(self) -> str:
        return self.epilogue.division_ulps

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


def launch(spec: Matmul, schedule: GpuMatmul, threads: int) -> Launch:
    """Return the launch of one workgroup per block tile, by coordinates or by number."""
    launched = plan_launch(spec, schedule, threads)
    raster = raster_of(spec, schedule)
    return launched if raster is None else numbered(launched, raster, raster.total)


def check_lds(
    schedule: GpuMatmul, target: Target, need: Callable[[GpuMatmul], int], granule_k: int
) -> None:
    """Check that the LDS tiles fit in a workgroup. Raises ScheduleError.

    `need` returns a schedule's bytes; block_k must stay a multiple of `granule_k`.
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
    remedy = next((f"{k}={v}" for c in fits for k, v in c.items()), "block_m=64,block_n=64")
    raise ScheduleError(
        f"block_m={schedule.block_m}, block_n={schedule.block_n}, block_k={schedule.block_k} and "
        f"num_stages={schedule.num_stages} need {need(schedule)} B of LDS; "
        f"{target.name} allows {limit} B; try {remedy}"
    )
