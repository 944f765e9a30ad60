"""Vector clocks of the waves of a chunk: the happens-before relation in one memory.

Time counts the accesses to the memory. An access of one lane happens before an access of another
lane if

- both are in one wave, and both lanes passed a fence in between. The lanes of a wave execute in
  lockstep, but LLVM may reorder two accesses that no fence separates;
- or they are in two waves: the first wave released (a fence of workgroup scope or wider), a barrier
  or a pair of atomics carried the release to the second wave, and the second wave acquired (again a
  fence). Neither the barrier nor the atomics order anything without the fences (LLVM "User Guide
  for AMDGPU Backend", memory model).

A fence that some lanes of a wave execute counts for the whole wave, as in hardware. The vector
clock of a wave holds, for each wave, the time up to which that wave's accesses happened before.

Workgroups that behave alike share one row of every table. The first event that tells workgroups
apart gives each its own row.
"""

from __future__ import annotations

from array import array

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, waves_in
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array

NO_BARRIER = "no barrier with fences around it orders the two"
NO_FENCE = "no fence orders the two"


class Clocks:
    """Clock tables over [row, lane], and vector clocks over [row, wave, other wave]."""

    def __init__(self, lanes: int, wave: int) -> None:
        self.lanes = lanes
        self.wave = wave
        self.waves = lanes // wave
        self.time = 0
        #: Source line of the access at each time.
        self.history = array("i", [0])
        self.reset()

    def reset(self) -> None:
        lanes, waves = self.lanes, self.waves
        #: Time of each lane's last fence.
        self.fenced = np.zeros((1, lanes), np.int32)
        #: Vector clocks of each wave: ``seen`` is its current one, ``released`` the one at its last
        #: release, ``pending`` collects the clocks from barriers and atomics until the next
        #: acquire, and ``arrived`` is what it had released when it signalled a split barrier.
        self.seen = np.zeros((1, waves, waves), np.int32)
        self.released = np.zeros((1, waves, waves), np.int32)
        self.pending = np.zeros((1, waves, waves), np.int32)
        self.arrived = np.zeros((1, waves, waves), np.int32)
        self.has_arrived = np.zeros((1, waves, 1), np.bool_)

    def tick(self, ins: LlvmInstruction) -> None:
        """Advance the time for an access."""
        self.time += 1
        self.history.append(ins.line)

    def line_at(self, time: int) -> str:
        return f"line {self.history[time]}"

    # -- synchronisation ------------------------------------------------------------------------

    def fence(self, m: Chunk, *, release: bool, acquire: bool, device: bool) -> None:
        """Record a fence of the active lanes.

        It always orders their accesses within the wave. ``release`` and ``acquire`` order them with
        other waves of the workgroup, and with other workgroups if the fence has ``device`` scope.
        """
        self.spread(m, m.mask)
        mask = np.True_ if m.mask is None else m.mask
        self.fenced = np.where(mask, np.int32(self.time), self.fenced)
        waves = waves_in(m, m.mask)
        if acquire:
            self.seen = np.where(waves, np.maximum(self.seen, self.pending), self.seen)
        if release:
            self.released = np.where(waves, self._known_now(), self.released)

    def signal(self, m: Chunk) -> None:
        """Record that the active waves arrive at a split barrier, which does not cover their later
        releases."""
        self.spread(m, m.mask)
        waves = waves_in(m, m.mask)
        self.arrived = np.where(waves, self.released, self.arrived)
        self.has_arrived = self.has_arrived | waves

    def barrier(self, m: Chunk, lanes: Array | None) -> None:
        """Record that the waves of ``lanes`` (None: all) leave a barrier that their workgroup
        completed."""
        self.spread(m, lanes)
        waves = waves_in(m, lanes)
        given = np.where(self.has_arrived, self.arrived, self.released)
        joint = np.where(waves, given, 0).max(axis=1, keepdims=True)
        self.pending = np.where(waves, np.maximum(self.pending, joint), self.pending)
        self.has_arrived = self.has_arrived & ~waves

    def _known_now(self) -> Array:
        """Return each wave's vector clock, including its own accesses up to now."""
        own = np.eye(self.seen.shape[1], dtype=np.bool_)
        return np.where(own, np.int32(self.time), self.seen)

    def spread(self, m: Chunk, differs: Array | None) -> None:
        """Give each workgroup its own row if ``differs``, an array over workgroups, has more than
        one row."""
        if differs is None or differs.shape[0] == 1 or len(self.fenced) > 1 or m.workgroups == 1:
            return
        for name, table in [*vars(self).items()]:
            if isinstance(table, np.ndarray):
                setattr(self, name, np.repeat(table, m.workgroups, axis=0))

    # -- order ----------------------------------------------------------------------------------

    def ordered(self, row: Array, lane: Array, other: Array, time: Array) -> Array:
        """Return whether an earlier access of lane ``other`` at ``time`` happens before one of
        ``lane`` now.

        Both lanes are in the workgroup of ``row``. The arrays broadcast together.
        """
        wave, others = lane // self.wave, other // self.wave
        within = np.minimum(self.fenced[row, lane], self.fenced[row, other])
        horizon = np.where(wave == others, within, self.seen[row, wave, others])
        return np.asarray((time <= horizon) | (lane == other))
