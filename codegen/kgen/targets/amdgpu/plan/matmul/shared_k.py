"""Split-k and stream-k: workgroups share the steps of block tiles; the last-arriving wave adds.

A workgroup stores its part of a shared block tile to a workspace. Each of its waves adds its steps
to the wave's counter of the block tile. The wave whose addition completes the count adds the parts
of its position in the block tile, in the order of k. No wave waits, so workgroups need not run at
the same time. The fences around the count have device scope, so they write back and invalidate the
L2 caches of other dies (LLVM, "User Guide for AMDGPU Backend", memory models of gfx90a and gfx942).
The last wave resets its counter for the next launch.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul, SharedMatmul
from kgen.spec import Matmul
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.contraction.partial_sums import VECTOR, PartialSums, sum_workspaces
from kgen.targets.contraction.raster import Raster
from kgen.targets.contraction.shared_steps import SharedSteps
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.manifest import Workspace
from kgen_runtime.values import frozen

#: Registers of a lane for parts that are being loaded.
ON_THEIR_WAY = 32
#: Least number of K-tiles of a step per stage of LDS, so that every share runs the main loop.
TILES_PER_STAGE = 2


@frozen
class SumVector:
    """Contiguous accumulators of a lane: `vector` registers from register `first` of an
    accumulator.

    `offset` is in bytes from the wave's first.
    """

    name: str
    first: int
    number: int
    offset: int

    @property
    def left(self) -> str:
        """Name of the value that a wave stores."""
        return f"%left.p{self.number}"

    @property
    def found(self) -> str:
        """Name of the value when it is loaded again."""
        return f"%found.p{self.number}"

    @property
    def registers(self) -> tuple[int, ...]:
        return tuple(range(self.first, self.first + VECTOR))


@frozen
class Shares(SharedSteps):
    """Distribution of steps of `step_tiles` K-tiles. Each wave stores its `accumulators`."""

    waits: ClassVar[bool] = False
    workgroup: ClassVar[str] = "workgroup"
    step: ClassVar[str] = "steps along k"

    step_tiles: int
    accumulators: tuple[str, ...]

    @property
    def registers(self) -> int:
        """Number of sums of an accumulator that a lane holds."""
        return len(self.sums.names) // len(self.accumulators)

    @property
    def element(self) -> str:
        """IR type of a sum."""
        return FloatType(dtype=self.sums.dtype).element

    @property
    def loops(self) -> bool:
        """Whether a workgroup may have parts of several block tiles. With split-k, none has."""
        return self.workgroups % self.blocks != 0

    @property
    def slots(self) -> int:
        """Most parts that a workgroup stores: of its first block tile, and of its last."""
        return 2 if self.loops else 1

    @property
    def pieces(self) -> tuple[SumVector, ...]:
        """Pieces of all accumulators, in order; adjacent lanes access adjacent words."""
        each = self.registers // VECTOR
        return tuple(
            SumVector(
                name=self.accumulators[number // each],
                first=number % each * VECTOR,
                number=number,
                offset=access.offset,
            )
            for number, access in enumerate(self.sums.accesses)
        )

    @property
    def splits(self) -> bool:
        """Whether an accumulator is several pieces."""
        return self.registers > VECTOR

    @property
    def splits_in_four(self) -> bool:
        """Whether an accumulator is four pieces, not two."""
        return self.registers > 2 * VECTOR

    def pieces_of(self, accumulator: str) -> tuple[SumVector, ...]:
        return tuple(piece for piece in self.pieces if piece.name == accumulator)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of accumulators whose parts are loaded together, as many as registers allow."""
        count = max(1, ON_THEIR_WAY // self.registers)
        names = self.accumulators
        return tuple(names[i : i + count] for i in range(0, len(names), count))

    @property
    def piece(self) -> str:
        """IR type of a piece."""
        return f"<{VECTOR} x {self.element}>"

    @property
    def half(self) -> str:
        """IR type of two pieces."""
        return f"<{2 * VECTOR} x {self.element}>"

    @property
    def addition(self) -> str:
        return "fadd" if self.element == "float" else "add"

    @property
    def behind(self) -> str:
        """Label of the block after a part."""
        return "next" if self.loops else "exit"

    @property
    def workspaces(self) -> tuple[Workspace, Workspace]:
        nbytes = self.workgroups * self.slots * self.part_bytes
        return sum_workspaces(nbytes, self.cut_blocks * self.holders)

    @property
    def note(self) -> str:
        if self.loops:
            return super().note
        return (
            f"split-k: {self.workgroups // self.blocks} workgroups per block tile; "
            "the last-arriving wave adds the partial sums"
        )


def check_whole(spec: Matmul, overhangs: bool) -> None:
    """Check that the last K-tile is loaded like the others. Raises ScheduleError."""
    if overhangs:
        raise ScheduleError(
            f"rows of an operand with m={spec.m}, n={spec.n}, k={spec.k} are not whole vectors, so "
            "the last K-tile is loaded differently; split-k and stream-k need equal K-tiles; "
            "try split_k=1,num_workgroups=0"
        )


def is_rasterised(schedule: GpuMatmul) -> bool:
    """Return whether workgroups take block tiles by number, not by the grid's coordinates."""
    return isinstance(schedule, SharedMatmul) and (
        schedule.group_m > 1 or schedule.num_xcds > 1 or schedule.cuts_k
    )


def raster_of(spec: Matmul, schedule: GpuMatmul) -> Raster | None:
    """Return the order of block tiles; None if it is that of the grid's coordinates."""
    if not (isinstance(schedule, SharedMatmul) and is_rasterised(schedule)):
        return None
    return block_tiles(
        spec, schedule.block_m, schedule.block_n, group=schedule.group_m, dies=schedule.num_xcds
    )


def step_tiles(schedule: GpuMatmul) -> int:
    """Return the K-tiles of a step: enough per stage of LDS that each share runs the main loop."""
    return TILES_PER_STAGE * schedule.num_stages


def plan_shares(
    spec: Matmul,
    schedule: GpuMatmul,
    raster: Raster | None,
    *,
    waves: int,
    wave: int,
    accumulators: tuple[str, ...],
    registers: int,
) -> Shares | None:
    """Return the distribution; None without split-k and stream-k. Raises ScheduleError if the
    schedule's numbers are not legal."""
    if raster is None or not (isinstance(schedule, SharedMatmul) and schedule.cuts_k):
        return None
    each = step_tiles(schedule)
    depth = each * schedule.block_k
    asked = (
        f"split_k={schedule.split_k}"
        if schedule.split_k > 1
        else f"num_workgroups={schedule.num_workgroups}"
    )
    remedy = "split_k=1" if schedule.split_k > 1 else "num_workgroups=0"
    if registers % VECTOR:
        raise ScheduleError(
            f"{asked} needs matrix instructions, and this main loop uses dot products; try {remedy}"
        )
    if spec.k % depth:
        raise ScheduleError(
            f"{asked} divides K into steps of {each} K-tiles, and k={spec.k} is not a multiple of "
            f"their {depth} elements; try {remedy}"
        )
    steps = spec.k // depth
    if schedule.split_k > steps:
        raise ScheduleError(
            f"split_k={schedule.split_k} is more than the {steps} steps of {depth} elements in "
            f"k={spec.k}; try split_k={steps}"
        )
    names = tuple(f"{name}.{r}" for name in accumulators for r in range(registers))
    shares = Shares(
        blocks=raster.total,
        block_steps=steps,
        workgroups=schedule.num_workgroups or raster.total * schedule.split_k,
        holders=waves,
        sums=PartialSums(names=names, dtype=spec.accumulate, threads=wave),
        step_tiles=each,
        accumulators=accumulators,
    )
    shares.check(asked, remedy)
    return shares
