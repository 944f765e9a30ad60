"""Who accessed global memory in one way since the launch began."""

from __future__ import annotations

import numpy as np

from kgen.emulate.access_log import AccessLog
from kgen.emulate.llvm.order.device_clocks import DeviceClocks
from kgen.emulate.llvm.types import Array
from kgen_runtime.values import frozen

#: In place of a lane.
_SEVERAL = -1


@frozen
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


@frozen
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
        self.log = AccessLog()
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
            places, mine = a.granules[several], lane[several]
            index, codes, times = self.log.about(places)
            logged = np.stack([places[index], mine[index], codes, times])
            pairs = np.concatenate([pairs, logged[:, mine[index] != codes - 1 >> 1]], axis=1)
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

    def _append(self, granules: Array, codes: Array, times: Array) -> None:
        self.log.append(granules, codes, (codes - 1 >> 1) // self.clocks.wave, times)
