"""mbarrier objects: phases, pending arrivals, transaction bytes (PTX ISA 9.7.13.15).

An object is identified by its offset in the shared memory of a CTA. One table holds the objects at
an offset in all CTAs of a chunk. A phase completes when neither arrivals nor bytes are pending.
Threads that observe the completion learn what the arriving threads knew (acquire and release).
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.waiting.released import Released, at_rank
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT
from kgen.emulate.ptx.order.released_knowledge import Known
from kgen.emulate.ptx.types import Array, any_of
from kgen_runtime.values import frozen

#: Largest pending count and transaction count (PTX ISA 9.7.13.15.2).
LARGEST_COUNT = (1 << 20) - 1
OBJECT_BYTES = 8


@frozen
class Lanes:
    """Lanes [C or 1, W, 32] that use the objects at one offset.

    The object is in the lanes' own CTA (rank None), or in the CTA of a rank of their cluster.
    """

    offset: int
    rank: int | None
    lanes: Array


class _Objects:
    """Objects at one offset, in every CTA [C] of the chunk."""

    def __init__(self, machine: Machine) -> None:
        ctas = machine.ctas
        self.valid = np.zeros(ctas, bool)
        self.expected, self.pending = np.zeros(ctas, np.int64), np.zeros(ctas, np.int64)
        self.bytes, self.phase = np.zeros(ctas, np.int64), np.zeros(ctas, np.int64)
        #: Unfinished copies that will complete on the object.
        self.copies = np.zeros(ctas, np.int64)
        self.arriving, self.completed = Released(machine), Released(machine)


def per_cta(value: Array, lanes: Array) -> Array:
    """Return the sum of a value over the lanes of each CTA, [C or 1]."""
    sums: Array = np.where(lanes, value.astype(np.int64), 0).sum(axis=(1, 2))
    return sums


class Mbarriers:
    """mbarrier objects of all CTAs of a chunk. CTAs are selected by masks [C]."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.asynchronous = True
        machine.on_reset.append(self._reset)
        machine.on_end.append(self._check_end)
        self._reset()

    def _reset(self) -> None:
        self._objects: dict[int, _Objects] = {}

    # ------------------------------------------------------------------ which objects are used

    def used_by(self, address: Array, mask: Array | None) -> list[Lanes]:
        """Group the active lanes by the object at their shared address."""
        lanes = self.machine.active(mask)
        shape = np.broadcast_shapes(address.shape, lanes.shape)
        address, lanes = np.broadcast_to(address, shape), np.broadcast_to(lanes, shape)
        found = []
        for value in np.unique(address[lanes]):
            named, offset = divmod(int(value), 1 << RANK_SHIFT)
            part = lanes & (address == value)
            rank = named - 1 if named else None
            found.append(Lanes(offset=offset, rank=rank, lanes=part))
        return found

    def destination(self, who: Lanes, per_cta: Array) -> Array:
        """Sum numbers [C or 1] of the lanes' CTAs over the CTAs of the objects; return sums [C]."""
        count, cluster = self.machine.ctas, self.machine.cluster
        whole = np.broadcast_to(per_cta, count)
        if who.rank is None:
            return whole
        sums = np.zeros(count, np.int64)
        sums[who.rank :: cluster] = whole.reshape(-1, cluster).sum(axis=1)
        return sums

    def known_at_destination(self, who: Lanes, known: Known) -> Known:
        """Move knowledge released by the lanes' CTAs to the CTAs of the objects."""
        return known if who.rank is None else at_rank(known, who.rank, self.machine.cluster)

    # ------------------------------------------------------------------ operations

    def initialise(self, who: Lanes, count: Array) -> None:
        """mbarrier.init by one lane of each CTA, with an arrival count [C]."""
        here = who.lanes.any(axis=(1, 2))
        here = np.broadcast_to(here, self.machine.ctas)
        outside = here & ((count < 1) | (count > LARGEST_COUNT))
        if np.count_nonzero(outside):
            self._refuse(who, f"an arrival count of {int(count[outside][0])}")
        objects = self._objects.setdefault(who.offset, _Objects(self.machine))
        for table, value in (
            (objects.valid, True),
            (objects.expected, count),
            (objects.pending, count),
            (objects.bytes, 0),
            (objects.phase, 0),
        ):
            table[here] = value[here] if isinstance(value, np.ndarray) else value
        objects.completed.forget(here)
        objects.arriving.forget(here)

    def invalidate(self, who: Lanes) -> None:
        objects = self._of(who)
        objects.valid[self._ctas(who)] = False

    def expect(self, who: Lanes, nbytes: Array) -> None:
        """mbarrier.expect_tx: add pending bytes [C]."""
        objects = self._of(who)
        objects.bytes += nbytes
        if np.count_nonzero(np.abs(objects.bytes) > LARGEST_COUNT):
            self._refuse(who, f"{int(np.abs(objects.bytes).max())} bytes pending")

    def arrive(
        self,
        who: Lanes,
        count: Array,
        known: Known | None,
        *,
        drop: bool = False,
        may_complete: bool = True,
    ) -> None:
        """mbarrier.arrive of lanes [C or 1, W, 32] with a count each; they release `known`.

        Lanes arrive one after another, so that arrivals beyond the pending count belong to the next
        phase.
        """
        objects = self._of(who)
        left = self.destination(who, per_cta(count, who.lanes))
        largest = self.destination(who, np.where(who.lanes, count, 0).max(axis=(1, 2)))
        while np.count_nonzero(left):
            some = np.minimum(left, objects.pending)
            if np.count_nonzero((left > 0) & (largest > objects.pending)):
                self._refuse(who, "more arrivals at once than are pending")
            if not may_complete and np.count_nonzero((left >= objects.pending)[left > 0]):
                self._refuse(who, "the last arrival of a phase by .noComplete")
            if known is not None:
                objects.arriving.add(known, some > 0)
            objects.pending -= some
            if drop:
                objects.expected -= some
            self._complete(who.offset, objects)
            left = left - some

    def more(self, who: Lanes, count: Array) -> None:
        """Add pending arrivals [C], which are made later (cp.async.mbarrier.arrive without
        .noinc)."""
        self._of(who).pending += count

    def complete_bytes(self, offset: int, ctas: Array, nbytes: int, known: Known | None) -> None:
        """Complete bytes in these CTAs [C], for a copy announced by `copy_started`."""
        objects = self._objects[offset]
        objects.bytes -= np.where(ctas, nbytes, 0)
        objects.copies -= ctas
        if known is not None:
            objects.arriving.add(known, ctas)
        self._complete(offset, objects)

    def copy_started(self, who: Lanes, ctas: Array) -> None:
        """Announce a copy that will complete on the objects of these CTAs [C]."""
        self._of(who, ctas).copies += ctas

    def complete_transaction(self, who: Lanes, nbytes: Array) -> None:
        """mbarrier.complete_tx: simulate the completion of a copy of these bytes [C]."""
        objects = self._of(who)
        objects.bytes -= nbytes
        self._complete(who.offset, objects)

    def states(self, who: Lanes, count: Array) -> Array:
        """Return the state that each arriving lane gets: the phase and pending count that it finds.

        The opaque state [C, W, 32] has the pending count above the phase.
        """
        objects = self._of(who)
        each = np.where(who.lanes, np.broadcast_to(count, who.lanes.shape), 0).astype(np.int64)
        flat = each.reshape(len(each), -1)
        before = (flat.cumsum(axis=1) - flat).reshape(each.shape)
        pending, expected, phase = (
            table.reshape(-1, 1, 1) for table in (objects.pending, objects.expected, objects.phase)
        )
        beyond = before - pending
        wrapped = beyond >= 0
        expected = np.maximum(expected, 1)
        left = np.where(wrapped, expected - beyond % expected, -beyond)
        now = phase + np.where(wrapped, 1 + beyond // expected, 0)
        state: Array = now & 0xFFFFFFFF | left << 32
        return state

    # ------------------------------------------------------------------ waiting

    def phase(self, who: Lanes) -> Array:
        """Return the number of phases that the objects of each CTA [C] have completed."""
        return self._of(who).phase

    def acquire(self, who: Lanes, lanes: Array) -> None:
        """Let lanes that have observed the completion of the previous phase acquire its
        knowledge."""
        if self.machine.checks and np.count_nonzero(lanes):
            self.machine.clocks.acquire(lanes, self._of(who).completed.known)

    def describe(self, who: Lanes) -> tuple[str, str]:
        """Return (kind of fault, message) for a wait on the first object that never ends."""
        cta = int(self._ctas(who).argmax())
        objects = self._of(who)
        pending, nbytes = int(objects.pending[cta]), int(objects.bytes[cta])
        message = (
            f"the mbarrier at offset {who.offset} never completes phase {objects.phase[cta]}: "
            f"{pending} of {objects.expected[cta]} arrivals and {nbytes} bytes are pending"
        )
        miscounted = nbytes < 0 or (nbytes > 0 and pending == 0)
        return "transaction-count" if miscounted else "deadlock", message

    # ------------------------------------------------------------------ internals

    def _of(self, who: Lanes, ctas: Array | None = None) -> _Objects:
        """Return the objects. Raises Violation if one is not initialised."""
        ctas = self._ctas(who) if ctas is None else ctas
        objects = self._objects.get(who.offset)
        if objects is None or np.count_nonzero(ctas & ~objects.valid):
            message = f"no mbarrier is initialised at shared offset {who.offset}"
            raise Violation("uninitialised-read", message, who.lanes)
        return objects

    def _ctas(self, who: Lanes) -> Array:
        """Return the CTAs [C] whose objects are used."""
        return self.destination(who, any_of(who.lanes, (1, 2))) > 0

    def _complete(self, offset: int, objects: _Objects) -> None:
        """Start the next phase of objects without pending arrivals and bytes."""
        done = objects.valid & (objects.pending == 0) & (objects.bytes == 0)
        self.machine.signals += 1
        if not np.count_nonzero(done):
            return
        early = done & (objects.copies > 0)
        if np.count_nonzero(early):
            message = (
                f"the mbarrier at offset {offset} completes its phase before "
                f"{int(objects.copies[early][0])} copies that signal it have finished: "
                "it expects fewer bytes than they bring"
            )
            raise Violation("transaction-count", message, early.reshape(-1, 1, 1))
        objects.phase += done
        objects.pending = np.where(done, objects.expected, objects.pending)
        objects.completed.take_over(objects.arriving, done)

    def _refuse(self, who: Lanes, what: str) -> None:
        message = f"the mbarrier at offset {who.offset} gets {what}"
        raise Violation("transaction-count", message, who.lanes)

    def _check_end(self) -> None:
        """Raise Violation for expected bytes that never arrived."""
        for offset, objects in self._objects.items():
            left = objects.valid & (objects.bytes != 0)
            if np.count_nonzero(left):
                message = (
                    f"the mbarrier at offset {offset} is left with "
                    f"{int(objects.bytes[left][0])} bytes pending at the end"
                )
                raise Violation("transaction-count", message, left.reshape(-1, 1, 1))
