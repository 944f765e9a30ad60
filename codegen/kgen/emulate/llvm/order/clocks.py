"""Happens-before in one memory, for a chunk of workgroups.

Time is a count of the accesses to the memory. An access of one lane happened before one of another
lane

- of the same wave: when both lanes passed a fence in between. Lanes of a wave do execute in
  lockstep, but without a fence LLVM may exchange the two accesses;
- of another wave: when its wave released (a fence of workgroup scope or wider), then what it
  released was passed on by a barrier, or by an atomic that the other wave's atomic read, and the
  other wave acquired it (a fence again). Neither the barrier nor the atomic alone orders anything
  else (LLVM "User Guide for AMDGPU Backend", memory model).

A fence that some lanes of a wave execute is one of the wave, as in hardware. What a wave knows is a
vector clock: for each wave, the time up to which its accesses happened before.

Workgroups that do the same thing share one row of every table: the common case costs as little as
one workgroup. The first event that differs between workgroups gives each its own row.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, waves_in
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array

NO_BARRIER = "no barrier with fences around it orders the two"
NO_FENCE = "no fence orders the two"


class Clocks:
    """Tables over [row, lane], and [row, wave, wave]: of each wave, what it has of the others."""

    def __init__(self, lanes: int, wave: int) -> None:
        self.lanes = lanes
        self.wave = wave
        self.waves = lanes // wave
        self.time = 0
        #: The source line of the access at each time.
        self.history = array("i", [0])
        self.reset()

    def reset(self) -> None:
        """Reset all vector clocks."""
        lanes, waves = self.lanes, self.waves
        #: The time of each lane's last fence.
        self.fenced = np.zeros((1, lanes), np.int32)
        #: What each wave knows, what it knew at its last release, what barriers and atomics have
        #: given it since its last acquire, and what it had released when it signalled.
        self.seen = np.zeros((1, waves, waves), np.int32)
        self.released = np.zeros((1, waves, waves), np.int32)
        self.pending = np.zeros((1, waves, waves), np.int32)
        self.arrived = np.zeros((1, waves, waves), np.int32)
        self.has_arrived = np.zeros((1, waves, 1), np.bool_)

    def tick(self, ins: LlvmInstruction) -> None:
        """An access takes place now."""
        self.time += 1
        self.history.append(ins.line)

    def line_at(self, time: int) -> str:
        return f"line {self.history[time]}"

    # -- synchronisation ------------------------------------------------------------------------

    def fence(self, m: Chunk, *, release: bool, acquire: bool, device: bool) -> None:
        """The active lanes order their accesses with their wave, and as said with other waves;
        with other workgroups if the fence reaches the ``device``."""
        self.spread(m, m.mask)
        mask = np.True_ if m.mask is None else m.mask
        self.fenced = np.where(mask, np.int32(self.time), self.fenced)
        waves = waves_in(m, m.mask)
        if acquire:
            self.seen = np.where(waves, np.maximum(self.seen, self.pending), self.seen)
        if release:
            self.released = np.where(waves, self._known_now(), self.released)

    def signal(self, m: Chunk) -> None:
        """The active waves arrive at a split barrier; later releases are not covered by it."""
        self.spread(m, m.mask)
        waves = waves_in(m, m.mask)
        self.arrived = np.where(waves, self.released, self.arrived)
        self.has_arrived = self.has_arrived | waves

    def barrier(self, m: Chunk, lanes: Array | None) -> None:
        """The waves of these lanes (None: all) leave a barrier that their workgroup completed."""
        self.spread(m, lanes)
        waves = waves_in(m, lanes)
        given = np.where(self.has_arrived, self.arrived, self.released)
        joint = np.where(waves, given, 0).max(axis=1, keepdims=True)
        self.pending = np.where(waves, np.maximum(self.pending, joint), self.pending)
        self.has_arrived = self.has_arrived & ~waves

    def _known_now(self) -> Array:
        """Return what each wave knows, with all of its own accesses."""
        own = np.eye(self.seen.shape[1], dtype=np.bool_)
        return np.where(own, np.int32(self.time), self.seen)

    def spread(self, m: Chunk, differs: Array | None) -> None:
        """Give each workgroup its own row if ``differs`` tells workgroups apart."""
        if differs is None or differs.shape[0] == 1 or len(self.fenced) > 1 or m.workgroups == 1:
            return
        for name, table in list(self._tables()):
            setattr(self, name, np.repeat(table, m.workgroups, axis=0))

    def _tables(self) -> Iterator[tuple[str, Array]]:
        return ((k, v) for k, v in vars(self).items() if isinstance(v, np.ndarray))

    # -- order ----------------------------------------------------------------------------------

    def ordered(self, row: Array, lane: Array, other: Array, time: Array) -> Array:
        """Whether the access of lane ``other`` of the same workgroup at ``time`` happened before
        one that ``lane`` makes now. All broadcast together."""
        wave, others = lane // self.wave, other // self.wave
        within = np.minimum(self.fenced[row, lane], self.fenced[row, other])
        horizon = np.where(wave == others, within, self.seen[row, wave, others])
        return np.asarray((time <= horizon) | (lane == other))
