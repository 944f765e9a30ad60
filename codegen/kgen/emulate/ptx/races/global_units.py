"""Accesses to a global buffer in units, and their order relative to accesses of other threads."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Chunk
from kgen.emulate.ptx.order.tags import (
    THREAD,
    TIME,
    UNENDED,
    Strength,
    is_async,
    labels_of,
    strength_of,
    tag,
)
from kgen.emulate.ptx.races.global_access import BufferAccess, Transfer
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen


@frozen
class Units:
    """Accesses of active lanes, flat: one entry per unit. `place` is the lane within the chunk."""

    place: Array
    unit: Array
    mark: Array

    def some(self, which: Array) -> Units:
        return Units(place=self.place[which], unit=self.unit[which], mark=self.mark[which])

    def threads(self, machine: Chunk) -> tuple[Array, Array]:
        """Return the cluster within the chunk and the thread within the cluster."""
        return _threads(machine, self.place)


def _threads(machine: Chunk, place: Array) -> tuple[Array, Array]:
    row, thread = np.divmod(place, machine.clocks.warps * 32)
    return row, thread


def units_of(
    machine: Chunk, access: BufferAccess | Transfer, nbytes: int, time: int | None = None
) -> Units:
    """Split an access into units of `nbytes` bytes, at the current time of its threads or at
    `time`."""
    place, offset = access.places(machine)
    first = offset // nbytes
    row, thread = _threads(machine, place)
    mark = tag(
        machine.clocks.now(row, thread >> 5) if time is None else np.asarray(time),
        machine.order.first_cluster + row,
        thread,
        access.strength,
        isinstance(access, Transfer),
    )
    count = max(1, access.nbytes // nbytes)
    if count > 1:
        first = (first[:, None] + np.arange(count)).reshape(-1)
        place, mark = place.repeat(count), mark.repeat(count)
    return Units(place=place, unit=first, mark=mark)


def happened_before(machine: Chunk, at: Units, others: Array) -> Array:
    """Return whether accesses of other threads, given as tags, happened before these."""
    fine = happened_before_in_cluster(machine, at, others)
    left = np.flatnonzero(~fine)
    if left.size and machine.clocks.lessons:
        fine[left] = machine.order.learned(
            at.place[left], labels_of(others[left]), others[left] & THREAD, others[left] >> TIME
        )
    return fine


def happened_before_in_cluster(machine: Chunk, at: Units, others: Array) -> Array:
    """Return whether accesses happened before these through barriers inside the cluster."""
    clocks, order = machine.clocks, machine.order
    row, thread = at.threads(machine)
    other, time = others & THREAD, others >> TIME
    cluster = labels_of(others)
    near = cluster == row + order.first_cluster
    fine: Array = near & ~clocks.unknown(row, thread, other, time)
    fine |= near & (other == thread) & (time != UNENDED)
    return fine


def both_strong(machine: Chunk, at: Units, others: Array, strength: int) -> Array:
    """Return whether these and other accesses, given as tags, are morally strong (PTX ISA 8.6)."""
    if not strength:
        return np.zeros(others.shape, bool)
    row, thread = at.threads(machine)
    near = labels_of(others) == row + machine.order.first_cluster
    per_cta = machine.warps * 32
    same = near & ((others & THREAD) // per_cta == thread // per_cta)
    needed = np.where(near, int(Strength.CLUSTER), int(Strength.GPU))
    needed = np.where(same, int(Strength.CTA), needed)
    strong: Array = (strength_of(others) >= needed) & (strength >= needed)
    return strong


def unfenced(machine: Chunk, at: Units, others: Array) -> Array:
    """Return whether other accesses, given as tags, are generic writes of the same cluster that
    have not passed a fence to the async proxy."""
    row, thread = at.threads(machine)
    past = machine.clocks.knowledge.past("async.global", row, thread, (others & THREAD) >> 5)
    near = labels_of(others) == row + machine.order.first_cluster
    found: Array = near & ~is_async(others) & (others >> TIME > past)
    return found
