"""Race detector for LDS: a shadow table of the last writers and readers of each granule.

Two accesses of different lanes to one granule race if one is a write, they are not both atomic, and
nothing orders them (:mod:`~kgen.emulate.llvm.order.clocks`). The table also finds reads of bytes
that no lane has written, accesses between arrays, and accesses to bytes that an asynchronous copy
may still write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, fault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.order.clocks import NO_BARRIER, NO_FENCE, Clocks
from kgen.emulate.llvm.order.equal_values import Likeness
from kgen.emulate.llvm.order.lds_record import NONE, LdsAccess, WaveRecord
from kgen.emulate.llvm.order.lds_stored import StoredToLds
from kgen.emulate.llvm.types import Array
from kgen.emulate.report import Fault

#: Marks in place of the time of a write: bytes between two arrays, and the destination of a copy in
#: flight.
_GAP = -4
_PENDING = -5
#: Time of bytes that only atomics have written: before every other time.
_FIRST = 0


class LdsShadow(Clocks):
    """Shadow tables over [row, granule], with one row or one per workgroup."""

    def __init__(
        self,
        size: int,
        granule: int,
        lanes: int,
        wave: int,
        *,
        gaps: Sequence[range],
        arrays: Mapping[str, int],
        strict: bool = False,
    ) -> None:
        """Create the tables for ``size`` bytes.

        ``gaps`` are the bytes between arrays, which nothing may access. ``arrays`` holds the start
        of each array, in the order of addresses. If ``strict``, unordered writes are races even if
        they write the same value.
        """
        super().__init__(lanes, wave)
        self.granule = granule
        self.arrays, self.strict = arrays, strict
        count = -(-size // granule)
        self.writer = np.full((1, count), NONE, np.int32)
        self.written_at = np.full((1, count), NONE, np.int32)
        #: Accesses that the writer's table does not hold: it holds plain stores only.
        self.reads = WaveRecord(count, self)
        self.atomic_reads = WaveRecord(count, self)
        self.updates = WaveRecord(count, self)
        #: Vector clocks that atomics of releasing waves left for later atomics: [row, granule,
        #: wave].
        self.left = np.zeros((1, 0, self.waves), np.int32)
        #: Lanes that wrote the same value as another lane without an order between the two.
        self.twins = WaveRecord(count, self)
        for gap in gaps:
            self.written_at[:, -(-gap.start // granule) : gap.stop // granule] = _GAP

    # -- accesses -------------------------------------------------------------------------------

    def read(self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int) -> None:
        a = self._access(m, ins, offsets, size, "reads")
        self._check_written(a)
        self._check_writer(a)
        self._check_record(a, self.twins, "written")
        if ins.is_atomic:
            self.atomic_reads.note(a)
            self._meet(a, leaves=False)
        else:
            self._check_record(a, self.updates, "updated atomically")
            self.reads.note(a)

    def write(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array, there: Callable[[], Array]
    ) -> None:
        """Record a store; ``there`` returns what the active lanes' bytes hold before it."""
        a = self._access(m, ins, offsets, raw.dtype.itemsize, "writes")
        if ins.is_atomic:
            self._check_place(a)
            times = self.written_at.reshape(-1)
            times[a.granules] = np.maximum(times[a.granules], _FIRST)
            self._update(a)
            return
        shape, apart = (m.workgroups, m.lanes), len(self.writer) > 1
        type_ = ins.operands[0].type if ins.opcode == "store" else None
        stored = StoredToLds(raw, there, a, shape, type_, apart=apart)
        self._check_plain_write(a, None if self.strict else stored)
        self._wrote(a)
        if np.count_nonzero(self.writer.reshape(-1)[a.granules] != a.lane):
            self._check_collisions(a, stored)

    def atomic(self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int) -> None:
        a = self._access(m, ins, offsets, size, "updates")
        self._check_written(a)
        self._update(a)

    def _update(self, a: LdsAccess) -> None:
        self._check_writer(a)
        self._check_record(a, self.twins, "written")
        self._check_record(a, self.reads, "read")
        self.updates.note(a)
        self._meet(a, leaves=True)

    def begin_copy(self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int) -> None:
        """Record the start of a copy, which may write at any time until it completes."""
        a = self._access(m, ins, offsets, size, "copies to")
        self._check_plain_write(a)
        self._wrote(a)
        self.written_at.reshape(-1)[a.granules] = _PENDING

    def end_copy(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, lanes: Array
    ) -> None:
        """Record that a copy completes for these lanes, which count as the writers now."""
        before = m.mask
        m.mask = lanes
        a = self._access(m, ins, offsets, size, "copies to")
        m.mask = before
        self._wrote(a)

    def _wrote(self, a: LdsAccess) -> None:
        self.writer.reshape(-1)[a.granules] = a.lane
        self.written_at.reshape(-1)[a.granules] = self.time

    def _access(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, verb: str
    ) -> LdsAccess:
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
        return LdsAccess(
            machine=m,
            instruction=ins,
            verb=verb,
            row=row[:, None],
            lane=lane[:, None],
            wave=lane[:, None] // self.wave,
            granules=start[:, None] + np.arange(count),
        )

    # -- checks ---------------------------------------------------------------------------------

    def _array_at(self, address: int) -> str:
        """Return the place of an LDS address in its array, or in the last array before it; "" if
        none."""
        before = [(name, start) for name, start in self.arrays.items() if start <= address]
        return f"byte {address - before[-1][1]} of @{before[-1][0]}" if before else ""

    def _check_gaps(self, a: LdsAccess) -> None:
        gap = self.written_at.reshape(-1)[a.granules] == _GAP
        if np.count_nonzero(gap):
            a.machine.faults.add(self._found(a, gap, "out-of-bounds", "between two arrays"))

    def _check_pending(self, a: LdsAccess) -> None:
        pending = self.written_at.reshape(-1)[a.granules] == _PENDING
        if np.count_nonzero(pending):
            other = int(self.writer.reshape(-1)[a.granules][pending][0])
            row = int(np.broadcast_to(a.row, pending.shape)[pending][0])
            copies = a.machine.copies
            line = copies.line_of(row, other) if copies is not None else 0
            who = f"the copy of lane {other} at line {line}"
            why = f"which {who} may still write: the wave has not waited for the copy"
            a.machine.faults.add(self._found(a, pending, "pending-copy", why))

    def _check_written(self, a: LdsAccess) -> None:
        bad = self.written_at.reshape(-1)[a.granules] < 0
        if np.count_nonzero(bad):
            self._check_place(a)
            bad = self.written_at.reshape(-1)[a.granules] == NONE
        if np.count_nonzero(bad):
            a.machine.faults.add(
                self._found(a, bad, "uninitialised-read", "which no lane has written")
            )

    def _check_place(self, a: LdsAccess) -> None:
        """Check that no copy in flight writes there, and that the bytes belong to an array."""
        self._check_pending(a)
        self._check_gaps(a)

    def _check_plain_write(self, a: LdsAccess, stored: StoredToLds | None = None) -> None:
        self._check_place(a)
        self._check_writer(a, stored)
        self._check_record(a, self.twins, "written", stored)
        self._check_record(a, self.reads, "read")
        self._check_record(a, self.atomic_reads, "read atomically")
        self._check_record(a, self.updates, "updated atomically")

    def _check_writer(self, a: LdsAccess, stored: StoredToLds | None = None) -> None:
        """Check that the last plain write to each granule is the lane's own or happens before this
        access.

        If ``stored`` is given, an unordered write of the same value, exactly or up to rounding,
        is a warning and no race.
        """
        writer = self.writer.reshape(-1)[a.granules]
        foreign = (writer != NONE) & (writer != a.lane)
        if not np.count_nonzero(foreign):
            return
        other = np.where(foreign, writer, a.lane)
        written = self.written_at.reshape(-1)[a.granules]
        race = ~self.ordered(a.row, a.lane, other, written)
        if np.count_nonzero(race) and stored is not None:
            alike = stored.like_what_is_there()
            like = race & (alike > 0)[:, None]
            if np.count_nonzero(like):
                self.twins.insert(a.granules[like], other[like], written[like])
                self._warn(a, like, alike, int(other[like][0]))
                race &= ~like
        if np.count_nonzero(race):
            culprit = int(other[race][0])
            place = self.line_at(int(written[race][0]))
            in_wave = culprit // self.wave == np.broadcast_to(a.wave, race.shape)[race][0]
            why = NO_FENCE if in_wave else NO_BARRIER
            message = f"written by lane {culprit} at {place}; {why}"
            a.machine.faults.add(self._found(a, race, "race", message))

    def _check_record(
        self, a: LdsAccess, record: WaveRecord, did: str, stored: StoredToLds | None = None
    ) -> None:
        """Check the recorded accesses of other lanes for one that does not happen before this
        access.

        If ``stored`` is given, a store of the value that the bytes hold already is no race.
        """
        found = record.unordered(a)
        if found is not None and stored is not None:
            late = found.where & (stored.like_what_is_there() == 0)[:, None]
            found = replace(found, where=late) if np.count_nonzero(late) else None
        if found is not None:
            why = f"{did} by {found.who} at {self.line_at(found.time)}; {found.why}"
            a.machine.faults.add(self._found(a, found.where, "race", why))

    def _check_collisions(self, a: LdsAccess, stored: StoredToLds) -> None:
        """Check for lanes of this store that write the same granule.

        Lanes of one wave may store the same value to the same place: hardware allows that.
        """
        winner = self.writer.reshape(-1)[a.granules]
        lost = winner != a.lane
        mine, theirs = np.nonzero(lost)[0], winner[lost]
        alike = stored.like_that_of(mine, theirs)
        in_wave = theirs // self.wave == a.wave[mine, 0]
        race = np.zeros_like(lost)
        race[lost] = ~((alike == Likeness.SAME) & in_wave)
        if np.count_nonzero(race) and not self.strict and np.count_nonzero(alike > 0):
            of_lane = np.full(len(lost), int(Likeness.SAME))
            np.minimum.at(of_lane, mine, alike)
            like = race & (of_lane > 0)[:, None]
            if np.count_nonzero(like):
                lanes = np.broadcast_to(a.lane, like.shape)[like]
                self.twins.insert(a.granules[like], lanes, np.full(lanes.shape, self.time))
                self._warn(a, like, of_lane, int(winner[like][0]))
                race &= ~like
        if np.count_nonzero(race):
            other = int(winner[race][0])
            a.machine.faults.add(self._found(a, race, "race", f"also written by lane {other}"))

    def _warn(self, a: LdsAccess, where: Array, alike: Array, other: int) -> None:
        """Warn of stores of a value that lane ``other`` stores too, exactly or up to rounding.

        ``alike`` holds the `Likeness` of each lane.
        """
        nearly = where.any(axis=1) & (alike == Likeness.IN_ALL_BUT_LAST_BITS)
        if np.count_nonzero(nearly):
            kind, what = "nearly-same-value-write", "a value that differs in its last bits"
            where = where & nearly[:, None]
        else:
            kind, what = "same-value-write", "the same value"
        why = f"where lane {other} writes {what}; {NO_BARRIER}"
        a.machine.warn(self._found(a, where, kind, why))

    def _meet(self, a: LdsAccess, *, leaves: bool) -> None:
        """Pass vector clocks through the places of an atomic, wave after wave.

        Each wave takes the clocks that earlier atomics left there. If the atomic writes
        (``leaves``), it leaves the wave's released clock.
        """
        if not self.left.shape[1]:
            if not np.count_nonzero(self.released):
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

    def _found(self, a: LdsAccess, bad: Array, kind: str, why: str) -> Fault:
        where = np.zeros((len(self.fenced), a.machine.lanes), np.bool_)
        hit = bad.any(axis=1)
        where[a.row[hit, 0], a.lane[hit, 0]] = True
        granule = int(a.granules[bad][0]) % self.writer.shape[1]
        lane = int(np.broadcast_to(a.lane, bad.shape)[bad][0])
        address = granule * self.granule
        message = f"lane {lane} {a.verb} byte {address} of LDS, {why}"
        place = self._array_at(address)
        return fault(a.machine, kind, message, a.instruction, where, address, place).fault
