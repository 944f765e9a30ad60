"""Split-k in one kernel: the last-arriving CTA of a block tile adds the partial sums of all.

Each CTA stores its sums to a workspace and increments the block tile's counter, an atomic with
release and acquire semantics. The CTA that arrives last adds all parts, its own included, in the
order of k. No CTA waits, so CTAs need not run at the same time. The counter wraps to zero for the
next launch.
"""

from __future__ import annotations

import dataclasses

from kgen.schedule import GpuMatmul, SplitK
from kgen.targets.contraction.partial_sums import PartialAccess, PartialSums, sum_workspaces
from kgen_runtime.manifest import Extent3, Launch, Workspace
from kgen_runtime.values import frozen

#: Most registers of a thread for accumulators and loaded parts together, and for loaded parts
#: alone. Loads of several parts share one latency of L2.
HELD, ON_THEIR_WAY = 192, 128


@frozen
class PartSums:
    """Sums of a thread in one part: their loads, and the accumulators `sums` to which they are
    added."""

    accesses: tuple[PartialAccess, ...]
    sums: tuple[str, ...]

    @property
    def registers(self) -> tuple[str, ...]:
        return tuple(name for access in self.accesses for name in access.registers)


#: Parts that are loaded before any of them is added.
Group = tuple[PartSums, ...]


@frozen
class LastArriving:
    """Reduction of `split` parts of each block tile of `grid` (x, y, products)."""

    sums: PartialSums
    split: int
    grid: Extent3

    @property
    def together(self) -> int:
        """Parts that an iteration of the loop adds."""
        return together(len(self.sums.names), self.split)

    @property
    def first_together(self) -> int:
        """Parts that are added before the loop: the remainder of whole iterations."""
        return self.split % self.together or self.together

    @property
    def is_tight(self) -> bool:
        """Whether the registers for parts hold less than one part."""
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
        """Additions of an iteration of the loop."""
        return self._groups(range(self.together))

    def _groups(self, parts: range) -> tuple[Group, ...]:
        """Return the groups of these parts; pieces of a part if registers do not hold a whole
        part."""
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
        """Return the launch of one CTA per part, given that of one CTA per block tile."""
        assert launch.tile is not None
        across, down, products = launch.grid
        return dataclasses.replace(
            launch,
            grid=(across, down, products * self.split),
            arguments=(*launch.arguments, *(w.name for w in self.workspaces)),
            tile=dataclasses.replace(launch.tile, parts=self.split),
        )


def is_last_arriving(schedule: GpuMatmul) -> bool:
    """Return whether a schedule has split-k slices that the same kernel adds."""
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
    """Return the parts, of `sums` each, that a thread loads at once."""
    return max(1, min(split, room_for(sums) // sums))


def room_for(sums: int) -> int:
    """Return the registers for loaded parts, beside a thread's `sums`."""
    return min(ON_THEIR_WAY, HELD - sums)


def registers_held(sums: int, split: int) -> int:
    """Return the registers of a thread's sums and of the parts that are added to them."""
    return sums + min(room_for(sums), sums * (split - 1))


def _renamed(accumulator: str, part: int) -> str:
    """Return the register of a part that is added to an accumulator."""
    return f"part{part}" + accumulator.removeprefix("acc")
