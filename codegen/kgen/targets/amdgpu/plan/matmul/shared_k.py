"""Split-k and stream-k: workgroups share the K-tiles of block tiles; the last-arriving wave adds.

Of all steps along k (a few K-tiles of a block tile), workgroup number i takes those from
i * steps / workgroups up to the next one's; then whole block tiles, one of each wave of workgroups
(M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
Multiplication on the GPU", PPoPP 2023). Split-k is the same with as many workgroups for each block
tile as it has parts.

A workgroup leaves its part of a block tile that it does not have alone in a workspace. Each wave of
it counts its steps at the wave's counter of the block tile, and the wave that finds that all steps
have come adds the parts of its place in the block tile, in the order of k, whatever order they came
in. Nobody waits, so that nothing is assumed about which workgroups run at once. The fences around
the count reach the device, so that they write back and invalidate the L2 caches of other dies
(LLVM, "User Guide for AMDGPU Backend", memory models of gfx90a and gfx942). The last wave sets its
counter back for the next launch.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul, SharedMatmul
from kgen.spec import Matmul
from kgen.targets.header import counted
from kgen.targets.raster import Raster
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Products with 32-bit integers of steps and workgroups must not overflow.
MAX_PRODUCT = 1 << 32
PARTS, ARRIVALS = "parts", "arrivals"
WORD_BYTES = 4
#: Sums that a lane stores and loads at once.
VECTOR = 4
#: Registers of a lane for parts that are on their way.
ON_THEIR_WAY = 32
#: Trips of the main loop that a step has at least: a main loop is then never left out.
TILES_PER_STAGE = 2


@frozen
class SumVector:
    """Contiguous accumulators of a lane: `vector` of them from register `first` of an accumulator
    on.

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
class Shares:
    """`workgroups` share `blocks` block tiles of `block_steps` steps of `step_tiles` K-tiles each.
    Each of `waves` leaves the `accumulators`, of `registers` sums for a lane each."""

    blocks: int
    block_steps: int
    step_tiles: int
    workgroups: int
    waves: int
    wave: int
    accumulators: tuple[str, ...]
    registers: int
    element: str

    @property
    def cut_blocks(self) -> int:
        """The first ones, which are shared."""
        return cut_blocks(self.blocks, self.workgroups)

    @property
    def steps(self) -> int:
        """Steps along k of the shared block tiles."""
        return self.cut_blocks * self.block_steps

    @property
    def all_steps(self) -> int:
        return self.blocks * self.block_steps

    @property
    def has_whole(self) -> bool:
        """Behind what they share come whole block tiles."""
        return self.cut_blocks < self.blocks

    @property
    def wave_steps(self) -> int:
        """Steps from a workgroup's whole block tile to its next one."""
        return self.workgroups * self.block_steps

    @property
    def step_before(self) -> int:
        """Addend that rounds a quotient to the last step before the next workgroup's share."""
        return self.workgroups - 1

    def begin(self, number: int) -> int:
        """A workgroup's first step."""
        return number * self.steps // self.workgroups

    @property
    def loops(self) -> bool:
        """A workgroup may have parts of more than one block tile. Where each block tile is cut in
        as many parts, none has."""
        return self.workgroups % self.blocks != 0

    @property
    def slots(self) -> int:
        """Parts that a workgroup leaves: of the block tile that it begins in, and of its last."""
        return 2 if self.loops else 1

    @property
    def pieces(self) -> tuple[SumVector, ...]:
        """Pieces of all accumulators, in order; adjacent lanes access adjacent words."""
        size = self.wave * VECTOR * WORD_BYTES
        found = [
            (name, first)
            for name in self.accumulators
            for first in range(0, self.registers, VECTOR)
        ]
        return tuple(
            SumVector(name=name, first=first, number=number, offset=number * size)
            for number, (name, first) in enumerate(found)
        )

    @property
    def splits(self) -> bool:
        """An accumulator is more than a piece."""
        return self.registers > VECTOR

    def pieces_of(self, accumulator: str) -> tuple[SumVector, ...]:
        return tuple(piece for piece in self.pieces if piece.name == accumulator)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Accumulators whose parts are on their way together: as many as registers are left for."""
        count = max(1, ON_THEIR_WAY // self.registers)
        names = self.accumulators
        return tuple(names[i : i + count] for i in range(0, len(names), count))

    @property
    def piece(self) -> str:
        """The IR type of one."""
        return f"<{VECTOR} x {self.element}>"

    @property
    def half(self) -> str:
        """The IR type of two."""
        return f"<{2 * VECTOR} x {self.element}>"

    @property
    def addition(self) -> str:
        return "fadd" if self.element == "float" else "add"

    @property
    def behind(self) -> str:
        """The block behind a part."""
        return "next" if self.loops else "exit"

    @property
    def lane_bytes(self) -> int:
        return VECTOR * WORD_BYTES

    @property
    def wave_bytes(self) -> int:
        return len(self.pieces) * self.wave * self.lane_bytes

    @property
    def part_bytes(self) -> int:
        return self.waves * self.wave_bytes

    @property
    def workgroup_bytes(self) -> int:
        return self.slots * self.part_bytes

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        return (
            Workspace(name=PARTS, nbytes=self.workgroups * self.workgroup_bytes),
            Workspace(
                name=ARRIVALS, nbytes=self.cut_blocks * self.waves * WORD_BYTES, initial="zero"
            ),
        )

    @property
    def note(self) -> str:
        if not self.loops:
            return (
                f"split-k: {self.workgroups // self.blocks} workgroups per block tile; "
                "the last-arriving wave adds the partial sums"
            )
        others = f"; {self.blocks - self.cut_blocks} more have a workgroup each"
        return (
            f"stream-k: {self.workgroups} workgroups share the {self.steps} steps along k of "
            f"{counted(self.cut_blocks, 'block tile')}{others * self.has_whole}"
        )

    def launch(self, launch: Launch) -> Launch:
        """The launch of a workgroup for each block tile as one of workgroups that share them."""
        assert launch.tile is not None and launch.tile.walk is not None
        walk = dataclasses.replace(
            launch.tile.walk, shared=self.cut_blocks, steps=self.block_steps, drawn=False
        )
        return dataclasses.replace(
            launch,
            grid=(self.workgroups, 1, 1),
            arguments=(*launch.arguments, *(w.name for w in self.workspaces)),
            tile=dataclasses.replace(launch.tile, walk=walk),
        )


def cut_blocks(blocks: int, workgroups: int) -> int:
    """Block tiles that are shared: what no wave of workgroups is full of. Nobody waits for a part,
    so that it does no harm if it is small; and the fewer are cut, the fewer sums are stored."""
    return blocks % workgroups or min(blocks, workgroups)


def check_whole(spec: Matmul, overhangs: bool) -> None:
    """Raises ScheduleError if the last tile along k is loaded otherwise than the others."""
    if overhangs:
        raise ScheduleError(
            f"rows of an operand with m={spec.m}, n={spec.n}, k={spec.k} are not whole vectors, so "
            "the last K-tile is loaded differently; split-k and stream-k need equal K-tiles; "
            "try split_k=1,num_workgroups=0"
        )


def is_rasterised(schedule: GpuMatmul) -> bool:
    """Block tiles are taken by number instead of by the grid's coordinates."""
    return isinstance(schedule, SharedMatmul) and (
        schedule.group_m > 1 or schedule.num_xcds > 1 or schedule.cuts_k
    )


