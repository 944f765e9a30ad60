"""Accesses to shared memory as flat lists of areas, and their descriptions in faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask, Violation
from kgen.emulate.ptx.exec.ctas import narrow, over_ctas
from kgen.emulate.ptx.memory.areas import Areas
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

#: Bits of the offset in a shared address. The bits above are 0, or 1 + the rank of a CTA in the
#: cluster.
RANK_SHIFT = 24


@frozen
class Accesses:
    """Accesses of active lanes, flat: one entry for each area that a lane accesses.

    `row` is the cluster, `thread` the thread within the cluster (`actor * 32 + lane`), `cell` the
    area, counted over all rows.
    """

    row: Array
    thread: Array
    cell: Array

    def some(self, which: Array) -> Accesses:
        return Accesses(row=self.row[which], thread=self.thread[which], cell=self.cell[which])

    @property
    def actor(self) -> Array:
        found: Array = self.thread >> 5
        return found


@frozen
class Region:
    """Region of an asynchronous operation: units of `unit` bytes at shared addresses `address` [C',
    n].

    `issuer` [C'] is the thread that issued it; `ctas` [C'] are the CTAs in which there is such an
    operation (see :mod:`ctas`). The upper bits of an address (`RANK_SHIFT`) may name another CTA of
    the cluster.
    """

    address: Array
    unit: int
    issuer: Array
    ctas: Array

    def narrowed(self, cluster: int) -> Region:
        """Return the region of one cluster if all clusters are equal."""
        address = self.address
        if not np.count_nonzero(address != address[:1]):
            address = address[:1]
        address, issuer, ctas = (
            narrow(value, cluster) for value in (address, self.issuer, self.ctas)
        )
        return Region(address=address, unit=self.unit, issuer=issuer, ctas=ctas)


class Granules:
    """Shared memory of `nbytes` bytes per CTA, divided into granules, which are grouped in
    areas."""

    def __init__(self, machine: Chunk, nbytes: int, grow: Callable[[Array], None]) -> None:
        """Divide the memory; `grow` is called with new areas, see `Areas`."""
        self.machine = machine
        self.granule = machine.granule
        self.per_cta = nbytes // self.granule
        count = self.per_cta * machine.cluster
        self.areas = Areas(count, grow, whole=machine.asynchronous)
        self._cta_threads = machine.warps * 32
        self._threads = self._cta_threads * machine.cluster

    @property
    def count(self) -> int:
        """Areas of a cluster."""
        return self.areas.count

    def of_lanes(self, address: Array, nbytes: int, mask: Mask, rows: int) -> Accesses:
        """Return accesses of `nbytes` bytes by each active lane; with one row, by the first
        cluster's lanes."""
        machine = self.machine
        shape = machine.shape if rows > 1 else (machine.cluster, machine.warps, 32)
        first = np.broadcast_to(address // self.granule, shape).reshape(-1)
        place = np.arange(first.size)
        if mask is not None:
            place = np.flatnonzero(np.broadcast_to(mask, shape))
            first = first[place]
        row, thread = np.divmod(place, self._threads)
        count = nbytes // self.granule
        if machine.cluster > 1:
            first = self._in_cluster(first, thread // self._cta_threads)
        if count > 1:
            first = (first[:, None] + np.arange(count)).reshape(-1)
            row, thread = row.repeat(count), thread.repeat(count)
        area = self.areas.single(first)
        return Accesses(row=row, thread=thread, cell=area + row * self.count)

    def of_region(self, region: Region, thread: Array, rows: int) -> Accesses:
        """Return accesses to a region by these threads [C'] of its CTAs."""
        cluster = self.machine.cluster
        count = max(len(region.address), len(thread), len(region.ctas), rows * cluster)
        cta = np.flatnonzero(over_ctas(region.ctas, count))
        row, rank = np.divmod(cta, cluster)
        who = over_ctas(thread, count)[cta] + rank * self._cta_threads
        found = self._areas_of(region, cta.tolist())
        sizes = np.array([len(areas) for areas in found])
        area = np.concatenate(found) if found else np.zeros(0, np.int64)
        row = row.repeat(sizes)
        return Accesses(row=row, thread=who.repeat(sizes), cell=area + row * self.count)

    def _areas_of(self, region: Region, ctas: list[int]) -> list[Array]:
        """Return the areas of a region for each of these CTAs."""
        address, cluster = region.address, self.machine.cluster
        names = [line.tobytes() for line in address]
        parts = [(cta % len(address), cta % cluster) for cta in ctas]
        finders = {
            (names[line], rank, region.unit): partial(
                self._granules_of, address[line], rank, region.unit
            )
            for line, rank in dict.fromkeys(parts)
        }
        before = -1
        while before != self.count:
            before = self.count
            known = {name: self.areas.covering(name, find) for name, find in finders.items()}
        return [known[names[line], rank, region.unit] for line, rank in parts]

    def _granules_of(self, address: Array, rank: int, unit: int) -> Array:
        """Return the granules of a cluster for units at addresses [n], accessed by the CTA of a
        rank."""
        first = address // self.granule
        if self.machine.cluster > 1:
            first = self._in_cluster(first, np.int64(rank))
        found: Array = (first[:, None] + np.arange(max(1, unit // self.granule))).reshape(-1)
        return found

    def _in_cluster(self, first: Array, own: Array | np.int64) -> Array:
        """Convert a granule of the addressed CTA to one of the cluster; `own` is the rank of the
        accessing CTA."""
        named, offset = np.divmod(first, (1 << RANK_SHIFT) // self.granule)
        found: Array = offset + np.where(named == 0, own, named - 1) * self.per_cta
        return found

    # ------------------------------------------------------------------ for faults

    def violation(self, at: Accesses, bad: Array, kind: str, message: str) -> Violation:
        """Return a violation for the accesses where `bad`."""
        machine = self.machine
        rank, thread = np.divmod(at.thread[bad], self._cta_threads)
        where = at.row[bad] * machine.cluster + rank, thread
        lanes = np.zeros((machine.ctas, self._cta_threads), bool)
        address = np.zeros(lanes.shape, np.int64)
        lanes[where] = True
        granule = self.areas.first[at.cell[bad] % self.count]
        # Keep the first granule of each lane: the message refers to it.
        cta, lane = where[0][::-1], where[1][::-1]
        address[cta, lane] = granule[::-1] % self.per_cta * self.granule
        return Violation(
            kind,
            message,
            lanes.reshape(machine.shape),
            address.reshape(machine.shape),
            space="shared",
        )

    def by_whom(self, done: str, actor: int, lane: int | None, pc: int) -> str:
        """Describe an access: `written by thread 3 in line 7`, or by a warp if several lanes did
        it."""
        machine = self.machine
        line = machine.line(pc)
        if actor >= machine.clocks.warps:
            return f"{done} by the asynchronous operation of line {line}"
        rank, warp = divmod(actor, machine.warps)
        where = f" of the CTA of rank {rank}" if machine.cluster > 1 else ""
        who = f"warp {warp}" if lane is None else f"thread {warp * 32 + lane}"
        return f"{done} by {who}{where} in line {line}"
