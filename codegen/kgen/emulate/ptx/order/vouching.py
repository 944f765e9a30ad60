"""Which lanes speak for their warp when it makes known what it did.

A clock's time is that of a whole warp, but a lane that synchronises alone speaks for itself: what
the other lanes did stays unknown until they synchronise too. For each time of a warp, this holds
the lanes that took part in what ended it.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.order.lessons import bits_of_lanes
from kgen.emulate.ptx.types import Array

_ALL_LANES = 0xFFFFFFFF


class Vouching:
    """`lanes` [row, warp, time] as bits; all of them, where nothing else was noted."""

    def __init__(self, rows: int, warps: int) -> None:
        self.lanes = np.full((rows, warps, 8), _ALL_LANES, np.int64)

    def note(self, warps: Array, chosen: Array, now: Array) -> None:
        """Warps [row, warp] end their time `now` through these lanes [row, warp, 32]."""
        rows, count, times = self.lanes.shape
        if int(now.max()) >= times:
            more = np.full((rows, count, 2 * int(now.max())), _ALL_LANES, np.int64)
            more[:, :, :times] = self.lanes
            self.lanes = more
        where = np.arange(rows)[:, None], np.arange(count), now
        bits = np.broadcast_to(bits_of_lanes(chosen).astype(np.int64), (rows, count))
        self.lanes[where] = np.where(warps, bits, self.lanes[where])

    def vouched(self, row: Array, other: Array, time: Array, known: Array) -> Array:
        """Whether threads `other` took part, at `time` or later, in what made `known` known."""
        warp = other >> 5
        done: Array = warp >= self.lanes.shape[1]
        now, last = time.copy(), self.lanes.shape[2] - 1
        left: Array = np.flatnonzero(~done & (now <= known))
        while left.size:
            cluster = row[left] if len(self.lanes) > 1 else 0
            lanes = self.lanes[cluster, warp[left], np.minimum(now[left], last)]
            done[left] = (lanes >> (other[left] & 31)) & 1 == 1
            now[left] += 1
            left = left[~done[left] & (now[left] <= known[left])]
        return done
