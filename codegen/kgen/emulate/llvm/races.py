"""What the checks know of every granule of LDS: who wrote it, who read it, and when.

Two accesses of different lanes to one granule, one of them a write and not both atomic, must be
ordered as :mod:`kgen.emulate.llvm.clocks` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.llvm.clocks import NO_BARRIER, NO_FENCE, Clocks
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.types import Array

if TYPE_CHECKING:
    from kgen.emulate.llvm.copies import Copy
    from kgen.emulate.llvm.machine import Machine

#: In place of a time or a lane. A lane with _ATOMIC added wrote with an atomic.
_NONE = -1
_GAP = -4
_PENDING = -5
_SEVERAL = -3
_ATOMIC = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _Access:
    """The granules that the active lanes touch in one instruction: arrays [lane, 1] against
    [lane, granule]."""

    row: Array
    lane: Array
    wave: Array
    granules: Array
    """[lane, granule] flat index into the tables."""


class LdsShadow(Clocks):
    """Tables over [row, granule]; ``row`` is 1 or the number of workgroups."""

    def __init__(
        self, size: int, granule: int, lanes: int, wave: int, gaps: Sequence[range]
    ) -> None:
        """``gaps`` are the bytes between arrays, which nothing may touch."""
        super().__init__(lanes, wave)
        self.granule = granule
        count = -(-size // granule)
        self.writer = np.full((1, count), _NONE, np.int32)
        self.written_at = np.full((1, count), _NONE, np.int32)
        #: Of each wave: when it last read, and the lane that did since its last fence.
        self.read_at = np.full((1, count, self.waves), _NONE, np.int32)
        self.reader = np.full((1, count, self.waves), _NONE, np.int32)
        #: What atomics that released left there for those that come: [row, granule, wave].
        self.left = np.zeros((1, 0, self.waves), np.int32)
        for gap in gaps:
            self.written_at[:, -(-gap.start // granule) : gap.stop // granule] = _GAP

    # -- accesses -------------------------------------------------------------------------------

    def read(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> None:
        a = self._access(m, ins, offsets, size)
        self._check_written(m, ins, a, "reads")
        self._check_writer(m, ins, a, "reads", atomic=ins.is_atomic)
        if ins.is_atomic:
            self._meet(m, a, leaves=False)
        else:
            self._note(a)

    def write(self, m: Machine, ins: Instruction, offsets: Array, raw: Array) -> None:
        a = self._access(m, ins, offsets, raw.dtype.itemsize)
        self._check_pending(m, ins, a, "writes")
        self._check_gaps(m, ins, a, "writes")
        self._check_writer(m, ins, a, "writes", atomic=ins.is_atomic)
        self._check_readers(m, ins, a)
        self._wrote(a, a.lane + (_ATOMIC if ins.is_atomic else 0))
        if ins.is_atomic:
            self._meet(m, a, leaves=True)
        elif (self.writer.reshape(-1)[a.granules] != a.lane).any():
            self._check_collisions(m, ins, a, raw)

    def atomic(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> None:
        a = self._access(m, ins, offsets, size)
        self._check_written(m, ins, a, "updates")
        self._check_writer(m, ins, a, "updates", atomic=True)
        self._check_readers(m, ins, a)
        self._wrote(a, a.lane + _ATOMIC)
        self._meet(m, a, leaves=True)

    def begin_copy(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> None:
        """A copy may write from now on, until it has landed."""
        a = self._access(m, ins, offsets, size)
        self._check_pending(m, ins, a, "copies to")
        self._check_gaps(m, ins, a, "copies to")
        self._check_writer(m, ins, a, "copies to", atomic=False)
        self._check_readers(m, ins, a)
        self._wrote(a, a.lane)
        self.written_at.reshape(-1)[a.granules] = _PENDING

    def end_copy(self, m: Machine, copy: Copy, lanes: Array) -> None:
        """It has landed for these lanes: they wrote it now."""
        before = m.mask
        m.mask = lanes
        a = self._access(m, copy.ins, copy.offsets, copy.raw.dtype.itemsize)
        m.mask = before
        self._wrote(a, a.lane)

    def _wrote(self, a: _Access, writer: Array) -> None:
        self.writer.reshape(-1)[a.granules] = writer
        self.written_at.reshape(-1)[a.granules] = self.time

    def _access(self, m: Machine, ins: Instruction, offsets: Array, size: int) -> _Access:
        self.tick(ins)
        self.spread(m, m.mask)
        self.spread(m, offsets)
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

    # -- checks ---------------------------------------------------------------------------------

    def _check_gaps(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        gap = self.written_at.reshape(-1)[a.granules] == _GAP
        if gap.any():
            self._fault(m, ins, a, gap, "out-of-bounds", verb, "between two arrays")

    def _check_pending(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        pending = self.written_at.reshape(-1)[a.granules] == _PENDING
        if pending.any():
            other = int(self.writer.reshape(-1)[a.granules][pending][0])
            row = int(np.broadcast_to(a.row, pending.shape)[pending][0])
            line = m.copies.line_of(row, other) if m.copies is not None else 0
            who = f"the copy of lane {other} at line {line}"
            why = f"which {who} may still write: its wave has not waited for it"
            self._fault(m, ins, a, pending, "pending-copy", verb, why)

    def _check_written(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        bad = self.written_at.reshape(-1)[a.granules] < 0
        if bad.any():
            self._check_pending(m, ins, a, verb)
            self._check_gaps(m, ins, a, verb)
            self._fault(m, ins, a, bad, "uninitialised-read", verb, "which nothing wrote")

    def _check_writer(
        self, m: Machine, ins: Instruction, a: _Access, verb: str, *, atomic: bool
    ) -> None:
        """The last write to each granule is the lane's own or ordered before this access."""
        code = self.writer.reshape(-1)[a.granules]
        writer = code & (_ATOMIC - 1)
        foreign = (code != _NONE) & (writer != a.lane)
        if atomic:
            foreign &= code < _ATOMIC
        if not foreign.any():
            return
        other = np.where(foreign, writer, a.lane)
        written = self.written_at.reshape(-1)[a.granules]
        race = ~self.ordered(a.row, a.lane, other, written)
        if race.any():
            culprit, kind = int(other[race][0]), int(code[race][0])
            place = self.line_at(int(written[race][0]))
            in_wave = culprit // self.wave == np.broadcast_to(a.wave, race.shape)[race][0]
            how = "an atomic of " if kind >= _ATOMIC else ""
            why = NO_FENCE if in_wave else NO_BARRIER
            message = f"written by {how}lane {culprit} at {place}; {why}"
            self._fault(m, ins, a, race, "race", verb, message)

    def _check_readers(self, m: Machine, ins: Instruction, a: _Access) -> None:
        """No other lane has read a granule about to be written, unless ordered before."""
        times = self.read_at.reshape(-1, self.waves)[a.granules]
        if times.max(initial=_NONE) == _NONE:
            return
        waves = np.arange(self.waves)
        other_wave = waves != a.wave[..., None]
        race = other_wave & (times > self.seen[a.row, a.wave][:, :, :])
        if race.any():
            at, granule, wave = (int(index[0]) for index in np.nonzero(race))
            place = self.line_at(int(times[at, granule, wave]))
            why = f"read by wave {wave} at {place}; {NO_BARRIER}"
            self._fault(m, ins, a, race.any(axis=2), "race", "writes", why)
        index = a.granules * self.waves + a.wave
        reader = self.reader.reshape(-1)[index]
        read = self.read_at.reshape(-1)[index]
        race = (reader != a.lane) & (read > self.fenced[a.row, a.lane])
        if race.any():
            other = int(reader[race][0])
            who = "several lanes" if other == _SEVERAL else f"lane {other}"
            place = self.line_at(int(read[race][0]))
            why = f"read by {who} of its wave at {place}; {NO_FENCE}"
            self._fault(m, ins, a, race, "race", "writes", why)

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

    def _note(self, a: _Access) -> None:
        """Remember who reads."""
        index = a.granules * self.waves + a.wave
        reader, read = self.reader.reshape(-1), self.read_at.reshape(-1)
        before = reader[index]
        stale = read[index] <= self.fenced[a.row, a.lane]
        new = np.where(stale | (before == _NONE) | (before == a.lane), a.lane, _SEVERAL)
        reader[index] = new
        reader[index[reader[index] != new]] = _SEVERAL
        read[index] = self.time

    def _meet(self, m: Machine, a: _Access, *, leaves: bool) -> None:
        """Atomics take what earlier ones left at their places, wave after wave, and leave what
        their wave released."""
        if not self.left.shape[1]:
            if not self.released.any():
                return
            shape = (len(self.writer), self.writer.shape[1], self.waves)
            self.left = np.zeros(shape, np.int32)
        left = self.left.reshape(-1, self.waves)
        for wave in np.unique(a.wave):
            mine = a.wave[:, 0] == wave
            rows, granules = a.row[mine, 0], a.granules[mine, 0]
            np.maximum.at(self.pending, (rows, wave), left[granules])
            if leaves:
                left[granules] = np.maximum(left[granules], self.released[rows, wave])

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
