"""Asynchronous copies to LDS: loads whose data does not pass through registers.

A copy is in flight from its instruction until its wave waits for it, and the emulator completes it
no earlier. Until then its bytes in LDS are poison, and no other wave may access them. Three things
make a wave wait:

- ``s.waitcnt`` with a small enough vmcnt. The counter counts the wave's later accesses to global
  memory in order, each as one.
- A release fence for LDS of workgroup scope or wider: LLVM waits for all copies there.
- A read by the wave of the bytes that its own copy writes: LLVM inserts that wait too.

A barrier alone does not wait. Sources: the code that LLVM 22 generates for gfx90a, gfx942 and
gfx950, and "User Guide for AMDGPU Backend", llvm.amdgcn.load.to.lds.
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
    """Asynchronous copy instruction in flight from global memory to LDS."""

    ins: LlvmInstruction
    offsets: Array
    """Offset in LDS of each lane: [workgroup, lane]."""
    raw: Array
    lanes: Array
    """Lanes whose copy is in flight."""
    number: Array
    """Number of global accesses that each wave had begun, this one included: [workgroup, wave,
    1]."""


class Copies:
    """Copies in flight of a chunk of workgroups."""

    def __init__(self, m: Chunk, lds: Lds) -> None:
        self._lds = lds
        self.under_way: list[LdsCopy] = []
        self.begun = np.zeros((m.workgroups, m.lanes // m.wave, 1), np.int64)

    def count(self, m: Chunk) -> None:
        """Note that the active waves begin an access to global memory."""
        self.begun += waves_in(m, m.mask)

    def start(self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array) -> None:
        """Start a copy of ``raw`` to ``offsets`` in LDS for the active lanes."""
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
        """Complete the active waves' copies, except those among their last ``later`` global
        accesses."""
        waves = waves_in(m, m.mask)
        for copy in list(self.under_way):
            self._end(m, copy, waves & (self.begun - copy.number >= later))

    def land_what_is_read(self, m: Chunk, offsets: Array, size: int) -> None:
        """Complete the active waves' own copies to the ``size`` bytes that they read now."""
        waves = waves_in(m, m.mask)
        low, high = _span(m, offsets, m.selected())
        for copy in list(self.under_way):
            start, end = _span(m, copy.offsets, copy.lanes)
            apart = (high + size <= start) | (end + copy.raw.dtype.itemsize <= low)
            self._end(m, copy, waves & ~apart)

    def _end(self, m: Chunk, copy: LdsCopy, waves: Array) -> None:
        lanes = copy.lanes & m.of_wave(waves[..., 0])
        if np.count_nonzero(lanes):
            self._lds.end_copy(m, copy.ins, copy.offsets, copy.raw, lanes)
            copy.lanes &= ~lanes
            if not np.count_nonzero(copy.lanes):
                self.under_way.remove(copy)

    def line_of(self, workgroup: int, lane: int) -> int:
        """Return the source line of the lane's last copy in flight; 0 if it has none."""
        return next((c.ins.line for c in reversed(self.under_way) if c.lanes[workgroup, lane]), 0)


def _span(m: Chunk, offsets: Array, lanes: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest offset of each wave's lanes: [workgroup, wave, 1] each."""
    whole = np.broadcast_to(offsets, lanes.shape)
    nowhere = np.iinfo(np.int64)
    low = m.waves(np.where(lanes, whole, nowhere.max)).min(axis=2, keepdims=True)
    high = m.waves(np.where(lanes, whole, -1)).max(axis=2, keepdims=True)
    return low, high
