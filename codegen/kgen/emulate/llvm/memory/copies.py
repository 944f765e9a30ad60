"""Loads that go to LDS without passing through registers: asynchronous copies.

A copy is under way from its instruction until its wave waits for it; it lands as late as that.
Until then its bytes in LDS are poison, and no other wave may touch them. A wave waits

- at ``s.waitcnt`` with a small enough vmcnt, which counts the wave's later accesses to global
  memory, each as one, in order;
- at a release fence of workgroup scope or wider that is for LDS: LLVM waits for all copies there;
- before it reads what it copies itself: LLVM inserts that wait too.

The barrier alone does not wait. (What LLVM 22 makes of it on gfx90a, gfx942 and gfx950; "User Guide
for AMDGPU Backend", llvm.amdgcn.load.to.lds.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, waves_in
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.memory.lds import Lds
from kgen.emulate.llvm.types import Array


@dataclass(kw_only=True, eq=False)
class LdsCopy:
    """Asynchronous copy from global memory to LDS."""

    ins: LlvmInstruction
    offsets: Array
    """Offsets in LDS: [workgroup, lane]."""
    raw: Array
    lanes: Array
    """Lanes whose copy is under way."""
    number: Array
    """Accesses that each wave had begun, this one included: [workgroup, wave, 1]."""


class Copies:
    """The copies of a chunk of workgroups."""

    def __init__(self, m: Chunk, lds: Lds) -> None:
        self._lds = lds
        self.under_way: list[LdsCopy] = []
        self.begun = np.zeros((m.workgroups, m.lanes // m.wave, 1), np.int64)

    def count(self, m: Chunk) -> None:
        """The active waves begin an access to global memory."""
        self.begun += waves_in(m, m.mask)

    def start(self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array) -> None:
        """The active lanes copy ``raw`` to ``offsets`` of LDS."""
        self._lds.begin_copy(m, ins, offsets, raw)
        shape = (m.workgroups, m.lanes)
        self.under_way.append(
            LdsCopy(
                ins=ins,
                offsets=np.broadcast_to(offsets, shape),
                raw=np.broadcast_to(raw, shape),
                lanes=m.selected().copy(),
                number=self.begun.copy(),
            )
        )

    def land(self, m: Chunk, later: int = 0) -> None:
        """Land the copies of the active waves, but those among their ``later`` last accesses."""
        waves = waves_in(m, m.mask)
        for copy in list(self.under_way):
            self._end(m, copy, waves & (self.begun - copy.number >= later))

    def land_what_is_read(self, m: Chunk, offsets: Array, size: int) -> None:
        """The active waves' own copies to where they now read ``size`` bytes."""
        waves = waves_in(m, m.mask)
        low, high = _span(m, offsets, m.selected())
        for copy in list(self.under_way):
            start, end = _span(m, copy.offsets, copy.lanes)
            apart = (high + size <= start) | (end + copy.raw.dtype.itemsize <= low)
            self._end(m, copy, waves & ~apart)

    def _end(self, m: Chunk, copy: LdsCopy, waves: Array) -> None:
        lanes = copy.lanes & m.of_wave(waves[..., 0])
        if lanes.any():
            self._lds.end_copy(m, copy.ins, copy.offsets, copy.raw, lanes)
            copy.lanes &= ~lanes
            if not copy.lanes.any():
                self.under_way.remove(copy)

    def line_of(self, workgroup: int, lane: int) -> int:
        """Return the source line of the lane's last copy under way."""
        return next((c.ins.line for c in reversed(self.under_way) if c.lanes[workgroup, lane]), 0)


def _span(m: Chunk, offsets: Array, lanes: Array) -> tuple[Array, Array]:
    """The lowest and the highest offset of each wave's lanes: [workgroup, wave, 1]."""
    whole = np.broadcast_to(offsets, lanes.shape)
    nowhere = np.iinfo(np.int64)
    low = m.waves(np.where(lanes, whole, nowhere.max)).min(axis=2, keepdims=True)
    high = m.waves(np.where(lanes, whole, -1)).max(axis=2, keepdims=True)
    return low, high
