"""cp.async: asynchronous copies from global to shared memory (PTX ISA 9.7.9.25).

Each thread has its own groups. The issuing thread may read a copy's bytes after its wait; other
threads after a barrier that follows the wait. The emulator finishes copies as late as the program
permits. With a seed, some groups land early, when they are committed, although no thread may rely
on that.

An mbarrier may track all earlier copies of a thread (cp.async.mbarrier.arrive). A thread that knows
(vector clock) what the issuing thread had done by then may rely on those copies once they are
finished, and on no later ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask
from kgen.emulate.ptx.memory.shared import SharedMemory
from kgen.emulate.ptx.memory.spaces import GlobalMemory, choose
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

_WORD = 4


@frozen
class AsyncCopy:
    """Copy of `nbytes` bytes to shared address `to`: `given` bytes come from `source`, the others
    are zero.

    The bytes of a copy that has `landed` are in shared memory, but no thread may rely on them yet.
    `number` counts copies in issue order. `counted` is the time of each actor, [row, actor], when
    an mbarrier first tracked the copy.
    """

    to: Array
    source: Array
    nbytes: int
    given: Array
    mask: Mask
    landed: bool = False
    number: int = 0
    counted: Array | None = None


@dataclass(kw_only=True)
class _Group:
    """Copies of one commit_group, and the group's number for each thread."""

    copies: list[AsyncCopy]
    number: Array


class Copying(Chunk, Protocol):
    """Chunk with the memories that a copy reads and writes."""

    @property
    def memory(self) -> GlobalMemory: ...

    @property
    def shared(self) -> SharedMemory: ...


