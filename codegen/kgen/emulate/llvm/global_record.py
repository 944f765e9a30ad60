"""Who accessed global memory in one way since the launch began."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.emulate.llvm.device_clocks import DeviceClocks
from kgen.emulate.llvm.types import Array

#: In place of a lane.
_SEVERAL = -1
#: The log is gone through when it has as many entries, and whenever it has doubled since.
_LARGE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class GlobalAccess:
    """What the active lanes touch in one instruction."""

    lane: Array
    """[active lane, 1], numbered through the launch."""
    granules: Array
    """[active lane, granule]"""
    narrow: bool
    """Whether it is an atomic that reaches no further than its workgroup."""

    def codes(self) -> Array:
        """Of each lane, for the tables: [active lane, 1], above 0."""
        return np.asarray(2 * self.lane + 1 + self.narrow)


@dataclass(frozen=True, kw_only=True)
class Unordered:
    """Pairs of an access of now and one before that it is not ordered after: arrays [pair]."""

    granule: Array
    lane: Array
    other: Array
    time: Array


class LaneRecord:
    """For each granule the last lane, as a code, and when; the log has all of several lanes.

    Where lanes access a granule in an order that is given, the last stands for all.
    """

    def __init__(self, granules: int, clocks: DeviceClocks) -> None:
        self.clocks = clocks
        # Zeros take memory only where they are touched.
        self.last = np.zeros(granules, np.int32)
        self.at = np.zeros(granules, np.int32)
        #: [granule, code, time] of accesses, in pieces.
        self.log: list[Array] = []
        self.logged, self.limit = 0, _LARGE
        self.has_narrow = False

    def note(self, a: GlobalAccess) -> None:
        """Remember an access that takes place now."""
        self.has_narrow |= a.narrow
        before = self.last[a.granules]
        code = np.broadcast_to(a.codes(), before.shape)
        other = (before > 0) & (before != code)
        alone = before != _SEVERAL
        if other.any():
            lane, at = code[other] - 1 >> 1, self.at[a.granules[other]]
            alone[other] = self.clocks.before(lane, before[other] - 1 >> 1, at)
            left = ~alone & other
            self._append(a.granules[left], before[left], self.at[a.granules[left]])
        new = np.where(alone, code, _SEVERAL)
        self.last[a.granules] = new
        lost = self.last[a.granules] != new  # another lane of this instruction is there too
        shared = lost | (new == _SEVERAL)
        if shared.any():
            both = np.isin(a.granules, a.granules[shared])
            now = np.full(int(both.sum()), self.clocks.time)
            self._append(a.granules[both], code[both], now)
            self.last[a.granules[both]] = _SEVERAL
        self.at[a.granules] = self.clocks.time

    def unordered(self, a: GlobalAccess, *, atomic: bool) -> Unordered | None:
        """What other lanes did that is not ordered before an access of now; if that is as
        ``atomic`` as what is recorded, only where a scope is too narrow for both."""
        if atomic and not (a.narrow or self.has_narrow):
            return None
        code = self.last[a.granules]
        if not code.any():
            return None
        single = (code > 0) & (code - 1 >> 1 != a.lane)
        lane = np.broadcast_to(a.lane, code.shape)
        places = a.granules[single]
        pairs = np.stack([places, lane[single], code[single], self.at[places]])
        several = code == _SEVERAL
        if several.any():
            logged = self._logged(a.granules[several], lane[several])
            pairs = np.concatenate([pairs, logged], axis=1)
        other = pairs[2] - 1 >> 1
        late = ~self.clocks.before(pairs[1], other, pairs[3])
        if atomic:
            size = self.clocks.lanes
            narrow = (pairs[2] & 1 == 0) | a.narrow
            late &= narrow & (pairs[1] // size != other // size)
        if not late.any():
            return None
        pairs = pairs[:, late]
        return Unordered(granule=pairs[0], lane=pairs[1], other=other[late], time=pairs[3])

    def _logged(self, granules: Array, lanes: Array) -> Array:
        """[granule, lane of now, code, time] of the log's entries about granules. Of many lanes at
        one granule the first and the last are compared."""
        self.log = [np.concatenate(self.log, axis=1)]
        granule, code, time = self.log[0]
        order = np.lexsort((lanes, granules))
        granules, lanes = granules[order], lanes[order]
        first = np.minimum(np.searchsorted(granules, granule), len(granules) - 1)
        last = np.maximum(np.searchsorted(granules, granule, "right") - 1, 0)
        found = granules[first] == granule
        both = [np.stack([granule, lanes[end], code, time])[:, found] for end in (first, last)]
        pairs: Array = np.concatenate(both, axis=1)
        return pairs[:, pairs[1] != pairs[2] - 1 >> 1]

    def _append(self, granules: Array, codes: Array, times: Array) -> None:
        """Two lanes of a wave stand for the others, if it is one instruction: one for any that
        later writes."""
        if not len(granules):
            return
        waves = (codes - 1 >> 1) // self.clocks.wave
        order = np.lexsort((codes, waves, granules))
        granules, waves = granules[order], waves[order]
        step = (granules[1:] != granules[:-1]) | (waves[1:] != waves[:-1])
        keep = np.concatenate([[True], step]) | np.concatenate([step, [True]])
        entries = np.stack([granules, codes[order], times[order]])[:, keep]
        self.log.append(entries)
        self.logged += entries.shape[1]
        if self.logged > self.limit:
            self._compress()

    def _compress(self) -> None:
        """Of each lane's accesses to a granule only the last matters."""
        whole = np.concatenate(self.log, axis=1)
        granules, codes, _ = whole = whole[:, np.lexsort((whole[2], whole[1], whole[0]))]
        step = (granules[1:] != granules[:-1]) | (codes[1:] != codes[:-1])
        self.log = [whole[:, np.concatenate([step, [True]])]]
        self.logged = self.log[0].shape[1]
        self.limit = max(_LARGE, 2 * self.logged)
