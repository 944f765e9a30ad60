"""Who accessed LDS in one way: for every wave the last time, and the lane."""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.order.clocks import NO_BARRIER, NO_FENCE, Clocks
from kgen.emulate.llvm.types import Array
from kgen_runtime.values import frozen

#: In place of a time or a lane.
NONE = -1
_SEVERAL = -3


@frozen
class LdsAccess:
    """The granules that the active lanes touch in one instruction: arrays [lane, 1] against
    [lane, granule]."""

    row: Array
    lane: Array
    wave: Array
    granules: Array
    """[lane, granule] flat index into the tables."""


@frozen
class UnorderedLds:
    """Accesses to LDS that a recorded access did not happen before."""

    where: Array
    """[lane, granule]"""
    who: str
    time: int
    why: str


class WaveRecord:
    """Tables [row, granule, wave], made when there is something to record.

    The last access of a wave stands for all before it: what is ordered after it is ordered after
    them. So do the lanes of a wave for each other, towards lanes of other waves.
    """

    def __init__(self, granules: int, clocks: Clocks) -> None:
        self.clocks = clocks
        self.shape = (granules, clocks.waves)
        self.at = np.zeros((0, *self.shape), np.int32)
        self.lane = self.at

    def note(self, a: LdsAccess) -> None:
        """Remember an access that takes place now."""
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
        """Remember accesses of lanes at times of the past; all arrays are [access]."""
        self._spread()
        index = granules * self.clocks.waves + lanes // self.clocks.wave
        lane, at = self.lane.reshape(-1), self.at.reshape(-1)
        later = times >= at[index]
        lane[index[later]], at[index[later]] = lanes[later], times[later]

    def unordered(self, a: LdsAccess) -> UnorderedLds | None:
        """Find recorded accesses that are not ordered before this one."""
        if not len(self.at):
            return None
        self._spread()
        clocks = self.clocks
        times = self.at.reshape(-1, clocks.waves)[a.granules]
        if times.max(initial=NONE) == NONE:
            return None
        other_wave = np.arange(clocks.waves) != a.wave[..., None]
        late = other_wave & (times > clocks.seen[a.row, a.wave])
        if late.any():
            at, granule, wave = (int(index[0]) for index in np.nonzero(late))
            time = int(times[at, granule, wave])
            return UnorderedLds(
                where=late.any(axis=2), who=f"wave {wave}", time=time, why=NO_BARRIER
            )
        index = a.granules * clocks.waves + a.wave
        lane, at_ = self.lane.reshape(-1)[index], self.at.reshape(-1)[index]
        late = (lane != a.lane) & (at_ > clocks.fenced[a.row, a.lane])
        if not late.any():
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
