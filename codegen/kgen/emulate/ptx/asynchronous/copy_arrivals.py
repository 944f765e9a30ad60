"""cp.async.mbarrier.arrive: arrivals on an mbarrier when copies complete (PTX ISA 9.7.13.15).

The emulator makes each arrival as late as possible: when no thread can continue. Without a seed,
the arrivals are made in issue order; with an odd seed, in reverse program order; with an even seed
other than 0, in random order.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.asynchronous.mbarriers import Lanes, Mbarriers
from kgen.emulate.ptx.chunk import StallRank, uniform
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.order.released_knowledge import Known
from kgen_runtime.values import frozen


@frozen
class Arrival:
    """Arrival of lanes once their copies with numbers below `copies` are complete.

    `known` is the knowledge that the arrival releases.
    """

    pc: int
    who: Lanes
    copies: int
    known: Known | None

    @property
    def place(self) -> tuple[int, int, int]:
        """Sort key: instruction, mbarrier, and the first lane that issued the arrival."""
        return self.pc, self.who.offset, int(self.who.lanes.argmax())


class CopyArrivals:
    """Arrivals of a chunk that wait for cp.async copies.

    The arrivals of one thread are made in issue order, because an arrival completes all copies that
    the thread issued before it.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.when_stalled(StallRank.COPY_ARRIVAL, self._make_one)
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        self.due: list[Arrival] = []
        self._order = np.random.default_rng(self.machine.launch.seed)

    def add(self, mbarriers: Mbarriers, who: Lanes) -> None:
        """Add an arrival of these lanes, to be made when all copies issued so far are complete.

        The arrival releases what the lanes know now.
        """
        machine, known = self.machine, None
        copies = machine.copies.count(who.lanes)
        if machine.checks:
            known = mbarriers.known_at_destination(who, machine.clocks.release(who.lanes))
        self._mbarriers = mbarriers
        self.due.append(Arrival(pc=machine.pc, who=who, copies=copies, known=known))

    def _make_one(self) -> bool:
        if not self.due:
            return False
        arrival = self.due.pop(self._next())
        self.machine.pc = arrival.pc
        self.machine.copies.finish(arrival.who.lanes, arrival.copies)
        self._mbarriers.arrive(arrival.who, uniform(1, np.uint32), arrival.known)
        return True

    def _next(self) -> int:
        """Return the index of the arrival to make next."""
        seed = self.machine.launch.seed
        if not seed:
            return 0
        first = self._first_of_threads()
        if seed % 2:
            return max(first, key=lambda number: self.due[number].place)
        return int(self._order.choice(first))

    def _first_of_threads(self) -> list[int]:
        """Return the indices of arrivals that no earlier arrival of the same thread precedes."""
        found, before = [], np.zeros((1, 1, 1), bool)
        for number, arrival in enumerate(self.due):
            if not np.count_nonzero(arrival.who.lanes & before):
                found.append(number)
            before = before | arrival.who.lanes
        return found
