"""cp.async.mbarrier.arrive: arrivals that copies of threads make (PTX ISA 9.7.13.15.14).

They are made as late as they may, when nobody can go on: in the order of their issue, with an odd
seed the last of the text first, with an even seed other than 0 at random.
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
    """Lanes arrive when their copies below a number are complete; `known` is what they release."""

    pc: int
    who: Lanes
    copies: int
    known: Known | None

    @property
    def place(self) -> tuple[int, int, int]:
        """Place of the arrival: its instruction, its object, and the first lane that issued it."""
        return self.pc, self.who.offset, int(self.who.lanes.argmax())


class CopyArrivals:
    """The arrivals of a chunk that wait for the cp.async copies of their threads.

    Those of one thread keep their order, so that its later copies stay under way.
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
        """These lanes arrive when all their copies until now are complete, and release what they
        know now."""
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
        """Which of them is made."""
        seed = self.machine.launch.seed
        if not seed:
            return 0
        first = self._first_of_threads()
        if seed % 2:
            return max(first, key=lambda number: self.due[number].place)
        return int(self._order.choice(first))

    def _first_of_threads(self) -> list[int]:
        """The arrivals that no earlier one of the same thread is due before."""
        found, before = [], np.zeros((1, 1, 1), bool)
        for number, arrival in enumerate(self.due):
            if not (arrival.who.lanes & before).any():
                found.append(number)
            before = before | arrival.who.lanes
        return found
