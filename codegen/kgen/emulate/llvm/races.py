"""What the checks know of every granule of LDS: who wrote it, who read it, and when.

Time is a count of LDS instructions. Two accesses of different lanes to one granule, one of them a
write, are ordered

- between waves: when after the first access its lane released (a fence of workgroup scope or
  wider), then all waves passed a barrier, then the lane of the second access acquired (a fence
  again). The barrier alone orders no memory (LLVM "User Guide for AMDGPU Backend", memory model);
- within a wave: when the wave passed a fence in between. Lanes of a wave do execute in lockstep,
  but without a fence LLVM may exchange the two accesses.

Workgroups that do the same thing share one row of every table: the common case costs as little as
one workgroup. The first access that differs between workgroups gives each its own row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.types import Array

if TYPE_CHECKING:
    from kgen.emulate.llvm.machine import Machine

#: Codes in place of a time, a lane or a wave.
_NONE = -1
_GAP = -4
_ATOMIC = -2
_SEVERAL = -3

_BARRIER = "no barrier between fences orders them"
_FENCE = "no fence orders them"


@dataclass(frozen=True, kw_only=True)
class _Access:
    """The granules that the active lanes touch in one instruction: arrays [lane] or [lane, 1]
    against [lane, granule]."""

    row: Array
    lane: Array
    wave: Array
    granules: Array
    """[lane, granule] flat index into the tables."""


class LdsShadow:
    """Tables over [row, granule] and [row, lane]; ``row`` is 1 or the number of workgroups."""

    def __init__(
        self, size: int, granule: int, lanes: int, wave: int, gaps: Sequence[range]
    ) -> None:
        """``gaps`` are the bytes between arrays, which nothing may touch."""
        self.granule = granule
        self.wave = wave
        count = -(-size // granule)
        self.writer = np.full((1, count), _NONE, np.int32)
        self.written_at = np.full((1, count), _NONE, np.int32)
        # The waves that read since the last barrier, and the lanes of the last wave that did since
        # its last fence.
        self.reader_wave = np.full((1, count), _NONE, np.int32)
        self.read_at = np.full((1, count), _NONE, np.int32)
        self.reader_lane = np.full((1, count), _NONE, np.int32)
        self.read_in_wave_at = np.full((1, count), _NONE, np.int32)
        for gap in gaps:
            self.written_at[:, -(-gap.start // granule) : gap.stop // granule] = _GAP
        # Of each lane, the time of its last fence, of its last release, of the release that the
        # last barrier passed on, and of the one before.
        self.fenced = np.zeros((1, lanes), np.int32)
        self.released = np.zeros((1, lanes), np.int32)
        self.passed = np.zeros((1, lanes), np.int32)
        self.passed_before = np.zeros((1, lanes), np.int32)
        self.acquired = np.ones((1, lanes), np.bool_)
        self.arrived = np.full((1, lanes), _NONE, np.int32)
        self.time = 0

    # -- synchronisation ------------------------------------------------------------------------

    def fence(self, m: Machine, *, release: bool, acquire: bool) -> None:
        """The active lanes order their accesses with their wave, and as said with others."""
        self._set(m, m.mask, "fenced", self.time)
        if release:
            self._set(m, m.mask, "released", self.time)
        if acquire:
            self._set(m, m.mask, "acquired", True)

    def signal(self, m: Machine) -> None:
        """The active lanes arrive at a split barrier; later releases are not covered by it."""
        self._set(m, m.mask, "arrived", self.released)

    def barrier(self, m: Machine, lanes: Array | None) -> None:
        """These lanes (None: all) leave a barrier that their workgroup completed."""
        at = np.where(self.arrived == _NONE, self.released, self.arrived)
        self._set(m, lanes, "passed_before", self.passed)
        self._set(m, lanes, "passed", at)
        self._set(m, lanes, "acquired", False)
        self._set(m, lanes, "arrived", _NONE)

    def _set(self, m: Machine, mask: Array | None, table: str, value: Array | int | bool) -> None:
        self._spread(m, mask)
        old: Array = getattr(self, table)
        setattr(
            self, table, np.where(np.True_ if mask is None else mask, value, old).astype(old.dtype)
        )

    def _horizon(self, a: _Access, other: Array) -> Array:
        """The time up to which accesses of the lanes ``other`` happened before this access."""
        acquired = self.acquired[a.row, a.lane]
        return np.where(acquired, self.passed[a.row, other], self.passed_before[a.row, other])

    def _spread(self, m: Machine, differs: Array | None) -> None:
        """Give each workgroup its own row if ``differs`` tells workgroups apart."""
        if differs is None or differs.shape[0] == 1 or len(self.writer) > 1:
            return
        for name, table in vars(self).items():
            if isinstance(table, np.ndarray):
                setattr(self, name, np.repeat(table, m.workgroups, axis=0))

    # -- accesses -------------------------------------------------------------------------------

    def read(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> None:
        a = self._access(m, offsets, size)
        self._check_written(m, ins, a, "reads")
        self._check_writer(m, ins, a, "reads")
        self._note_wave(a)
        self._note_lane(a)

    def write(self, m: Machine, ins: Instruction, offsets: Array, raw: Array) -> None:
        a = self._access(m, offsets, raw.dtype.itemsize)
        self._check_gaps(m, ins, a, "writes")
        self._check_writer(m, ins, a, "writes")
        self._check_readers(m, ins, a)
        writer = self.writer.reshape(-1)
        writer[a.granules] = a.lane
        self.written_at.reshape(-1)[a.granules] = self.time
        if (writer[a.granules] != a.lane).any():
            self._check_collisions(m, ins, a, raw)

    def atomic(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> None:
        a = self._access(m, offsets, size)
        self._check_written(m, ins, a, "updates")
        plain = self.writer.reshape(-1)[a.granules] != _ATOMIC
        self._check_writer(m, ins, a, "updates", among=plain)
        self._check_readers(m, ins, a)
        self.writer.reshape(-1)[a.granules] = _ATOMIC
        self.written_at.reshape(-1)[a.granules] = self.time

    def _access(self, m: Machine, offsets: Array, size: int) -> _Access:
        self.time += 1
        self._spread(m, m.mask)
        self._spread(m, offsets)
        rows, lanes = self.fenced.shape
        full = np.broadcast_to(offsets, (rows, lanes))
        if m.mask is None:
            row, lane = (index.reshape(-1) for index in np.indices((rows, lanes), sparse=False))
            first = full.reshape(-1) // self.granule
        else:
            row, lane = np.nonzero(np.broadcast_to(m.mask, (rows, lanes)))
            first = full[row, lane] // self.granule
        count = -(-size // self.granule)
        start = first + row * self.writer.shape[1]
        return _Access(
            row=row[:, None],
            lane=lane[:, None],
            wave=lane[:, None] // self.wave,
            granules=start[:, None] + np.arange(count),
        )

    def _check_gaps(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        gap = self.written_at.reshape(-1)[a.granules] == _GAP
        if gap.any():
            self._fault(m, ins, a, gap, "out-of-bounds", verb, "between two arrays")

    def _check_written(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        bad = self.written_at.reshape(-1)[a.granules] < 0
        if bad.any():
            self._check_gaps(m, ins, a, verb)
            self._fault(m, ins, a, bad, "uninitialised-read", verb, "which nothing wrote")

    def _check_writer(
        self, m: Machine, ins: Instruction, a: _Access, verb: str, among: Array | None = None
    ) -> None:
        """The last write to each granule is the lane's own or ordered before this access."""
        writer = self.writer.reshape(-1)[a.granules]
        foreign = writer != a.lane
        if among is not None:
            foreign &= among
        if not foreign.any():
            return
        written = self.written_at.reshape(-1)[a.granules]
        in_wave = (writer // self.wave == a.wave) & (writer >= 0)
        horizon = np.where(
            in_wave, self.fenced[a.row, a.lane], self._horizon(a, np.maximum(writer, 0))
        )
        race = foreign & (written > horizon)
        if race.any():
            other = int(writer[race][0])
            who = "an atomic" if other == _ATOMIC else f"lane {other}"
            why = _FENCE if in_wave[race][0] else _BARRIER
            self._fault(m, ins, a, race, "race", verb, f"written by {who}; {why}")

    def _check_readers(self, m: Machine, ins: Instruction, a: _Access) -> None:
        """No other lane has read a granule about to be written, unless ordered before."""
        wave = self.reader_wave.reshape(-1)[a.granules]
        read = self.read_at.reshape(-1)[a.granules]
        race = (wave != a.wave) & (read > self._horizon(a, a.lane))
        if race.any():
            other = int(wave[race][0])
            who = "several waves" if other == _SEVERAL else f"wave {other}"
            self._fault(m, ins, a, race, "race", "writes", f"read by {who}; {_BARRIER}")
        lane = self.reader_lane.reshape(-1)[a.granules]
        read = self.read_in_wave_at.reshape(-1)[a.granules]
        race = (lane != a.lane) & (wave == a.wave) & (read > self.fenced[a.row, a.lane])
        if race.any():
            other = int(lane[race][0])
            who = "several lanes" if other == _SEVERAL else f"lane {other}"
            self._fault(m, ins, a, race, "race", "writes", f"read by {who} of its wave; {_FENCE}")

    def _check_collisions(self, m: Machine, ins: Instruction, a: _Access, raw: Array) -> None:
        """Lanes of one wave may store the same value to the same place, as hardware does."""
        winner = self.writer.reshape(-1)[a.granules]
        lost = winner != a.lane
        values = np.broadcast_to(raw, (m.workgroups, m.lanes))
        mine, theirs = np.nonzero(lost)[0], winner[lost]
        rows = slice(None) if len(self.writer) == 1 else a.row[mine, 0]
        same = values[rows, a.lane[mine, 0]] == values[rows, theirs]
        same = same.all(axis=0) if same.ndim == 2 else same
        race = np.zeros_like(lost)
        race[lost] = ~(same & (theirs // self.wave == a.wave[mine, 0]))
        if race.any():
            other = int(winner[race][0])
            self._fault(m, ins, a, race, "race", "writes", f"written by lane {other} as well")

    def _note_wave(self, a: _Access) -> None:
        table, read = self.reader_wave.reshape(-1), self.read_at.reshape(-1)
        before = table[a.granules]
        stale = read[a.granules] <= self._horizon(a, a.lane)
        new = np.where(stale | (before == _NONE) | (before == a.wave), a.wave, _SEVERAL)
        table[a.granules] = new
        table[a.granules[table[a.granules] != new]] = _SEVERAL
        read[a.granules] = self.time

    def _note_lane(self, a: _Access) -> None:
        table, read = self.reader_lane.reshape(-1), self.read_in_wave_at.reshape(-1)
        before = table[a.granules]
        stale = read[a.granules] <= self.fenced[a.row, a.lane]
        new = np.where(stale | (before == _NONE) | (before == a.lane), a.lane, _SEVERAL)
        table[a.granules] = new
        table[a.granules[table[a.granules] != new]] = _SEVERAL
        read[a.granules] = self.time

    def _fault(
        self,
        m: Machine,
        ins: Instruction,
        a: _Access,
        bad: Array,
        kind: str,
        verb: str,
        why: str,
    ) -> None:
        where = np.zeros((len(self.fenced), m.lanes), np.bool_)
        hit = bad.any(axis=1)
        where[a.row[hit, 0], a.lane[hit, 0]] = True
        granule = int(a.granules[bad][0]) % self.writer.shape[1]
        lane = int(np.broadcast_to(a.lane, bad.shape)[bad][0])
        address = granule * self.granule
        raise m.fault(kind, f"lane {lane} {verb} byte {address} of LDS, {why}", ins, where, address)
