"""Ping-pong main loop with copies directly to LDS (CDNA4); plan/staging/direct.py has the layout.

Tiles do not pass through registers on the way to LDS. So each K-tile has a stage of its own, which
is filled while the other stage is multiplied. The loop is unrolled by the two stages.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import DirectMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu.plan.matmul.mma import Slice, plan_of
from kgen.targets.amdgpu.plan.matmul.pingpong import PingPongPlan, check_waves
from kgen.targets.amdgpu.plan.staging.direct import BLOCK_ROWS, DirectTile
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap
from kgen_runtime.values import frozen

STAGES = 2
#: Operand of gfx9's s_waitcnt: lgkmcnt(0), and no wait for the other counters (all ones).
WAIT_FOR_LDS = 0x3F & 0xF | (0x3F >> 4) << 14 | 0x7 << 4


@frozen
class DirectPhase:
    """Copies and waits of a phase, before its slice is multiplied."""

    slice: Slice
    #: Operands whose next K-tile the phase starts to copy.
    copies: tuple[DirectTile, ...] = ()
    #: Whether the phase waits for all copies.
    waits: bool = False

    @property
    def line(self) -> str:
        """Comment of the rendered loop."""
        steps = [f"copy the next tile of {tile.name.upper()} to LDS" for tile in self.copies]
        steps.append(f"load fragments {self.slice.number} from LDS")
        steps += ["wait for the copies"] * self.waits
        return f"phase {self.slice.number}: {', '.join(steps)}; then multiply them"


@frozen
class DirectStep:
    """Step of one K-tile: multiply the tile in stage `reads`, load the next one into stage `fills`.

    The step continues with the accumulators of the step `before`, and with the tile that it loaded.
    """

    name: str
    before: str
    reads: int
    fills: int

    @property
    def is_first(self) -> bool:
        """Whether only the prologue precedes the step."""
        return self.before == "first"


@frozen
class DirectPlan(PingPongPlan):
    schedule: DirectMatmul

    @classmethod
    def most_neighbours(cls, b: AccessMap) -> int:
        """Return how many neighbouring rows may share a group of lanes.

        A copy of 16 bytes cannot split columns that are contiguous in memory. In other layouts all
        waves copy 64 rows at once, which are the rows of two MMA tiles.
        """
        return 2 if b.inner == "k" else 1

    @property
    def tiles_in_lds(self) -> tuple[DirectTile, DirectTile]:
        a, b = (
            DirectTile(staging=s, stages=STAGES, threads=self.threads, wave=self.wave)
            for s in (self.a, self.b)
        )
        return a, b

    @property
    def copying_phases(self) -> tuple[DirectPhase, ...]:
        """Phases of a step. Copies start early, and the last phase waits for them."""
        a, b = self.tiles_in_lds
        first, second, third, last = self.slices
        return (
            DirectPhase(slice=first, copies=(a,)),
            DirectPhase(slice=second, copies=(b,)),
            DirectPhase(slice=third),
            DirectPhase(slice=last, waits=True),
        )

    @property
    def num_tiles(self) -> int:
        """Number of K-tiles; if workgroups share K, the least number of a share."""
        if self.shares is not None:
            return self.shares.step_tiles
        return self.a.access.depth // self.schedule.block_k

    @property
    def trips(self) -> int:
        return (self.num_tiles - 1) // STAGES

    @property
    def trips_of_loop(self) -> int | str:
        return self.trips if self.shares is None else "%trips"

    @property
    def steps(self) -> tuple[DirectStep, ...]:
        """Steps of one iteration of the loop."""
        names = ("even", "odd") if self.trips else ()
        return tuple(
            DirectStep(name=name, before=before, reads=stage, fills=STAGES - 1 - stage)
            for stage, (name, before) in enumerate(zip(names, ("start", "even"), strict=False))
        )

    @property
    def step_behind(self) -> tuple[DirectStep, ...]:
        """Step after the loop, if the number of steps is odd."""
        if (self.num_tiles - 1) % STAGES == 0:
            return ()
        before = "odd" if self.trips else "first"
        return (DirectStep(name="behind", before=before, reads=0, fills=1),)

    @property
    def last(self) -> DirectStep:
        """Step of the last K-tile; no other step reads the stage that it fills."""
        before = "behind" if self.step_behind else "odd" if self.trips else "first"
        return DirectStep(name="last", before=before, reads=len(self.step_behind), fills=0)

    def source(self, step: DirectStep) -> str | None:
        """Return the name of the step whose accumulators this one continues; None for zeros."""
        return None if step.is_first else step.before

    @property
    def wait_for_lds(self) -> int:
        return WAIT_FOR_LDS

    @property
    def has_steps(self) -> bool:
        return self.num_tiles > 1

    @property
    def transposes(self) -> bool:
        return any(tile.transposes for tile in self.tiles_in_lds)

    @property
    def blocks_of_rows(self) -> int:
        """Number of blocks of rows per MMA tile, each read by one transposing load."""
        return self.instruction.m // BLOCK_ROWS

    def block_starts(self, line: int) -> tuple[int, ...]:
        """Return the depths at which the blocks of a slot begin, in the first lanes."""
        first, slot_k = line * self.instruction.slot_k, self.instruction.slot_k
        return tuple(range(first, first + slot_k, self.block_depths))

    @property
    def block_rows(self) -> int:
        return BLOCK_ROWS

    @property
    def block_depths(self) -> int:
        """Number of depths of a block: as many as a lane's 8 bytes hold, half a slot."""
        return self.instruction.slot_k // 2

    @property
    def depth_lanes(self) -> int:
        """Number of lanes that load a depth of a block; each has as many rows as the block has
        depths."""
        return BLOCK_ROWS // self.block_depths

    @property
    def half_type(self) -> str:
        """Vector type of a transposing load's result."""
        return f"<{self.block_depths // self.instruction.packed} x {self.instruction.element}>"

    @property
    def transposing_load(self) -> str:
        name = {"half": "f16", "bfloat": "bf16"}.get(element := self.instruction.element, element)
        lanes = self.block_depths // self.instruction.packed
        bits = 8 * self.spec.dtype.itemsize
        return f"llvm.amdgcn.ds.read.tr{bits}.b64.v{lanes}{name}"

    @property
    def declarations(self) -> tuple[str, ...]:
        copy = "ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg"
        found = [
            *super().declarations,
            "ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)",
            f"void @llvm.amdgcn.raw.ptr.buffer.load.lds({copy})",
            "void @llvm.amdgcn.s.waitcnt(i32 immarg)",
            "void @llvm.amdgcn.s.setprio(i16 immarg)",
            "void @llvm.amdgcn.sched.barrier(i32 immarg)",
        ]
        if self.transposes:
            found.append(f"{self.half_type} @{self.transposing_load}(ptr addrspace(3))")
        return tuple(dict.fromkeys(found))

    @property
    def memory_map(self) -> tuple[str, ...]:
        tiles = self.tiles_in_lds
        found = (
            f"@{t.name}_tile: {t.staging.memory} [stage: {t.stages}][{t.line_name}: {t.lines}]"
            f"[chunk of {t.chunk} {t.chunk_name}: {t.line_chunks}], {t.nbytes} B, "
            f"chunk = {t.swizzle_line}"
            for t in tiles
        )
        return (f"LDS, {sum(t.nbytes for t in tiles)} B", *found)