class CopyQueue:
    """Unfinished copies of a chunk."""

    def __init__(self, machine: Copying) -> None:
        self.machine = machine
        #: Number of copies issued.
        self.issued = 0
        self.open: list[AsyncCopy] = []
        self.groups: list[_Group] = []
        #: Number of groups that each thread has committed.
        self.committed: Array = np.zeros((1, 1, 1), np.int64)
        self._most_in_flight: Array = np.zeros((1, 1, 1), np.int64)
        seed = machine.launch.seed
        self._rng = np.random.default_rng((seed, machine.order.first_cluster))
        #: Probability that a group lands when it is committed: 0, 0.5 or 1.
        self._early = float(self._rng.choice([0.0, 0.5, 1.0])) if seed else 0.0

    def issue(self, copy: AsyncCopy) -> None:
        """Start a copy and check its addresses."""
        machine = self.machine
        machine.shared.begin_copy(copy.to, copy.nbytes, copy.mask)
        whole = _lanes(copy.mask, copy.given >= copy.nbytes)
        if whole is not None:
            machine.memory.check_load(copy.source, copy.nbytes, whole[0])
        self.open.append(replace(copy, number=self.issued))
        self.issued += 1

    def commit(self, mask: Mask) -> None:
        """Close a group with the open copies of these lanes (cp.async.commit_group)."""
        taken, left = _divide(self.open, mask)
        self.open = left
        if taken and self._early and self._rng.random() < self._early:
            taken = [self._land(copy) for copy in taken]
        if taken:
            self.groups.append(_Group(copies=taken, number=self.committed))
        self.committed = self.committed + (1 if mask is None else mask.astype(np.int64))

    def wait(self, pending: int, mask: Mask) -> None:
        """Finish all groups of these lanes except the latest `pending` ones
        (cp.async.wait_group)."""
        remaining = []
        for group in self.groups:
            due = _lanes(mask, group.number < self.committed - pending)
            if due is None:
                remaining.append(group)
                continue
            done, group.copies = _divide(group.copies, due[0])
            for copy in done:
                self._finish(copy)
            if group.copies:
                remaining.append(group)
        self.groups = remaining

    def count(self, mask: Mask) -> int:
        """Track all copies that these lanes have issued, for an mbarrier; return the number below
        which copies are tracked."""
        now = self.machine.clocks.own

        def counted(copies: list[AsyncCopy]) -> list[AsyncCopy]:
            mine, others = _divide(copies, mask)
            return [
                *(c if c.counted is not None else replace(c, counted=now) for c in mine),
                *others,
            ]

        self.open = counted(self.open)
        for group in self.groups:
            group.copies = counted(group.copies)
        return self.issued

    def finish(self, mask: Mask, end: int) -> None:
        """Finish the copies of these lanes with numbers below `end`, which an mbarrier tracks."""

        def left(copies: list[AsyncCopy]) -> list[AsyncCopy]:
            mine, others = _divide([copy for copy in copies if copy.number < end], mask)
            for copy in mine:
                self._finish(copy)
            return [*others, *(copy for copy in copies if copy.number >= end)]

        self.open = left(self.open)
        for group in self.groups:
            group.copies = left(group.copies)
        self.groups = [group for group in self.groups if group.copies]

    def in_flight(self, mask: Mask) -> Array:
        """Return for each thread the most bytes that were in flight after one of its waits.

        The lanes of the mask wait now.
        """
        total: Array = np.zeros((1, 1, 1), np.int64)
        for copy in (*self.open, *(copy for group in self.groups for copy in group.copies)):
            given = np.minimum(copy.given, copy.nbytes)
            total = total + (given if copy.mask is None else np.where(copy.mask, given, 0))
        now = total if mask is None else np.where(mask, total, 0)
        self._most_in_flight = np.maximum(self._most_in_flight, now)
        return self._most_in_flight

    def _land(self, copy: AsyncCopy) -> AsyncCopy:
        if not copy.landed:
            self.machine.shared.land(copy.to, list(self._fetch(copy)), _WORD, copy.mask)
        return replace(copy, landed=True)

    def _finish(self, copy: AsyncCopy) -> None:
        self._land(copy)
        self.machine.shared.finish_copy(copy.to, copy.nbytes, copy.mask, copy.counted)

    def _fetch(self, copy: AsyncCopy) -> Iterator[Array]:
        """Return an iterator over the words of a copy; bytes beyond the given ones are zero."""
        memory, count = self.machine.memory, copy.nbytes // _WORD
        words: list[Array] = [np.zeros((1, 1, 1), np.uint32)] * count
        whole = _lanes(copy.mask, copy.given >= copy.nbytes)
        if whole is not None:
            words = memory.load(copy.source, _WORD, count, whole[0])
            if whole[0] is copy.mask:
                return iter(words)
            words = [choose(whole[0], word, np.zeros((1, 1, 1), np.uint32)) for word in words]
        if _lanes(copy.mask, (copy.given > 0) & (copy.given < copy.nbytes)) is not None:
            for byte in range(copy.nbytes - 1):
                part = _lanes(copy.mask, (copy.given > byte) & (copy.given < copy.nbytes))
                if part is not None:
                    (value,) = memory.load(copy.source + byte, 1, 1, part[0])
                    moved = value.astype(np.uint32) << np.uint32(8 * (byte % _WORD))
                    moved = choose(part[0], moved, np.zeros((1, 1, 1), np.uint32))
                    words[byte // _WORD] = words[byte // _WORD] | moved
        return iter(words)


def _lanes(mask: Mask, condition: Array) -> tuple[Mask] | None:
    """Return the lanes of a mask for which a condition holds (the mask itself if it holds for all),
    or None if there are none."""
    if condition.all():
        return (mask,)
    chosen = condition if mask is None else mask & condition
    return (chosen,) if np.count_nonzero(chosen) else None


def _divide(copies: list[AsyncCopy], mask: Mask) -> tuple[list[AsyncCopy], list[AsyncCopy]]:
    """Divide copies into those of the mask's lanes and those of other lanes."""
    if mask is None:
        return copies, []
    inside, outside = [], []
    for copy in copies:
        if copy.mask is mask:
            inside.append(copy)
            continue
        mine = mask if copy.mask is None else copy.mask & mask
        if not np.count_nonzero(mine):
            outside.append(copy)
            continue
        rest = ~mask if copy.mask is None else copy.mask & ~mask
        if np.count_nonzero(rest):
            inside.append(replace(copy, mask=mine))
            outside.append(replace(copy, mask=rest))
        else:
            inside.append(copy)
    return inside, outside
