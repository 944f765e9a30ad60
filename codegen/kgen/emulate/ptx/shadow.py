"""What the checks know of shared memory: who wrote each granule last, and who has read it since.

A granule is the kernel's smallest shared access. Two accesses to one granule by different threads,
one of them a write, are a race unless the clocks order them (PTX ISA 8.9.1). Tables have one row
while all CTAs do the same, so that the checks of the common case cost as much as those of one CTA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.types import Array, any_of

if TYPE_CHECKING:
    from kgen.emulate.ptx.machine import Machine, Mask

#: A writer is `time << _TIME | atomic << _ATOMIC | thread`; negative values have other meanings.
_ATOMIC, _TIME = 10, 11
_THREAD = (1 << _ATOMIC) - 1
_UNWRITTEN, _COPYING = -1, -2
#: In place of a lane: several lanes of the warp.
_SEVERAL = -1


@dataclass(frozen=True, kw_only=True)
class _Accesses:
    """Active lanes' accesses, flat: one entry for each granule that a lane touches."""

    row: Array
    thread: Array
    warp: Array
    cell: Array


class Shadow:
    """`writer` [row, granule]; `read_time` and `read_lane` [row, granule, warp]."""

    def __init__(self, machine: Machine, nbytes: int) -> None:
        self.machine, self.clocks, self.granule = machine, machine.clocks, machine.granule
        self.cells, self.warps = nbytes // self.granule, machine.warps
        self.writer = np.full((1, self.cells), _UNWRITTEN, np.int64)
        self.read_time = np.full((1, self.cells, self.warps), -1, np.int32)
        self.read_lane = np.full((1, self.cells, self.warps), _SEVERAL, np.int8)

    # ------------------------------------------------------------------ what threads do

    def read(self, address: Array, nbytes: int, mask: Mask, *, by_warp: bool = False) -> None:
        """Check a read. With `by_warp` the whole warp learns what the lane reads."""
        at = self._accesses(address, nbytes, mask)
        writer = self.writer.reshape(-1)[at.cell]
        self._refuse_unwritten(at, writer, address)
        unordered = (writer >> _TIME) > self._known(at, (writer & _THREAD) >> 5)
        if not by_warp:
            unordered &= (writer & _THREAD) != at.thread
        self._refuse(
            unordered, at, address, "race", "read of what another thread wrote without a barrier"
        )
        self._remember_read(at, by_warp)

    def write(self, address: Array, nbytes: int, mask: Mask, *, atomic: bool = False) -> bool:
        """Check and note a write; whether several lanes wrote the same granule."""
        at = self._check_write(address, nbytes, mask, atomic)
        tag = self._tag(at) | (int(atomic) << _ATOMIC)
        writers = self.writer.reshape(-1)
        writers[at.cell] = tag
        return bool((writers[at.cell] != tag).any())

    def begin_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """An asynchronous write starts: none may touch the bytes until it is finished."""
        at = self._check_write(address, nbytes, mask, False)
        self.writer.reshape(-1)[at.cell] = _COPYING

    def finish_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """It is as if the copying thread wrote the bytes just now."""
        at = self._accesses(address, nbytes, mask)
        self.writer.reshape(-1)[at.cell] = self._tag(at)

    def collapse(self) -> None:
        """After a barrier of everything: one row again, if the rows say the same."""
        if len(self.writer) == 1:
            return
        state = np.minimum(self.writer, 0)
        if (state == state[:1]).all():
            self.writer = self.writer.max(axis=0, keepdims=True)
            self.read_time = np.full_like(self.read_time[:1], -1)
            self.read_lane = np.full_like(self.read_lane[:1], _SEVERAL)

    # ------------------------------------------------------------------ checks

    def _check_write(self, address: Array, nbytes: int, mask: Mask, atomic: bool) -> _Accesses:
        at = self._accesses(address, nbytes, mask)
        writer = self.writer.reshape(-1)[at.cell]
        copying = writer == _COPYING
        self._refuse(
            copying, at, address, "race", "write to where an asynchronous copy is under way"
        )
        writer = np.maximum(writer, 0)
        unordered = (writer >> _TIME) > self._known(at, (writer & _THREAD) >> 5)
        unordered &= (writer & _THREAD) != at.thread
        if atomic:
            unordered &= (writer >> _ATOMIC) & 1 == 0
        self._refuse(
            unordered, at, address, "race", "write over what another thread wrote without a barrier"
        )
        self._refuse(
            self._unordered_reads(at), at, address, "race",
            "write over what another thread reads without a barrier",
        )  # fmt: skip
        return at

    def _unordered_reads(self, at: _Accesses) -> Array:
        """Accesses to granules that another thread has read, unordered with the access."""
        read = self.read_time.reshape(-1, self.warps)[at.cell]
        seen = self.clocks.seen[self._clock_row(at), at.warp]
        unordered = read > seen
        if not unordered.any():
            return any_of(unordered, 1)
        lane = self.read_lane.reshape(-1, self.warps)[at.cell]
        mine = np.arange(self.warps) == at.warp[:, None]
        mine &= lane == (at.thread & 31)[:, None]
        return any_of(unordered & ~mine, 1)

    def _refuse_unwritten(self, at: _Accesses, writer: Array, address: Array) -> None:
        if not (writer < 0).any():
            return
        self._refuse(
            writer == _COPYING, at, address, "pending-copy",
            "read of shared bytes that an asynchronous copy may still write",
        )  # fmt: skip
        self._refuse(
            writer == _UNWRITTEN, at, address, "uninitialised-read",
            "read of shared bytes that nothing has written",
        )  # fmt: skip

    def _refuse(self, bad: Array, at: _Accesses, address: Array, kind: str, message: str) -> None:
        if not bad.any():
            return
        from kgen.emulate.ptx.machine import Violation

        rows = len(self.writer)
        lanes = np.zeros((rows, self.warps * 32), bool)
        lanes[at.row[bad], at.thread[bad]] = True
        raise Violation(kind, message, lanes.reshape(rows, self.warps, 32), address)

    # ------------------------------------------------------------------ tables

    def _known(self, at: _Accesses, warp: Array) -> Array:
        """The time of `warp` up to which each access's own warp knows it."""
        known: Array = self.clocks.seen[self._clock_row(at), at.warp, warp]
        return known

    def _tag(self, at: _Accesses) -> Array:
        """The mark of a write that happens now."""
        tag: Array = (self.clocks.own[self._clock_row(at), at.warp] << _TIME) | at.thread
        return tag

    def _clock_row(self, at: _Accesses) -> Array | int:
        return at.row if self.clocks.rows > 1 else 0

    def _remember_read(self, at: _Accesses, by_warp: bool) -> None:
        cell = at.cell * self.warps + at.warp
        times, lanes = self.read_time.reshape(-1), self.read_lane.reshape(-1)
        now = self.clocks.own[self._clock_row(at), at.warp]
        lane = (at.thread & 31).astype(np.int8)
        if by_warp:
            lane = np.full_like(lane, _SEVERAL)
        again = (times[cell] == now) & (lanes[cell] != lane)
        mark = np.where(again, np.int8(_SEVERAL), lane)
        times[cell] = now
        lanes[cell] = mark
        shared = lanes[cell] != mark
        if shared.any():
            lanes[cell[shared]] = _SEVERAL

    def _accesses(self, address: Array, nbytes: int, mask: Mask) -> _Accesses:
        varies = address.shape[0] > 1 or (mask is not None and mask.shape[0] > 1)
        if (varies or self.clocks.rows > 1) and len(self.writer) < self.machine.ctas:
            self._split()
        rows = len(self.writer)
        shape = (rows, self.warps, 32)
        first = np.broadcast_to(address // self.granule, shape).reshape(-1)
        place = np.arange(first.size)
        if mask is not None:
            place = np.flatnonzero(np.broadcast_to(mask, shape))
            first = first[place]
        count = nbytes // self.granule
        row, thread = np.divmod(place, self.warps * 32)
        cell = first + row * self.cells
        if count > 1:
            cell = (cell[:, None] + np.arange(count)).reshape(-1)
            row, thread = row.repeat(count), thread.repeat(count)
        return _Accesses(row=row, thread=thread, warp=thread >> 5, cell=cell)

    def _split(self) -> None:
        """Give every CTA a row of its own."""
        ctas = self.machine.ctas
        self.writer = self.writer.repeat(ctas, axis=0)
        self.read_time = self.read_time.repeat(ctas, axis=0)
        self.read_lane = self.read_lane.repeat(ctas, axis=0)
