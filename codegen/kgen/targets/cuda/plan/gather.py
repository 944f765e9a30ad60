"""Split k in one kernel: of the CTAs that multiply parts of a block tile the last one adds them.

Each leaves its sums in a workspace and counts itself at the block tile's counter, an atomic that
releases what it has left and acquires what the others have. Who finds that all others have come
adds all parts, its own too, in the order of k, whatever order they came in. Nobody waits, so that
nothing is assumed about which CTAs run at once; and the counter wraps to zero, for the next launch.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from kgen.schedule import GpuMatmul, SplitK
from kgen.targets.cuda.plan.output import OutputTile
from kgen.targets.cuda.plan.partial import WORD_BYTES, Access, PartialSums
from kgen_runtime.manifest import Extent3, Launch, Workspace

PARTS, ARRIVALS = "parts", "arrivals"
#: Registers of a thread for sums and for parts on their way, and for the latter alone: one way to
#: L2 then brings as many parts as there is room for.
HELD, ON_THEIR_WAY = 192, 128


@dataclass(frozen=True, kw_only=True)
class PartSums:
    """A thread's sums of one part, by register, and where they are."""

    registers: tuple[str, ...]
    accesses: tuple[Access, ...]


@dataclass(frozen=True, kw_only=True)
class Gather:
    """`split` parts of each block tile of `grid` (x, y, products)."""

    sums: PartialSums
    split: int
    grid: Extent3

    @property
    def together(self) -> int:
        """Parts that are loaded before any of them is added."""
        return together(len(self.sums.names), self.split)

    @property
    def first_together(self) -> int:
        """The same of the first ones; all others are as many as the loop takes."""
        return self.split % self.together or self.together

    @property
    def rounds(self) -> int:
        """Of the loop over those behind the first."""
        return (self.split - self.first_together) // self.together

    @property
    def first_parts(self) -> tuple[PartSums, ...]:
        """The first part goes where sums belong."""
        own = PartSums(registers=self.sums.names, accesses=self.sums.accesses)
        return (own, *(self._part(i) for i in range(1, self.first_together)))

    @property
    def parts(self) -> tuple[PartSums, ...]:
        """Of a turn of the loop."""
        return tuple(self._part(i) for i in range(self.together))

    def _part(self, index: int) -> PartSums:
        accesses = tuple(
            Access(
                registers=tuple(_renamed(name, index) for name in access.registers),
                offset=index * self.sums.nbytes + access.offset,
            )
            for access in self.sums.accesses
        )
        return PartSums(
            registers=tuple(name for access in accesses for name in access.registers),
            accesses=accesses,
        )

    @property
    def block_bytes(self) -> int:
        """All parts of a block tile."""
        return self.split * self.sums.nbytes

    @property
    def first_bytes(self) -> int:
        return self.first_together * self.sums.nbytes

    @property
    def round_bytes(self) -> int:
        return self.together * self.sums.nbytes

    @property
    def last_part(self) -> int:
        return self.split - 1

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        across, down, products = self.grid
        blocks = across * down * products
        return (
            Workspace(name=PARTS, nbytes=blocks * self.block_bytes),
            Workspace(name=ARRIVALS, nbytes=blocks * WORD_BYTES, initial="zero"),
        )

    @property
    def note(self) -> str:
        return (
            f"k in {self.split} parts, one for each z of the grid"
            f"{' and matrix' if self.grid[2] > 1 else ''}; the CTA that comes last adds them"
        )

    @property
    def remark(self) -> str:
        return f"k in {self.split} parts, added in order by the CTA that comes last"

    def launch(self, launch: Launch) -> Launch:
        """The launch of one CTA per block tile as one of a CTA for each part."""
        assert launch.tile is not None
        across, down, products = launch.grid
        return dataclasses.replace(
            launch,
            grid=(across, down, products * self.split),
            arguments=(*launch.arguments, PARTS, ARRIVALS),
            tile=dataclasses.replace(launch.tile, parts=self.split),
        )


def gathers(schedule: GpuMatmul) -> bool:
    """Whether a schedule cuts k in parts that the same kernel adds."""
    return isinstance(schedule, SplitK) and schedule.one_kernel


def plan_gather(schedule: GpuMatmul, output: OutputTile, launch: Launch) -> Gather | None:
    """Of a kernel with this launch of one CTA for each block tile, whose threads have the sums of
    `output`. None if the schedule does not ask for it."""
    if not (isinstance(schedule, SplitK) and schedule.one_kernel):
        return None
    sums = PartialSums(output=output, threads=launch.block[0])
    return Gather(sums=sums, split=schedule.split_k, grid=launch.grid)


def together(sums: int, split: int) -> int:
    """Parts of `sums` of a thread that are on their way at once."""
    return max(1, min(split, min(ON_THEIR_WAY, HELD - sums) // sums))


def _renamed(accumulator: str, part: int) -> str:
    """Of a part, the register for what is added to an accumulator."""
    return f"part{part}" + accumulator.removeprefix("acc")
