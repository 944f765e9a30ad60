"""Record of the accesses of one kind to LDS: for each granule and wave, the last time and lane."""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.order.clocks import NO_BARRIER, NO_FENCE, Clocks
from kgen.emulate.llvm.types import Array
from kgen_runtime.values import frozen

#: Marks in place of a lane or a time: no access, and several lanes at once.
NONE = -1
_SEVERAL = -3


@frozen
class LdsAccess:
    """Granules that the active lanes access in one instruction; ``verb`` says how, for messages.

    ``row``, ``lane`` and ``wave`` are [active lane, 1].
    """

    machine: Chunk
    instruction: LlvmInstruction
    verb: str
    row: Array
    lane: Array
    wave: Array
    granules: Array
    """Flat indices into the tables: [active lane, granule]."""


@frozen
class UnorderedLds:
    """Accesses to LDS that a recorded access does not happen before."""

    where: Array
    """Mask of the accesses: [active lane, granule]."""
    who: str
    time: int
    why: str


class WaveRecord:
    """Tables [row, granule, wave], allocated with the first record.

    Only the last access of each wave is recorded: an access that is ordered after it is ordered
    after the wave's earlier ones too. A wave has one entry, not one for each lane, because lanes of
    other waves are ordered after all of its lanes or after none.
    """

    def __init__(self, granules: int, clocks: Clocks) -> None:
        self.clocks = clocks
        self.shape = (granules, clocks.waves)
        self.at = np.zeros((0, *self.shape), np.int32)
        self.lane = self.at

    def note(self, a: LdsAccess) -> None:
        """Record accesses that take place now."""
        self._spread()
        index = a.granules * self.clocks.waves + a.wave
        lane, at = self.lane.reshape(-1), self.at.reshape(-1)
        before = lane[index]
        stale = at[index] <= self.clocks.fenced[a.row, a.lane]
        new = np.where(stale | (before == NONE) | (before == a.lane), a.lane, _SEVERAL)
        lane[index] = new
        lane[index[lane[index] != new]] = _SEVERAL
        at[index] = self.clocks.time

    def insert(self, granules: Array, lanes: Array, times: Array) -> None:
        """Record accesses of lanes at past times; all arrays are [access]."""
        self._spread()
        index = granules * self.clocks.waves + lanes // self.clocks.wave
        lane, at = self.lane.reshape(-1), self.at.reshape(-1)
        later = times >= at[index]
        lane[index[later]], at[index[later]] = lanes[later], times[later]

    def unordered(self, a: LdsAccess) -> UnorderedLds | None:
        """Return recorded accesses that do not happen before these; None if there are none."""
        if not len(self.at):
            return None
        self._spread()
        clocks = self.clocks
        times = self.at.reshape(-1, clocks.waves)[a.granules]
        if times.max(initial=NONE) == NONE:
            return None
        other_wave = np.arange(clocks.waves) != a.wave[..., None]
        late = other_wave & (times > clocks.seen[a.row, a.wave])
        if np.count_nonzero(late):
            at, granule, wave = (int(index[0]) for index in np.nonzero(late))
            time = int(times[at, granule, wave])
            return UnorderedLds(
                where=late.any(axis=2), who=f"wave {wave}", time=time, why=NO_BARRIER
            )
        index = a.granules * clocks.waves + a.wave
        lane, at_ = self.lane.reshape(-1)[index], self.at.reshape(-1)[index]
        late = (lane != a.lane) & (at_ > clocks.fenced[a.row, a.lane])
        if not np.count_nonzero(late):
            return None
        other = int(lane[late][0])
        who = "several lanes" if other == _SEVERAL else f"lane {other}"
        return UnorderedLds(
            where=late, who=f"{who} of its wave", time=int(at_[late][0]), why=NO_FENCE
        )

    def _spread(self) -> None:
        """Give the tables as many rows as the clocks have; see :meth:`Clocks.spread`."""
        rows = len(self.clocks.fenced)
        if not len(self.at):
            self.at = np.full((rows, *self.shape), NONE, np.int32)
            self.lane = self.at.copy()
        elif len(self.at) < rows:
            self.at = self.at.repeat(rows, axis=0)
            self.lane = self.lane.repeat(rows, axis=0)
