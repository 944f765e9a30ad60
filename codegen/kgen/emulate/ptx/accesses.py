"""Accesses to shared memory as flat lists of granules, and what faults say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.types import Array

if TYPE_CHECKING:
    from kgen.emulate.ptx.machine import Machine, Mask, Violation

#: Upper bits of a shared address: 0, or 1 + the rank of a CTA in the cluster.
RANK_SHIFT = 24


@dataclass(frozen=True, kw_only=True)
class Accesses:
    """Active lanes' accesses, flat: one entry for each granule that a lane touches.

    `row` counts clusters, `thread` within the cluster (`actor * 32 + lane`), `cell` granules of all
    rows.
    """

    row: Array
    thread: Array
    cell: Array

    @property
    def actor(self) -> Array:
        found: Array = self.thread >> 5
        return found


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


class Granules:
    """Shared memory of `nbytes` bytes for each CTA, in granules."""

    def __init__(self, machine: Machine, nbytes: int) -> None:
        self.machine, self.granule = machine, machine.granule
        self.per_cta = nbytes // self.granule
        #: Of a cluster.
        self.count = self.per_cta * machine.cluster
        self._cta_threads = machine.warps * 32
        self._threads = self._cta_threads * machine.cluster

    def of_lanes(self, address: Array, nbytes: int, mask: Mask, rows: int) -> Accesses:
        """Accesses of `nbytes` by each active lane; with one row, of the first cluster's lanes."""
        machine = self.machine
        shape = machine.shape if rows > 1 else (machine.cluster, machine.warps, 32)
        first = np.broadcast_to(address // self.granule, shape).reshape(-1)
        place = np.arange(first.size)
        if mask is not None:
            place = np.flatnonzero(np.broadcast_to(mask, shape))
            first = first[place]
        row, thread = np.divmod(place, self._threads)
        return self._flat(row, thread, first, nbytes)

    def of_region(self, region: Region, thread: Array, rows: int) -> Accesses:
        """Accesses by these threads, [C or 1], of the CTAs."""
        cluster = self.machine.cluster
        count = max(len(region.address), len(thread), len(region.ctas), rows * cluster)
        cta = np.flatnonzero(np.broadcast_to(region.ctas, count))
        units = region.address.shape[1]
        address = np.broadcast_to(region.address, (count, units))[cta]
        row, rank = np.divmod(cta, cluster)
        who = np.broadcast_to(thread, count)[cta] + rank * self._cta_threads
        first = address.reshape(-1) // self.granule
        return self._flat(row.repeat(units), who.repeat(units), first, region.unit)

    def _flat(self, row: Array, thread: Array, first: Array, nbytes: int) -> Accesses:
        count = nbytes // self.granule
        if self.machine.cluster > 1:
            first = self._in_cluster(first, thread)
        cell = first + row * self.count
        if count > 1:
            cell = (cell[:, None] + np.arange(count)).reshape(-1)
            row, thread = row.repeat(count), thread.repeat(count)
        return Accesses(row=row, thread=thread, cell=cell)

    def _in_cluster(self, first: Array, thread: Array) -> Array:
        """A granule of the addressed CTA as one of the cluster."""
        named, offset = np.divmod(first, (1 << RANK_SHIFT) // self.granule)
        own = thread // self._cta_threads
        found: Array = offset + np.where(named == 0, own, named - 1) * self.per_cta
        return found

    # ------------------------------------------------------------------ for faults

    def violation(self, at: Accesses, bad: Array, kind: str, message: str) -> Violation:
        """A fault of the accesses where `bad`."""
        from kgen.emulate.ptx.machine import Violation

        machine = self.machine
        rank, thread = np.divmod(at.thread[bad], self._cta_threads)
        where = at.row[bad] * machine.cluster + rank, thread
        lanes = np.zeros((machine.ctas, self._cta_threads), bool)
        address = np.zeros(lanes.shape, np.int64)
        lanes[where] = True
        address[where] = at.cell[bad] % self.per_cta * self.granule
        return Violation(
            kind, message, lanes.reshape(machine.shape), address.reshape(machine.shape)
        )

    def by_whom(self, done: str, actor: int, lane: int | None, pc: int) -> str:
        """`written by thread 3 in line 7`; the warp where several lanes did it."""
        machine = self.machine
        line = machine.line(pc)
        if actor >= machine.clocks.warps:
            return f"{done} by the asynchronous operation of line {line}"
        rank, warp = divmod(actor, machine.warps)
        where = f" of the CTA of rank {rank}" if machine.cluster > 1 else ""
        who = f"warp {warp}" if lane is None else f"thread {warp * 32 + lane}"
        return f"{done} by {who}{where} in line {line}"