def plan(spec: Matmul, target: Target, schedule: DirectMatmul) -> DirectPlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    if not target.has("global-load-lds-16"):
        raise ScheduleError(
            f"mainloop={schedule.mainloop} needs 16-byte copies from global memory to LDS, and "
            f"{target.name} has copies of at most 4 bytes; try mainloop=pingpong"
        )
    if schedule.num_stages != STAGES:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not {STAGES}; mainloop={schedule.mainloop} fills "
            f"one stage while it multiplies the other; try num_stages={STAGES}"
        )
    check_waves(schedule)
    made = plan_of(DirectPlan, "amdgpu/matmul_direct.ll.j2", spec, target, schedule)
    made.check_phases()
    if spec.k % schedule.block_k:
        raise ScheduleError(
            f"k={spec.k} is not a multiple of block_k={schedule.block_k}, and copies from global "
            "memory to LDS cannot pad with zeros; try mainloop=pingpong"
        )
    for tile in made.tiles_in_lds:
        _check_memory(tile)
    return made


def _check_memory(tile: DirectTile) -> None:
    operand = tile.staging
    name = operand.axis_name("row")
    if (fits := tile.fitting_rows) != operand.block_rows:
        raise ScheduleError(
            f"block_{name}={operand.block_rows} does not divide evenly among the {tile.threads} "
            f"threads that copy it to LDS; try block_{name}={fits}"
        )
    if tile.transposes and operand.rows % tile.chunk:
        raise ScheduleError(
            f"{name}={operand.rows} is not a multiple of {tile.chunk}, the elements that a lane "
            "copies to LDS; try mainloop=pingpong"
        )
    if operand.wide_offsets or tile.reach > tile.buffer_bytes:
        raise ScheduleError(
            f"block_{name}={operand.block_rows} x k={operand.access.depth} of {operand.name} spans "
            f"{tile.reach} B, which exceeds the 32-bit offsets of copies to LDS; try "
            "mainloop=pingpong"
        )
