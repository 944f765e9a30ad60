"""Record of the accesses of one kind (reads, atomic reads or atomic updates) to global memory."""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.order.device_clocks import DeviceClocks
from kgen.emulate.llvm.types import Array
from kgen.emulate.order.accessors import Accessors
from kgen_runtime.values import frozen

#: Layout of a tag, from the high bits to the low ones: ``time | lane | narrow``, plus 1.
_TIME = 32
_CODE = (1 << _TIME) - 1


@frozen
class GlobalAccess:
    """Accesses of the active lanes by one instruction; ``verb`` says how, for messages."""

    machine: Chunk
    instruction: LlvmInstruction
    verb: str
    lane: Array
    """Lanes, numbered across the launch: [active lane, 1]."""
    granules: Array
    """Granules: [active lane, granule]."""
    narrow: bool
    """Whether the accesses are atomic with a scope no wider than the workgroup."""

    def flat(self) -> tuple[Array, Array]:
        """Return (granule, lane) of each access, both 1-D."""
        lane = np.broadcast_to(self.lane, self.granules.shape)
        return self.granules.reshape(-1), lane.reshape(-1)


@frozen
class UnorderedGlobal:
    """Pairs of accesses to global memory that nothing orders: a current one and an earlier one.

    All arrays are [pair].
    """

    granule: Array
    lane: Array
    other: Array
    time: Array


class LaneRecord:
    """Lanes that accessed each granule, with the time."""

    def __init__(self, granules: int, clocks: DeviceClocks) -> None:
        self.clocks = clocks
        self.accessors = Accessors(
            granules, lambda tags: tags & _CODE, lambda codes: _lanes(codes) // clocks.wave
        )
        self.has_narrow = False

    def note(self, a: GlobalAccess) -> None:
        """Record accesses that take place now."""
        self.has_narrow |= a.narrow
        granules, lane = a.flat()
        self.accessors.note(
            granules,
            (self.clocks.time << _TIME) | (2 * lane + 1 + a.narrow),
            lambda which, last: self.clocks.before(lane[which], _lanes(last), last >> _TIME),
        )

    def unordered(self, a: GlobalAccess, *, atomic: bool) -> UnorderedGlobal | None:
        """Return recorded accesses that do not happen before these; None if there are none.

        If ``atomic``, these accesses and the recorded ones are all atomic. Then two accesses are
        unordered only if they are in different workgroups and one has a scope no wider than the
        workgroup.
        """
        if atomic and not (a.narrow or self.has_narrow):
            return None
        granules, lane = a.flat()
        last = self.accessors.last[granules]
        if not np.count_nonzero(last):
            return None
        # For a granule in the log, its first and its last access stand for all others.
        logged, tags, _ = self.accessors.before_last(granules)
        several = np.unique(logged)
        alone = np.flatnonzero((last > 0) & ~np.isin(granules, granules[several]))
        index = np.concatenate([alone, logged, several])
        tags = np.concatenate([last[alone], tags, last[several]])
        mine, other = lane[index], _lanes(tags)
        late = mine != other
        late[late] = ~self.clocks.before(mine[late], other[late], tags[late] >> _TIME)
        if atomic:
            size = self.clocks.lanes
            narrow = (tags & 1 == 0) | a.narrow
            late &= narrow & (mine // size != other // size)
        if not np.count_nonzero(late):
            return None
        return UnorderedGlobal(
            granule=granules[index[late]],
            lane=mine[late],
            other=other[late],
            time=tags[late] >> _TIME,
        )


def _lanes(tags: Array) -> Array:
    """Return the lanes of tags, or of tags without their times."""
    found: Array = (tags & _CODE) - 1 >> 1
    return found
