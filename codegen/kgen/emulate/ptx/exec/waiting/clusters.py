"""Cluster barrier: barrier.cluster (PTX ISA 9.7.13.3)."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.waiting.released import Released
from kgen.emulate.ptx.types import Array


class ClusterBarrier:
    """Barrier of every cluster of a chunk. A phase ends when all lanes that have not exited have
    arrived."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        #: Number of arrivals, and of waits, of each lane.
        self.arrivals = np.zeros(self.machine.shape, np.int64)
        self.waits = np.zeros(self.machine.shape, np.int64)
        #: Number of complete phases, [C].
        self.phase = np.zeros(self.machine.ctas, np.int64)
        self.arriving, self.completed = Released(self.machine), Released(self.machine)

    def arrive(self, mask: Mask, *, releases: bool) -> None:
        machine = self.machine
        lanes = machine.active(mask)
        twice = machine.everywhere(lanes) & (self.arrivals > self.waits)
        if np.count_nonzero(twice):
            message = "barrier.cluster.arrive a second time without a wait between"
            raise Violation("deadlock", message, twice)
        self.arrivals = self.arrivals + lanes
        if releases and machine.checks:
            known = machine.clocks.release(lanes).across(machine.cluster)
            self.arriving.add(known, np.ones(machine.ctas, bool))
        machine.signals += 1

    def ready(self, mask: Mask) -> Array:
        """Return the lanes whose phase is complete."""
        self._complete()
        lanes = self.machine.everywhere(self.machine.active(mask))
        early = lanes & (self.arrivals == self.waits)
        if np.count_nonzero(early):
            message = "barrier.cluster.wait without an arrival before it"
            raise Violation("deadlock", message, early)
        ready: Array = lanes & (self.arrivals <= self.phase[:, None, None])
        return ready

    def wait(self, mask: Mask, *, acquires: bool) -> None:
        machine = self.machine
        lanes = machine.active(mask)
        self.waits = self.waits + lanes
        if acquires and machine.checks:
            machine.clocks.acquire(lanes, self.completed.known)

    def describe(self, lanes: Array) -> tuple[str, str]:
        """Return (kind of fault, message) for lanes that wait for ever."""
        cta = int(lanes.any(axis=(1, 2)).argmax())
        first = cta // self.machine.cluster * self.machine.cluster
        here = slice(first, first + self.machine.cluster)
        missing = (self.arrivals[here] <= self.phase[cta]) & ~self.machine.exited[here]
        count = int(missing.sum())
        message = f"barrier.cluster never completes: {count} threads of the cluster do not arrive"
        return "deadlock", message

    def _complete(self) -> None:
        """End the phase of the clusters in which all living lanes have arrived."""
        machine = self.machine
        reached = np.where(machine.exited, np.iinfo(np.int64).max, self.arrivals).min(axis=(1, 2))
        together = reached.reshape(-1, machine.cluster).min(axis=1).repeat(machine.cluster)
        done = (together > self.phase) & (together < np.iinfo(np.int64).max)
        if not np.count_nonzero(done):
            return
        self.phase = self.phase + done
        machine.met = machine.met | done
        self.completed.take_over(self.arriving, done)
