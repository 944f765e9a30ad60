"""Vouching: the lanes that took part when a warp released what it did.

A clock's time applies to a whole warp. If some lanes synchronise alone, the actions of the other
lanes stay unknown until these synchronise, too. For each time of a warp, the table holds the lanes
that took part in the synchronisation that ended it.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.order.lessons import bits_of_lanes
from kgen.emulate.ptx.types import Array

_ALL_LANES = 0xFFFFFFFF


class Vouching:
    """Table `lanes` [row, warp, time] as bit masks; all lanes unless noted otherwise."""

    def __init__(self, rows: int, warps: int) -> None:
        self.lanes = np.full((rows, warps, 8), _ALL_LANES, np.int64)

    def note(self, warps: Array, chosen: Array, now: Array) -> None:
        """Record that warps [row, warp] end their time `now` through these lanes [row, warp,
        32]."""
        rows, count, times = self.lanes.shape
        if int(now.max()) >= times:
            more = np.full((rows, count, 2 * int(now.max())), _ALL_LANES, np.int64)
            more[:, :, :times] = self.lanes
            self.lanes = more
        where = np.arange(rows)[:, None], np.arange(count), now
        bits = np.broadcast_to(bits_of_lanes(chosen).astype(np.int64), (rows, count))
        self.lanes[where] = np.where(warps, bits, self.lanes[where])

    def vouched(self, row: Array, other: Array, time: Array, known: Array) -> Array:
        """Return whether the threads `other` took part in a synchronisation at `time` or later, up
        to `known`."""
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
