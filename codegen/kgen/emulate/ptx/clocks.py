"""Happens-before between the warps of a CTA, as vector clocks.

Every warp has a clock that advances when it synchronises. `seen[v, w]` is the time of warp w up to
which warp v knows everything that w did; an access that w made at time t is ordered before what v
does now if t <= seen[v, w]. A warp's own accesses at its present time are *not* in seen[v, v]: its
lanes are only ordered by bar.warp.sync or more (PTX ISA 8, Memory Consistency Model: synchronises-
with through barriers).
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.types import Array


class Clocks:
    """`own` [row, warp] and `seen` [row, warp, warp], with one row while all CTAs agree."""

    def __init__(self, ctas: int, warps: int) -> None:
        self.ctas, self.warps = ctas, warps
        self.own = np.ones((1, warps), np.int64)
        self.seen = np.zeros((1, warps, warps), np.int64)

    @property
    def rows(self) -> int:
        return len(self.own)

    def split(self) -> None:
        """Give every CTA a row of its own."""
        if self.rows < self.ctas:
            self.own = np.repeat(self.own, self.ctas, axis=0)
            self.seen = np.repeat(self.seen, self.ctas, axis=0)

    def join_all(self) -> None:
        """A barrier of all warps of all CTAs; everything before it is ordered before all after."""
        now = int(self.own.max())
        self.own = np.full((1, self.warps), now + 1)
        self.seen = np.full((1, self.warps, self.warps), now)

    def release(self, warps: Array) -> Array:
        """What these warps [C, W] know and did until now, as a time [C, W] of every warp.

        What they do from now on is later.
        """
        self.split()
        known: Array = np.where(warps[:, :, None], self.seen, 0).max(axis=1)
        known = np.maximum(known, np.where(warps, self.own, 0))
        self.own = self.own + warps
        return known

    def acquire(self, warps: Array, known: Array) -> None:
        """These warps [C, W] learn what others released."""
        self.split()
        learned = np.maximum(self.seen, known[:, None, :])
        self.seen = np.where(warps[:, :, None], learned, self.seen)

    def warp_barrier(self, warps: Array | None) -> None:
        """bar.warp.sync in the warps of the mask [rows, W]; None for all."""
        if warps is not None and len(warps) > 1:
            self.split()
        moved = np.ones((1, self.warps), bool) if warps is None else warps
        moved = np.broadcast_to(moved, self.own.shape)
        warp = np.arange(self.warps)
        self.seen = self.seen.copy()
        self.seen[:, warp, warp] = np.where(moved, self.own, self.seen[:, warp, warp])
        self.own = self.own + moved
