"""Split-k in one kernel: the last-arriving CTA of a block tile adds the partial sums of all.

Each leaves its sums in a workspace and counts itself at the block tile's counter, an atomic that
releases what it has left and acquires what the others have. Who finds that all others have come
adds all parts, its own too, in the order of k, whatever order they came in. Nobody waits, so that
nothing is assumed about which CTAs run at once; and the counter wraps to zero, for the next launch.
"""

from __future__ import annotations

import dataclasses

from kgen.schedule import GpuMatmul, SplitK
from kgen.targets.contraction.partial_sums import (
    PartialAccess,
    PartialSums,
    sum_workspaces,
)
from kgen_runtime.manifest import Extent3, Launch, Workspace
from kgen_runtime.values import frozen

#: Registers of a thread for sums and for parts on their way, and for the latter alone: one way to
#: L2 then brings as many parts as there is room for.
HELD, ON_THEIR_WAY = 192, 128


@frozen
class PartSums:
    """Sums of one part, of a thread: what is loaded, and to which `sums` each of it is added."""

    accesses: tuple[PartialAccess, ...]
    sums: tuple[str, ...]

    @property
    def registers(self) -> tuple[str, ...]:
        return tuple(name for access in self.accesses for name in access.registers)


#: Those that are loaded before any of them is added.
Group = tuple[PartSums, ...]


@frozen
class LastArriving:
    """`split` parts of each block tile of `grid` (x, y, products)."""

    sums: PartialSums
    split: int
    grid: Extent3

    @property
    def together(self) -> int:
        """Parts that a turn of the loop adds."""
        return together(len(self.sums.names), self.split)

    @property
    def first_together(self) -> int:
        """Parts before the loop: what no turn is full of."""
        return self.split % self.together or self.together

    @property
    def is_tight(self) -> bool:
        """Whether registers for parts do not hold one."""
        return len(self.sums.names) > room_for(len(self.sums.names))

    @property
    def turns(self) -> int:
        """Trip count of the loop over the remaining parts."""
        return (self.split - self.first_together) // self.together

    @property
    def first_groups(self) -> tuple[Group, ...]:
        """Additions before the loop; the first part is loaded into the accumulators."""
        return self._groups(range(1, self.first_together))

    @property
    def groups(self) -> tuple[Group, ...]:
        """Additions of a trip of the loop."""
        return self._groups(range(self.together))

    def _groups(self, parts: range) -> tuple[Group, ...]:
        """Groups of these parts; pieces of a part where registers do not hold a whole part."""
        accesses = self.sums.accesses
        if not self.is_tight:
            return (tuple(self._piece(part, accesses) for part in parts),) if parts else ()
        room = room_for(len(self.sums.names)) // self.sums.width
        starts = range(0, len(accesses), room)
        return tuple((self._piece(part, accesses[i : i + room]),) for part in parts for i in starts)

    def _piece(self, part: int, accesses: tuple[PartialAccess, ...]) -> PartSums:
        return PartSums(
            accesses=tuple(
                PartialAccess(
                    registers=tuple(_renamed(name, part) for name in access.registers),
                    offset=part * self.sums.nbytes + access.offset,
                )
                for access in accesses
            ),
            sums=tuple(name for access in accesses for name in access.registers),
        )

    @property
    def block_bytes(self) -> int:
        """Bytes of all parts of a block tile."""
        return self.split * self.sums.nbytes

    @property
    def first_bytes(self) -> int:
        return self.first_together * self.sums.nbytes

    @property
    def turn_bytes(self) -> int:
        return self.together * self.sums.nbytes

    @property
    def is_batched(self) -> bool:
        return self.grid[2] > 1

    @property
    def last_part(self) -> int:
        return self.split - 1

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        across, down, products = self.grid
        blocks = across * down * products
        return sum_workspaces(blocks * self.block_bytes, blocks)

    @property
    def note(self) -> str:
        return (
            f"split-k: {self.split} slices, one per grid z"
            f"{' and matrix' if self.is_batched else ''}; the last-arriving CTA adds them"
        )

    @property
    def remark(self) -> str:
        return f"split-k: {self.split} slices, added in order by the last-arriving CTA"

    def launch(self, launch: Launch) -> Launch:
        """The launch of one CTA per block tile as one of a CTA for each part."""
        assert launch.tile is not None
        across, down, products = launch.grid
        return dataclasses.replace(
            launch,
            grid=(across, down, products * self.split),
            arguments=(*launch.arguments, *(w.name for w in self.workspaces)),
            tile=dataclasses.replace(launch.tile, parts=self.split),
        )


def is_last_arriving(schedule: GpuMatmul) -> bool:
    """Whether a schedule cuts k in parts that the same kernel adds."""
    return isinstance(schedule, SplitK) and schedule.one_kernel


def plan_last_arriving(
    schedule: GpuMatmul, sums: PartialSums, launch: Launch
) -> LastArriving | None:
    """Plan the reduction of a kernel with one CTA per block tile, whose threads hold `sums`.

    None if the schedule does not ask for it.
    """
    if not (isinstance(schedule, SplitK) and schedule.one_kernel):
        return None
    return LastArriving(sums=sums, split=schedule.split_k, grid=launch.grid)


def together(sums: int, split: int) -> int:
    """Parts of `sums` of a thread that are on their way at once."""
    return max(1, min(split, room_for(sums) // sums))


def room_for(sums: int) -> int:
    """Registers for parts that are on their way, beside a thread's `sums`."""
    return min(ON_THEIR_WAY, HELD - sums)


def registers_held(sums: int, split: int) -> int:
    """Registers of a thread's sums and of the parts that are added to them."""
    return sums + min(room_for(sums), sums * (split - 1))


def _renamed(accumulator: str, part: int) -> str:
    """Register of a part that is added to an accumulator."""
    return f"part{part}" + accumulator.removeprefix("acc")
