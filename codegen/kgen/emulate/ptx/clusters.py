"""barrier.cluster, and what reaches a CTA of a cluster after its end (PTX ISA 9.7.13.3)."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.machine import Machine, Mask, Violation
from kgen.emulate.ptx.released import Released
from kgen.emulate.ptx.types import Array


class ClusterBarrier:
    """The barrier of every cluster of a chunk. A phase ends when all lanes that live arrived."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        #: How often each lane has arrived, and how often it has waited since.
        self.arrivals = np.zeros(self.machine.shape, np.int64)
        self.waits = np.zeros(self.machine.shape, np.int64)
        #: Phases that are complete [C].
        self.phase = np.zeros(self.machine.ctas, np.int64)
        self.arriving, self.completed = Released(self.machine), Released(self.machine)

    def arrive(self, mask: Mask, *, releases: bool) -> None:
        machine = self.machine
        lanes = machine.active(mask)
        twice = machine.everywhere(lanes) & (self.arrivals > self.waits)
        if twice.any():
            message = "barrier.cluster.arrive a second time without a wait between"
            raise Violation("deadlock", message, twice)
        self.arrivals = self.arrivals + lanes
        if releases and machine.checks:
            known = machine.clocks.release(lanes).across(machine.cluster)
            self.arriving.add(known, np.ones(machine.ctas, bool))
        machine.signals += 1

    def ready(self, mask: Mask) -> Array:
        """Lanes whose phase is complete."""
        self._complete()
        lanes = self.machine.everywhere(self.machine.active(mask))
        early = lanes & (self.arrivals == self.waits)
        if early.any():
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
        """(kind of fault, message) of lanes that wait for ever."""
        cta = int(lanes.any(axis=(1, 2)).argmax())
        first = cta // self.machine.cluster * self.machine.cluster
        here = slice(first, first + self.machine.cluster)
        missing = (self.arrivals[here] <= self.phase[cta]) & ~self.machine.exited[here]
        count = int(missing.sum())
        message = f"barrier.cluster waits for ever: {count} threads of the cluster do not arrive"
        return "deadlock", message

    def _complete(self) -> None:
        """End the phase in the clusters that all of their living lanes have reached."""
        machine = self.machine
        reached = np.where(machine.exited, np.iinfo(np.int64).max, self.arrivals).min(axis=(1, 2))
        together = reached.reshape(-1, machine.cluster).min(axis=1).repeat(machine.cluster)
        done = (together > self.phase) & (together < np.iinfo(np.int64).max)
        if not done.any():
            return
        self.phase = self.phase + done
        self.completed.take_over(self.arriving, done)


class RemoteArrivals:
    """Arrivals at mbarriers of other CTAs, which must still be there: they end after they know."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_reset.append(self._reset)
        machine.on_end.append(self._check)
        self._reset()

    def _reset(self) -> None:
        clusters = self.machine.ctas // self.machine.cluster
        warps = self.machine.cluster * self.machine.warps
        #: By cluster and rank of the CTA, the last time of each warp of the cluster, and where.
        self._time = np.zeros((clusters, self.machine.cluster, warps), np.int64)
        self._pc = np.zeros_like(self._time)

    def note(self, lanes: Array, rank: int) -> None:
        """These lanes [C or 1, W, 32] arrive at the CTA of a rank, now."""
        machine, clocks = self.machine, self.machine.clocks
        warps = np.broadcast_to(lanes.any(axis=2), (machine.ctas, machine.warps))
        by_cluster = warps.reshape(len(self._time), -1).copy()
        own = slice(rank * machine.warps, (rank + 1) * machine.warps)
        by_cluster[:, own] = False
        now = clocks.own[:, : by_cluster.shape[1]]
        self._time[:, rank] = np.where(by_cluster, now, self._time[:, rank])
        self._pc[:, rank] = np.where(by_cluster, machine.pc, self._pc[:, rank])

    def _check(self) -> None:
        """Some thread of the CTA must know of every arrival when it ends."""
        machine = self.machine
        if not machine.checks or not self._time.any():
            return
        seen = machine.clocks.seen.max(axis=2)[:, :, : self._time.shape[2]]
        known = seen.reshape(len(seen), machine.cluster, machine.warps, -1).max(axis=2)
        unknown = self._time > known
        if unknown.any():
            cluster, rank, warp = (int(found[0]) for found in np.nonzero(unknown))
            machine.pc = int(self._pc[cluster, rank, warp])
            lanes = np.zeros((machine.ctas, machine.warps, 1), bool)
            source, own = divmod(warp, machine.warps)
            lanes[cluster * machine.cluster + source, own] = True
            message = f"the CTA of rank {rank} may have ended before this arrives at its mbarrier"
            raise Violation("race", message, lanes)
