"""Shadow memory of shared memory: the last writer of each granule, and its readers since.

A granule is the kernel's smallest shared access. Two accesses to one granule by different threads,
at least one of them a write, are a race unless the clocks order them or both are strong (PTX ISA
8.9.1). Granules that all accesses have touched together share a table entry, as an area.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask, Violation
from kgen.emulate.ptx.exec.ctas import narrow
from kgen.emulate.ptx.memory.accesses import Accesses, Granules, Region
from kgen.emulate.ptx.memory.stored import StoredBytes
from kgen.emulate.ptx.order.tags import THREAD, TIME, Strength, label_of, plain, strength_of, tag
from kgen.emulate.ptx.races.reads import READ_TIME, by_whom, once, remember, unvouched
from kgen.emulate.ptx.races.same_value_stores import Excuses
from kgen.emulate.ptx.races.shadow_tables import PENDING, READING, UNWRITTEN, Tables
from kgen.emulate.ptx.types import Array, any_of


class Shadow:
    """Checks accesses of threads to shared memory, and records them in `tables`."""

    def __init__(self, machine: Chunk, nbytes: int) -> None:
        self.machine, self.clocks = machine, machine.clocks
        self.granules = Granules(machine, nbytes, lambda parents: self.tables.grow(parents))
        self.warps = machine.clocks.warps
        self.tables: Tables = Tables(self.granules.count, self.warps)

    # ------------------------------------------------------------------ accesses of threads

    def read(
        self, address: Array, nbytes: int, mask: Mask, *, by_warp: bool = False, strength: int = 0
    ) -> None:
        """Check and record a read. `by_warp`: the whole warp receives what the lane reads."""
        at = self.accesses(address, nbytes, mask)
        writer = self.tables.writers[at.cell]
        self.refuse_unwritten(at, writer)
        self._refuse_unordered(at, np.maximum(writer, 0), strength, "read of", by_warp)
        if strength:
            self._remember(self.tables.strongly("reads"), at, by_warp)
            return
        if "writes" in self.tables.strong:
            self._refuse_noted(at, self.tables.strong["writes"], "read of bytes that", "writes")
        self._remember(self.tables.reads, at, by_warp)

    def write(
        self,
        address: Array,
        nbytes: int,
        mask: Mask,
        *,
        strength: int = 0,
        reads: bool = False,
        stored: Callable[[], StoredBytes] | None = None,
    ) -> bool:
        """Check and record a write; return whether several lanes wrote the same granule.

        `reads`: the write is atomic and uses the old value. `stored` returns the values of a store,
        which is only a warning where it leaves the bytes unchanged.
        """
        at = self.accesses(address, nbytes, mask)
        if reads:
            self.refuse_unwritten(at, self.tables.writers[at.cell])
        return self._write(at, strength, None if stored is None else Excuses(self, at, stored))

    def begin_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Start a cp.async: no thread may access its bytes until it is finished."""
        at = self.accesses(address, nbytes, mask)
        self._write(at, Strength.WEAK)
        self.tables.writers[at.cell] = PENDING - self.machine.pc

    def finish_copy(
        self, address: Array, nbytes: int, mask: Mask, times: Array | None = None
    ) -> None:
        """End a copy as if its thread wrote the bytes now, or when the times of the actors were
        `times`, [row, actor]."""
        if times is not None and len(times) > 1:
            self.clocks.split()
        at = self.accesses(address, nbytes, mask)
        now = self.now(at)
        if times is not None:
            now = times[at.row if len(times) > 1 else 0, at.actor]
        writers = self.tables.writers
        started = PENDING - writers[at.cell]
        writers[at.cell] = tag(now, np.maximum(started, 0), at.thread)

    def _write(self, at: Accesses, strength: int, excuses: Excuses | None = None) -> bool:
        self._refuse_unordered(at, self.refuse_pending(at), strength, "write over", excuses=excuses)
        if self.tables.twins is not None:
            left = at if excuses is None else at.some(~excuses.unchanged(np.arange(len(at.cell))))
            self._refuse_noted(left, self.tables.twins, "write over bytes that", "writes")
        self.refuse_unordered_reads(at, strength)
        mark = tag(self.now(at), self.machine.pc, at.thread, strength)
        writers = self.tables.writers
        if strength:
            self._remember(self.tables.strongly("writes"), at, by_warp=False)
            old = writers[at.cell]
            weak = (old > 0) & (strength_of(old) == Strength.WEAK)
            self.tables.overwritten_writers[at.cell[weak]] = old[weak]
        writers[at.cell] = mark
        there = writers[at.cell]
        lost = there != mark
        if not np.count_nonzero(lost):
            return False
        apart = lost & ((there ^ mark) & THREAD >= 32) & ~self._both_strong(at, there, strength)
        if excuses is not None and np.count_nonzero(apart):
            which = np.flatnonzero(apart)
            which = which[excuses.alike(which)]
            apart[which] = False
            excuses.note(which, there[which])
        self.refuse(
            apart, at, "race", "write over bytes that another warp writes, with no barrier between",
            lambda first: self.writer_text(there[first]),
        )  # fmt: skip
        return True

    def collapse(self) -> None:
        """After a barrier of all threads, return to a single row if the rows are equal."""
        if self.tables.rows == 1 or self.clocks.rows > 1:
            return
        if self.machine.asynchronous or self.machine.cluster > 1:
            self.tables.join()
        else:
            self.tables.join_settled()

    # ------------------------------------------------------------------ checks

    def refuse_pending(self, at: Accesses) -> Array:
        """Return the writers of granules, 0 for none. Refuse granules that an asynchronous
        operation uses."""
        writer = self.tables.writers[at.cell]
        if writer.size and writer.min() <= PENDING:
            self.refuse(
                writer <= PENDING, at, "race",
                "write to the destination of an asynchronous copy that is under way",
                lambda first: self._started_text(PENDING - int(writer[first])),
            )  # fmt: skip
        if self.tables.reading is not None:
            reading = self.tables.readings[at.cell]
            self.refuse(
                reading >> READING > 0, at, "race",
                "write to bytes that an asynchronous operation may still read",
                lambda first: self._started_text(int(reading[first]) & ((1 << READING) - 1)),
            )  # fmt: skip
        found: Array = np.maximum(writer, 0)
        return found

    def refuse_unwritten(self, at: Accesses, writer: Array) -> None:
        """Refuse reads of bytes that are not written, or not yet."""
        if not np.count_nonzero(writer < 0):
            return
        self.refuse(
            writer <= PENDING, at, "pending-copy",
            "read of shared bytes that an asynchronous copy may still write",
            lambda first: self._started_text(PENDING - int(writer[first])),
        )  # fmt: skip
        self.refuse(
            writer == UNWRITTEN, at, "uninitialised-read",
            "read of shared bytes that no thread has written",
        )  # fmt: skip

    def refuse_unordered_reads(self, at: Accesses, strength: int) -> None:
        """Refuse writes to granules that another thread has read without order; and weak writes to
        granules that another thread has written strongly."""
        self._refuse_noted(at, self.tables.reads, "write over bytes that", "reads")
        if not strength:
            for did, table in self.tables.strong.items():
                self._refuse_noted(at, table, "write over bytes that", did)

    def _refuse_noted(self, at: Accesses, table: Array, what: str, did: str) -> None:
        """Refuse accesses to granules for which the table has an unordered access of another
        thread."""
        at, noted = once(at, table.reshape(-1, self.warps)[at.cell])
        time = noted >> READ_TIME
        unordered = time > self.clocks.all_known(at.row, at.thread)
        if self.clocks.vouching is not None:
            unordered |= unvouched(self.clocks, at.row, at.thread, noted)
        if not np.count_nonzero(unordered):
            return
        mine = np.arange(self.warps) == at.actor[:, None]
        unordered &= ~(mine & ((noted & 63) == (at.thread & 31)[:, None]))
        if self.clocks.lessons:
            access, warp = np.nonzero(unordered)
            other = warp * 32 + (noted[access, warp] & 31)
            unordered[access, warp] = ~self._excused(at, access, other, time[access, warp])
        self.refuse(
            any_of(unordered, 1), at, "race",
            f"{what} another thread {did}, with no barrier between",
            lambda first: by_whom(self.granules, noted[first], unordered[first], did),
        )  # fmt: skip

    def unordered(self, at: Accesses, writer: Array, *, of_warp: bool = False) -> Array:
        """Return which accesses are not ordered after the writes of other threads, given as
        tags."""
        other, time = writer & THREAD, writer >> TIME
        late = self.clocks.unknown(at.row, at.thread, other, time)
        if not of_warp:
            late &= other != at.thread
        if self.clocks.lessons and np.count_nonzero(late):
            which = np.flatnonzero(late)
            late[which] = ~self._excused(at, which, other[which], time[which])
        return late

    def refuse_unordered(self, at: Accesses, bad: Array, writer: Array, what: str) -> None:
        self.refuse(
            bad, at, "race", f"{what} bytes that another thread wrote, with no barrier between",
            lambda first: self.writer_text(writer[first]),
        )  # fmt: skip

    def _refuse_unordered(
        self,
        at: Accesses,
        writer: Array,
        strength: int,
        what: str,
        of_warp: bool = False,
        excuses: Excuses | None = None,
    ) -> None:
        if strength and self.tables.overwritten is not None:
            weak = self.tables.overwritten_writers[at.cell]
            self.refuse_unordered(at, self.unordered(at, weak, of_warp=of_warp), weak, what)
        late = self.unordered(at, writer, of_warp=of_warp)
        if np.count_nonzero(late):
            late &= ~self._both_strong(at, writer, strength)
        if np.count_nonzero(late):
            if excuses is not None:
                which = np.flatnonzero(late & plain(writer))
                which = which[excuses.unchanged(which)]
                late[which] = False
                excuses.note(which, writer[which])
            self.refuse_unordered(at, late, writer, what)

    def _excused(self, at: Accesses, which: Array, other: Array, time: Array) -> Array:
        """Return whether some accesses know, through memory, what other threads did."""
        first = self.machine.order.first_cluster
        place = at.row[which] * (self.warps * 32) + at.thread[which]
        return self.machine.order.learned(place, at.row[which] + first, other, time)

    def _both_strong(self, at: Accesses, writer: Array, strength: int) -> Array:
        """Return whether access and write are morally strong (PTX ISA 8.6)."""
        if strength == 0:
            return np.zeros(at.thread.shape, bool)
        per_cta = self.machine.warps * 32
        near = (writer & THREAD) // per_cta == at.thread // per_cta
        needed = np.where(near, int(Strength.CTA), int(Strength.CLUSTER))
        strong: Array = (strength_of(writer) >= needed) & (strength >= needed)
        return strong

    def refuse(
        self,
        bad: Array,
        at: Accesses,
        kind: str,
        message: str,
        other: Callable[[int], str] | None = None,
        tell: Callable[[Violation], None] | None = None,
    ) -> None:
        """Report a fault where `bad`; `other` describes the other access of the first one."""
        if np.count_nonzero(bad):
            if other is not None:
                message = f"{message} ({other(int(bad.argmax()))})"
            (tell or self.machine.refuse)(self.granules.violation(at, bad, kind, message))

    def writer_text(self, writer: int) -> str:
        actor, lane = divmod(int(writer) & THREAD, 32)
        return self.granules.by_whom("written", actor, lane, label_of(writer))

    def _started_text(self, pc: int) -> str:
        return f"started in line {self.machine.line(pc)}"

    # ------------------------------------------------------------------ tables

    def now(self, at: Accesses) -> Array:
        return self.clocks.now(at.row, at.actor)

    def _remember(self, table: Array, at: Accesses, by_warp: bool) -> None:
        cell = at.cell * self.warps + at.actor
        lane = None if by_warp else at.thread & 31
        remember(table, cell, self.now(at), self.machine.pc, lane)

    def accesses(self, address: Array, nbytes: int, mask: Mask) -> Accesses:
        cluster = self.machine.cluster
        if self.tables.rows == 1 == self.clocks.rows:
            one = narrow(address, cluster), mask if mask is None else narrow(mask, cluster)
            if len(one[0]) <= cluster and (one[1] is None or len(one[1]) <= cluster):
                return self.granules.of_lanes(one[0], nbytes, one[1], 1)
        self.tables.split(self.clocks.clusters)
        return self.granules.of_lanes(address, nbytes, mask, self.tables.rows)

    def region(self, region: Region, thread: Array) -> Accesses:
        count = max(len(region.address), len(thread), len(region.ctas))
        if count > self.machine.cluster or self.clocks.rows > 1:
            self.tables.split(self.clocks.clusters)
        return self.granules.of_region(region, thread, self.tables.rows)