def raster_of(spec: Matmul, schedule: GpuMatmul) -> Raster | None:
    """The order of block tiles; None where it is that of the grid's coordinates."""
    if not (isinstance(schedule, SharedMatmul) and is_rasterised(schedule)):
        return None
    return Raster(
        shape=(spec.batch, spec.m, spec.n),
        extent=(1, schedule.block_m, schedule.block_n),
        group=schedule.group_m,
        dies=schedule.num_xcds,
    )


def step_tiles(schedule: GpuMatmul) -> int:
    """K-tiles of a step: as many for each stage of LDS, so that each part runs the main loop."""
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
    element: str,
) -> Shares | None:
    """None if the schedule does not ask for it. Raises ScheduleError if it cannot be."""
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
    workgroups = schedule.num_workgroups or raster.total * schedule.split_k
    if workgroups > (most := raster.total * steps):
        raise ScheduleError(
            f"num_workgroups={workgroups} is more than the {most} steps along K of all block "
            f"tiles; try num_workgroups={most}"
        )
    if (raster.total + workgroups + 1) * steps * (workgroups + 1) >= MAX_PRODUCT:
        raise ScheduleError(
            f"{asked} with {most} steps and {workgroups} workgroups overflows 32-bit step "
            f"numbers; try {remedy}"
        )
    return Shares(
        blocks=raster.total,
        block_steps=steps,
        step_tiles=each,
        workgroups=workgroups,
        waves=waves,
        wave=wave,
        accumulators=accumulators,
        registers=registers,
        element=element,
    )
