"""What the checks know of shared memory: who wrote each granule last, and who has read it since.

A granule is the kernel's smallest shared access. Two accesses to one granule by different threads,
one of them a write, are a race unless the clocks order them or both are strong (PTX ISA 8.9.1).
Tables have one row for each cluster, or one while all do the same, so that the checks of the common
case cost as much as those of one CTA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.tags import THREAD, TIME, Strength, is_async, label_of, strength_of, tag
from kgen.emulate.ptx.types import Array, any_of

if TYPE_CHECKING:
    from kgen.emulate.ptx.machine import Machine, Mask, Violation

#: In place of a writer: nobody; the instruction -2 - n started an asynchronous write.
UNWRITTEN, _PENDING = -1, -2
#: Upper bits of a shared address: 0, or 1 + the rank of a CTA in the cluster.
RANK_SHIFT = 24
#: A reader is `time | instruction | async | strength | several | lane`.
_SEVERAL, _READ_STRENGTH, _READ_ASYNC, _READ_PC, _READ_TIME = 5, 6, 8, 9, 28
_READ_PC_MASK = (1 << (_READ_TIME - _READ_PC)) - 1
#: Asynchronous reads under way: how many, above the instruction that started the last.
_READING = 20


@dataclass(frozen=True, kw_only=True)
class Accesses:
    """Active lanes' accesses, flat: one entry for each granule that a lane touches.

    `thread` counts within the cluster, `actor * 32 + lane`.
    """

    row: Array
    thread: Array
    cell: Array


@dataclass(frozen=True, kw_only=True)
class Region:
    """What an asynchronous operation touches: units of `unit` bytes at shared addresses.

    `address` [C or 1, n], and the thread of its CTA that issued it, [C or 1]; `ctas` [C or 1] says
    in which CTAs there is such an operation. An upper part of an address (`RANK_SHIFT`) names
    another CTA of the cluster.
    """

    address: Array
    unit: int
    issuer: Array
    ctas: Array


class Shadow:
    """`writer` [row, granule] and `reads` [row, granule, warp], as tags."""

    def __init__(self, machine: Machine, nbytes: int) -> None:
        self.machine, self.clocks, self.granule = machine, machine.clocks, machine.granule
        self.cta_cells = nbytes // self.granule
        self.cells, self.warps = self.cta_cells * machine.cluster, machine.clocks.warps
        self.writer = np.full((1, self.cells), UNWRITTEN, np.int64)
        self.reads = np.zeros((1, self.cells, self.warps), np.int64)
        self.reading: Array | None = None

    # ------------------------------------------------------------------ what threads do

    def read(
        self, address: Array, nbytes: int, mask: Mask, *, by_warp: bool = False, strength: int = 0
    ) -> None:
        """Check a read. With `by_warp` the whole warp learns what the lane reads."""
        at = self._accesses(address, nbytes, mask)
        writer = self.writer.reshape(-1)[at.cell]
        self._refuse_unwritten(at, writer)
        unordered = (writer >> TIME) > self._known(at, (writer & THREAD) >> 5)
        if not by_warp:
            unordered &= (writer & THREAD) != at.thread
        if unordered.any():
            unordered &= ~self._both_strong(at, writer, strength)
            self._refuse(
                unordered, at, "race", "read of what another thread wrote without a barrier",
                lambda first: self._writer_text(writer[first]),
            )  # fmt: skip
        self._remember_read(at, by_warp, strength)

    def write(self, address: Array, nbytes: int, mask: Mask, *, strength: int = 0) -> bool:
        """Check and note a write; whether several lanes wrote the same granule."""
        at = self._accesses(address, nbytes, mask)
        writer = self._refuse_pending(at)
        unordered = (writer >> TIME) > self._known(at, (writer & THREAD) >> 5)
        unordered &= (writer & THREAD) != at.thread
        if unordered.any():
            unordered &= ~self._both_strong(at, writer, strength)
            self._refuse(
                unordered, at, "race", "write over what another thread wrote without a barrier",
                lambda first: self._writer_text(writer[first]),
            )  # fmt: skip
        self._refuse_unordered_reads(at, strength)
        mark = tag(self._now(at), self.machine.pc, at.thread, strength)
        writers = self.writer.reshape(-1)
        writers[at.cell] = mark
        return bool((writers[at.cell] != mark).any())

    def begin_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """cp.async starts to write: none may touch the bytes until it is finished."""
        at = self._accesses(address, nbytes, mask)
        writer = self._refuse_pending(at)
        unordered = (writer >> TIME) > self._known(at, (writer & THREAD) >> 5)
        unordered &= (writer & THREAD) != at.thread
        self._refuse(
            unordered, at, "race", "write over what another thread wrote without a barrier",
            lambda first: self._writer_text(writer[first]),
        )  # fmt: skip
        self._refuse_unordered_reads(at, 0)
        self.writer.reshape(-1)[at.cell] = _PENDING - self.machine.pc

    def finish_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """It is as if the copying thread wrote the bytes just now."""
        at = self._accesses(address, nbytes, mask)
        writers = self.writer.reshape(-1)
        started = _PENDING - writers[at.cell]
        writers[at.cell] = tag(self._now(at), np.maximum(started, 0), at.thread)

    # ------------------------------------------------------------------ the async proxy

    def begin_write(self, region: Region) -> None:
        """An asynchronous write starts: none may touch the bytes until it is finished."""
        at = self._region(region)
        writer = self._refuse_pending(at)
        self._refuse_unproxied(at, writer, "write over")
        self._refuse_unordered_reads(at, 0)
        self._warn_of_overwritten_reads(at)
        self.writer.reshape(-1)[at.cell] = _PENDING - self.machine.pc

    def finish_write(self, region: Region, actor: Array | int) -> None:
        """The bytes are there, for those who know the asynchronous actor's present time."""
        at = self._region(region)
        writers = self.writer.reshape(-1)
        started = np.maximum(_PENDING - writers[at.cell], 0)
        rows = at.row if self.clocks.rows > 1 else 0
        now = self.clocks.own[rows, actor]
        thread = np.broadcast_to(np.asarray(actor) << 5, at.thread.shape)
        writers[at.cell] = tag(now, started, thread, asynchronous=True)

    def begin_read(self, region: Region) -> None:
        """An asynchronous read starts: none may write the bytes until it is finished."""
        at = self._region(region)
        writer = self.writer.reshape(-1)[at.cell]
        self._refuse_unwritten(at, writer)
        self._refuse_unproxied(at, writer, "read of")
        reading = self._reading().reshape(-1)
        count = np.unique(at.cell)
        reading[count] = ((reading[count] >> _READING) + 1 << _READING) | self.machine.pc

    def finish_read(self, region: Region, reader: Array) -> None:
        """It is as if these threads of the issuing CTAs, [C or 1], read the bytes just now."""
        at = self._region(region, reader)
        reading = self._reading().reshape(-1)
        cells = np.unique(at.cell)
        started = np.max(reading[cells], initial=0) & ((1 << _READING) - 1)
        reading[cells] -= 1 << _READING
        entry = (self._now(at) << _READ_TIME) | (int(started) << _READ_PC)
        entry |= (1 << _SEVERAL) | (1 << _READ_ASYNC)
        self.reads.reshape(-1)[at.cell * self.warps + (at.thread >> 5)] = entry

    def _reading(self) -> Array:
        if self.reading is None:
            self.reading = np.zeros((len(self.writer), self.cells), np.int64)
        return self.reading

    def _refuse_unproxied(self, at: Accesses, writer: Array, what: str) -> None:
        """The async proxy meets generic writes: they must be ordered, and fenced besides."""
        who = (writer & THREAD) >> 5
        late = (writer >> TIME) > self._known(at, who)
        late &= (writer & THREAD) != at.thread
        self._refuse(
            late, at, "race", f"asynchronous {what} what another thread wrote without a barrier",
            lambda first: self._writer_text(writer[first]),
        )  # fmt: skip
        past = self.clocks.known_past("async", self._clock_row(at), at.thread, who)
        unfenced = ((writer >> TIME) > past) & ~is_async(writer)
        self._refuse(
            unfenced, at, "missing-proxy-fence",
            f"asynchronous {what} bytes with no fence.proxy.async since they were written",
            lambda first: self._writer_text(writer[first]),
        )  # fmt: skip

    def _warn_of_overwritten_reads(self, at: Accesses) -> None:
        """Ordered, but no proxy fence lies between a generic read and the write."""
        read = self.reads.reshape(-1, self.warps)[at.cell]
        generic = (read >> _READ_ASYNC) & 1 == 0
        warp = np.arange(self.warps)
        past = self.clocks.known_past(
            "async", self._clock_row(at, 1), at.thread[:, None], warp[None]
        )
        unfenced = any_of(generic & ((read >> _READ_TIME) > past), 1)
        if unfenced.any():
            self.machine.warn(self._violation(
                unfenced, at, "proxy-read-overwritten",
                "asynchronous write over bytes with no fence.proxy.async since they were read",
            ))  # fmt: skip

    # ------------------------------------------------------------------ checks

    def _refuse_pending(self, at: Accesses) -> Array:
        """The writers of granules to which no asynchronous write is under way, 0 for none."""
        writer = self.writer.reshape(-1)[at.cell]
        if writer.size and writer.min() <= _PENDING:
            self._refuse(
                writer <= _PENDING, at, "race",
                "write to where an asynchronous copy is under way",
                lambda first: self._started_text(_PENDING - int(writer[first])),
            )  # fmt: skip
        if self.reading is not None:
            reading = self.reading.reshape(-1)[at.cell]
            self._refuse(
                reading >> _READING > 0, at, "race",
                "write to where an asynchronous operation may still read",
                lambda first: self._started_text(int(reading[first]) & ((1 << _READING) - 1)),
            )  # fmt: skip
        found: Array = np.maximum(writer, 0)
        return found

    def _refuse_unordered_reads(self, at: Accesses, strength: int) -> None:
        """Refuse accesses to granules that another thread has read, unordered with the access."""
        read = self.reads.reshape(-1, self.warps)[at.cell]
        unordered = (read >> _READ_TIME) > self.clocks.all_known(self._clock_row(at), at.thread)
        if not unordered.any():
            return
        mine = np.arange(self.warps) == (at.thread >> 5)[:, None]
        unordered &= ~(mine & ((read & 63) == (at.thread & 31)[:, None]))
        if strength:
            unordered &= (read >> _READ_STRENGTH) & 3 == 0
        bad = any_of(unordered, 1)
        self._refuse(
            bad, at, "race", "write over what another thread reads without a barrier",
            lambda first: self._reader_text(read[first], unordered[first]),
        )  # fmt: skip

    def _refuse_unwritten(self, at: Accesses, writer: Array) -> None:
        if not (writer < 0).any():
            return
        self._refuse(
            writer <= _PENDING, at, "pending-copy",
            "read of shared bytes that an asynchronous copy may still write",
            lambda first: self._started_text(_PENDING - int(writer[first])),
        )  # fmt: skip
        self._refuse(
            writer == UNWRITTEN, at, "uninitialised-read",
            "read of shared bytes that nothing has written",
        )  # fmt: skip

    def _both_strong(self, at: Accesses, writer: Array, strength: int) -> Array:
        """Whether access and write are morally strong (PTX ISA 8.6)."""
        if strength == 0:
            return np.zeros(at.thread.shape, bool)
        per_cta = self.machine.warps * 32
        near = (writer & THREAD) // per_cta == at.thread // per_cta
        needed = np.where(near, int(Strength.CTA), int(Strength.CLUSTER))
        strong: Array = (strength_of(writer) >= needed) & (strength >= needed)
        return strong

    def _refuse(
        self,
        bad: Array,
        at: Accesses,
        kind: str,
        message: str,
        other: Callable[[int], str] | None = None,
    ) -> None:
        """Raise Violation where `bad`; `other` describes the other access of the first one."""
        if bad.any():
            if other is not None:
                message = f"{message} ({other(int(bad.argmax()))})"
            raise self._violation(bad, at, kind, message)

    def _violation(self, bad: Array, at: Accesses, kind: str, message: str) -> Violation:
        from kgen.emulate.ptx.machine import Violation

        machine = self.machine
        rank, thread = np.divmod(at.thread[bad], machine.warps * 32)
        where = at.row[bad] * machine.cluster + rank, thread
        lanes = np.zeros((machine.ctas, machine.warps * 32), bool)
        address = np.zeros(lanes.shape, np.int64)
        lanes[where] = True
        address[where] = at.cell[bad] % self.cta_cells * self.granule
        return Violation(
            kind, message, lanes.reshape(machine.shape), address.reshape(machine.shape)
        )

    def _writer_text(self, writer: int) -> str:
        actor, lane = divmod(int(writer) & THREAD, 32)
        return self._text("written", actor, lane, label_of(writer))

    def _reader_text(self, read: Array, unordered: Array) -> str:
        actor = int(unordered.argmax())
        entry = int(read[actor])
        lane = entry & 31 if entry >> _SEVERAL & 1 == 0 else None
        return self._text("read", actor, lane, entry >> _READ_PC & _READ_PC_MASK)

    def _text(self, done: str, actor: int, lane: int | None, pc: int) -> str:
        line = self.machine.line(pc)
        if actor >= self.warps:
            return f"{done} by the asynchronous operation of line {line}"
        rank, warp = divmod(actor, self.machine.warps)
        where = f" of the CTA of rank {rank}" if self.machine.cluster > 1 else ""
        who = f"warp {warp}" if lane is None else f"thread {warp * 32 + lane}"
        return f"{done} by {who}{where} in line {line}"

    def _started_text(self, pc: int) -> str:
        return f"started in line {self.machine.line(pc)}"

    # ------------------------------------------------------------------ tables

    def _known(self, at: Accesses, actor: Array) -> Array:
        """The time of `actor` up to which each access's own thread knows it."""
        return self.clocks.known(self._clock_row(at), at.thread, actor)

    def _now(self, at: Accesses) -> Array:
        found: Array = self.clocks.own[self._clock_row(at), at.thread >> 5]
        return found

    def _clock_row(self, at: Accesses, extra: int = 0) -> Array | int:
        if self.clocks.rows == 1:
            return 0
        return at.row.reshape(-1, *[1] * extra)

    def _remember_read(self, at: Accesses, by_warp: bool, strength: int) -> None:
        cell = at.cell * self.warps + (at.thread >> 5)
        reads = self.reads.reshape(-1)
        entry = self._now(at) << _READ_TIME
        entry |= (self.machine.pc << _READ_PC) | (strength << _READ_STRENGTH)
        if by_warp:
            reads[cell] = entry | (1 << _SEVERAL)
            return
        entry |= at.thread & 31
        old = reads[cell]
        again = (old >> _READ_TIME == entry >> _READ_TIME) & ((old ^ entry) & 63 != 0)
        entry |= again.astype(np.int64) << _SEVERAL
        reads[cell] = entry
        shared = reads[cell] != entry
        if shared.any():
            reads[cell[shared]] = entry[shared] | (1 << _SEVERAL)

    def _accesses(self, address: Array, nbytes: int, mask: Mask) -> Accesses:
        machine, cluster = self.machine, self.machine.cluster
        varies = address.shape[0] > 1 or (mask is not None and mask.shape[0] > 1)
        if varies or self.clocks.rows > 1:
            self._split()
        shape = machine.shape if len(self.writer) > 1 else (cluster, machine.warps, 32)
        first = np.broadcast_to(address // self.granule, shape).reshape(-1)
        place = np.arange(first.size)
        if mask is not None:
            place = np.flatnonzero(np.broadcast_to(mask, shape))
            first = first[place]
        row, thread = np.divmod(place, self.warps * 32)
        if cluster > 1:
            first = self._in_cluster(first, thread)
        return self._flat(row, thread, first, nbytes // self.granule)

    def _region(self, region: Region, thread: Array | None = None) -> Accesses:
        cluster = self.machine.cluster
        thread = region.issuer if thread is None else thread
        count = max(len(region.address), len(thread), len(region.ctas))
        if count > cluster or self.clocks.rows > 1:
            self._split()
        count = max(count, len(self.writer) * cluster)
        cta = np.flatnonzero(np.broadcast_to(region.ctas, count))
        address = np.broadcast_to(region.address, (count, region.address.shape[1]))[cta]
        row, rank = np.divmod(cta, cluster)
        issuer = np.broadcast_to(thread, count)[cta] + rank * (self.machine.warps * 32)
        n = address.shape[1]
        row, issuer = row.repeat(n), issuer.repeat(n)
        first = address.reshape(-1) // self.granule
        if cluster > 1:
            first = self._in_cluster(first, issuer)
        return self._flat(row, issuer, first, region.unit // self.granule)

    def _flat(self, row: Array, thread: Array, first: Array, count: int) -> Accesses:
        cell = first + row * self.cells
        if count > 1:
            cell = (cell[:, None] + np.arange(count)).reshape(-1)
            row, thread = row.repeat(count), thread.repeat(count)
        return Accesses(row=row, thread=thread, cell=cell)

    def _in_cluster(self, first: Array, thread: Array) -> Array:
        """A granule of the addressed CTA as one of the cluster."""
        shift = (1 << RANK_SHIFT) // self.granule
        named, offset = np.divmod(first, shift)
        own = thread // (self.machine.warps * 32)
        found: Array = offset + np.where(named == 0, own, named - 1) * self.cta_cells
        return found

    def collapse(self) -> None:
        """After a barrier of everything: one row again, if the rows say the same."""
        if len(self.writer) == 1 or self.clocks.rows > 1:
            return
        if self.machine.asynchronous or self.machine.cluster > 1:
            tables = [self.writer, self.reads] + ([] if self.reading is None else [self.reading])
            if all((table == table[:1]).all() for table in tables):
                self.writer, self.reads = self.writer[:1], self.reads[:1]
                self.reading = None if self.reading is None else self.reading[:1]
            return
        state = np.minimum(self.writer, 0)
        if (state == state[:1]).all():
            self.writer = self.writer.max(axis=0, keepdims=True)
            self.reads = np.zeros_like(self.reads[:1])

    def _split(self) -> None:
        """Give every cluster a row of its own."""
        clusters = self.clocks.clusters
        if len(self.writer) < clusters:
            self.writer = self.writer.repeat(clusters, axis=0)
            self.reads = self.reads.repeat(clusters, axis=0)
            if self.reading is not None:
                self.reading = self.reading.repeat(clusters, axis=0)
