"""Bulk copies of the async proxy that are in flight (PTX ISA 9.7.9.25.4 and .5).

- A copy into shared memory completes on an mbarrier. The emulator completes it as late as possible:
  when no thread can continue without it; in issue order, or at random with a seed.
- A copy to global memory belongs to a bulk-group of its thread. Its source is read when the thread
  waits with .read, its destination is written when the thread waits without.

Each copy is one instruction of one thread in some CTAs; addresses may differ between CTAs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kgen.emulate.ptx.asynchronous.mbarriers import OBJECT_BYTES, Lanes, Mbarriers
from kgen.emulate.ptx.chunk import Mask, StallRank, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT, Region
from kgen.emulate.ptx.races.bulk_order import (
    Reading,
    Rows,
    Writing,
    begin_write,
    finish_read,
    finish_write,
    leave,
)
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

_OPEN = -1


@frozen
class Issue:
    """Threads that execute an instruction together, at most one per CTA.

    `ctas` [C] is the mask of the CTAs that have such a thread, `thread` [C] its number.
    """

    ctas: Array
    thread: Array

    def of(self, machine: Machine, value: Array) -> Array:
        """Return a value of these threads, [C]."""
        whole = machine.everywhere(value).reshape(machine.ctas, -1)
        found: Array = whole[np.arange(machine.ctas), self.thread]
        return found

    def where(self, ctas: Array) -> Issue:
        return Issue(ctas=self.ctas & ctas, thread=self.thread)

    def lanes(self, machine: Machine) -> Array:
        found = np.zeros((machine.ctas, machine.warps * 32), bool)
        found[np.arange(machine.ctas), self.thread] = self.ctas
        return found.reshape(machine.shape)


def issues(machine: Machine, mask: Mask) -> Iterator[Issue]:
    """Yield the active lanes of each CTA as threads that execute one after another."""
    lanes = machine.everywhere(machine.active(mask)).reshape(machine.ctas, -1)
    count = lanes.sum(axis=1)
    order = np.argsort(~lanes, axis=1, kind="stable")
    for turn in range(int(count.max())):
        yield Issue(ctas=count > turn, thread=order[:, turn])


def region(machine: Machine, address: Array, unit: int, issue: Issue) -> Region:
    """Return the region of units at shared addresses [C or 1, n]."""
    whole = Region(address=address, unit=unit, issuer=issue.thread, ctas=issue.ctas)
    return whole.narrowed(machine.cluster)


@frozen
class BulkLoad:
    """Bulk copy into shared memory. `fetch` returns its bytes [C or 1, n, unit] at completion.

    `nbytes` bytes complete on the mbarrier at `offset` of the CTAs `destination` [C], which have
    the rank `rank`.
    """

    pc: int
    region: Region
    fetch: Callable[[], Array]
    nbytes: int
    offset: int
    rank: int
    destination: Array
    #: Reads of global memory by the copy.
    readings: list[Reading]


@dataclass(kw_only=True)
class BulkStore:
    """Bulk copy out of shared memory. `write` takes its bytes [C, n, unit] and the CTAs [C] to
    write.

    `group` [C] is the number of its group for its thread. `reading` and `writing` [C] are the CTAs
    in which the source is not read yet, and the destination not written.
    """

    pc: int
    address: Array
    unit: int
    issue: Issue
    data: Array
    write: Callable[[Array, Array], None]
    group: Array
    reading: Array
    writing: Array
    #: Writes of global memory by the copy.
    writings: list[Writing]


class BulkTransfers:
    """Bulk copies of a chunk that are in flight."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_reset.append(self._reset)
        machine.when_stalled(StallRank.BULK_COPY, self._finish_one)
        machine.on_end.append(self._end)
        self._reset()

    def _reset(self) -> None:
        machine = self.machine
        self.loads: list[BulkLoad] = []
        self.stores: list[BulkStore] = []
        #: Number of groups that each thread [C, thread] has closed.
        self.closed = np.zeros((machine.ctas, machine.warps * 32), np.int64)
        self._order = np.random.default_rng(machine.launch.seed)

    # ------------------------------------------------------------------ into shared memory

    def load(self, mbarriers: Mbarriers, who: Lanes, load: BulkLoad) -> None:
        """Start a copy that completes on the objects of `who`."""
        self.machine.shared.begin_write(load.region)
        if self.machine.checks:
            self._check_initialised(load)
        mbarriers.copy_started(who, load.destination)
        self._mbarriers = mbarriers
        self.loads.append(load)

    def _check_initialised(self, load: BulkLoad) -> None:
        """Warn if the mbarrier's initialisation is not visible to the async proxy.

        The copy accesses the object through the async proxy, its initialisation used the generic
        proxy. The documents require a fence in between (fence.mbarrier_init or fence.proxy.async),
        but much existing code leaves it out, so that this is a warning.
        """
        where, shared = load.region, self.machine.shared
        named = where.address[:, :1] >> RANK_SHIFT << RANK_SHIFT
        place = replace(where, address=named | load.offset, unit=OBJECT_BYTES)

        def warn(violation: Violation) -> None:
            violation.message = (
                f"the mbarrier at offset {load.offset} has had no fence.mbarrier_init or "
                "fence.proxy.async since it was initialised, and a bulk copy completes on it"
            )
            self.machine.warn(violation)

        shared.check_object(place, warn)

    def _finish_one(self) -> bool:
        if not self.loads:
            return False
        chosen = 0
        if self.machine.launch.seed:
            chosen = int(self._order.integers(len(self.loads)))
        self._finish(self.loads.pop(chosen))
        return True

    def _finish(self, load: BulkLoad) -> None:
        machine, known, actor = self.machine, None, 0
        machine.pc = load.pc
        if machine.checks:
            actor = machine.clocks.actor(load.rank, load.offset)
            known = machine.clocks.tick(actor, load.destination)
            finish_read(machine, load.readings, actor)
        machine.shared.finish_write(load.region, load.fetch(), actor)
        self._mbarriers.complete_bytes(load.offset, load.destination, load.nbytes, known)

    # ------------------------------------------------------------------ out of shared memory

    def store(
        self,
        issue: Issue,
        address: Array,
        unit: int,
        write: Callable[[Array, Array], None],
        rows: Rows,
        *,
        reduces: bool,
    ) -> None:
        """Start a copy from shared addresses [C, n] to rows of global memory."""
        machine = self.machine
        source = region(machine, address, unit, issue)
        machine.shared.begin_read(source)
        self.stores.append(
            BulkStore(
                pc=machine.pc,
                address=address,
                unit=unit,
                issue=issue,
                data=machine.shared.fetch(source),
                write=write,
                group=np.full(machine.ctas, _OPEN),
                reading=issue.ctas.copy(),
                writing=issue.ctas.copy(),
                writings=begin_write(machine, issue.thread, rows, reduces=reduces),
            )
        )

    def commit(self, mask: Mask) -> None:
        """Close a group with the open copies of these threads (cp.async.bulk.commit_group)."""
        lanes = self._flat(mask)
        for store in self.stores:
            mine = (store.group == _OPEN) & store.issue.of(self.machine, self._lanes(lanes))
            now = self.closed[np.arange(len(lanes)), store.issue.thread]
            store.group = np.where(mine, now, store.group)
        self.closed = self.closed + lanes

    def wait(self, pending: int, mask: Mask, *, reading_only: bool) -> None:
        """Finish all groups of these threads except the latest `pending` ones
        (cp.async.bulk.wait_group)."""
        lanes = self._flat(mask)
        row = np.arange(len(lanes))
        for store in self.stores:
            thread = store.issue.thread
            due = (store.group >= 0) & (store.group < self.closed[row, thread] - pending)
            due &= lanes[row, thread]
            self._finish_reading(store, due & store.reading)
            if not reading_only:
                written = due & store.writing
                finish_write(self.machine, store.writings, written)
                self._finish_writing(store, written)
        self.stores = [store for store in self.stores if np.count_nonzero(store.writing)]

    def _finish_reading(self, store: BulkStore, ctas: Array) -> None:
        if np.count_nonzero(ctas):
            issue = store.issue.where(ctas)
            source = region(self.machine, store.address, store.unit, issue)
            self.machine.shared.finish_read(source, source.issuer)
            store.reading = store.reading & ~ctas

    def _finish_writing(self, store: BulkStore, ctas: Array) -> None:
        if np.count_nonzero(ctas):
            store.write(store.data, ctas)
            store.writing = store.writing & ~ctas

    def _flat(self, mask: Mask) -> Array:
        return self.machine.everywhere(self.machine.active(mask)).reshape(self.machine.ctas, -1)

    def _lanes(self, flat: Array) -> Array:
        return flat.reshape(self.machine.shape)

    # ------------------------------------------------------------------ end of the CTAs

    def _end(self) -> None:
        """Raise Violation if a copy still accesses the shared memory of a CTA that ends; finish
        writes to global memory."""
        for load in self.loads:
            self.machine.pc = load.pc
            message = "the CTA ends while an asynchronous copy into its shared memory is under way"
            raise Violation("race", message, load.destination.reshape(-1, 1, 1))
        for store in self.stores:
            self.machine.pc = store.pc
            if np.count_nonzero(store.reading):
                message = "the CTA ends while an asynchronous copy still reads its shared memory"
                lanes = store.issue.where(store.reading).lanes(self.machine)
                raise Violation("race", message, lanes)
            leave(self.machine, store.writings, store.writing)
            self._finish_writing(store, store.writing)
        self.stores = []
