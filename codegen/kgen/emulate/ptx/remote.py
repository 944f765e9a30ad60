"""Shared memory of other CTAs of a cluster, which must still be there.

It lives as long as its CTA (CUDA C++ Programming Guide, Distributed Shared Memory). So, when all
have ended, one of the CTA's threads must know of whatever threads of other CTAs did there: nothing
else keeps it from ending first.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.machine import Machine, Violation
from kgen.emulate.ptx.reads import READ_PC, READ_PC_MASK, READ_TIME
from kgen.emulate.ptx.shadow import Shadow
from kgen.emulate.ptx.tags import THREAD, TIME, label_of
from kgen.emulate.ptx.types import Array


def check_remote_accesses(machine: Machine) -> None:
    """Raise Violation for the first access to a CTA that may have ended before it."""
    shadow = machine.shared.shadow
    if shadow is None or machine.cluster == 1:
        return
    known = _known_by_cta(machine)
    shape = (-1, machine.cluster, shadow.granules.per_cta, shadow.warps)
    reads = shadow.all_reads().reshape(shape)
    last = reads.max(axis=2)
    _refuse(machine, last >> READ_TIME, known, (last >> READ_PC) & READ_PC_MASK, "reads")
    last = _last_writes(machine, shadow)
    _refuse(machine, np.maximum(last >> TIME, 0), known, last, "writes")


def _known_by_cta(machine: Machine) -> Array:
    """[row, rank, warp]: up to when some thread of the CTA knows what the warp did."""
    clocks = machine.clocks
    seen = clocks.seen.max(axis=2)[:, :, : clocks.warps]
    known: Array = seen.reshape(len(seen), machine.cluster, machine.warps, -1).max(axis=2)
    return known


def _last_writes(machine: Machine, shadow: Shadow) -> Array:
    """[row, rank, warp]: the latest tag of the warp's in the memory of the CTA; -1 for none."""
    writer = shadow.writer.reshape(-1, machine.cluster, shadow.granules.per_cta)
    last = np.full((len(writer), machine.cluster, shadow.warps), -1, np.int64)
    row, rank, granule = np.nonzero(writer >= 0)
    tags = writer[row, rank, granule]
    warp = (tags & THREAD) >> 5
    # What completes asynchronously is no thread's; a CTA that ends before it is refused elsewhere.
    threads = warp < shadow.warps
    np.maximum.at(last, (row[threads], rank[threads], warp[threads]), tags[threads])
    return last


def _refuse(machine: Machine, time: Array, known: Array, place: Array, what: str) -> None:
    """Raise Violation where the times [row, rank, warp] of other CTAs' warps are not known."""
    owner = np.arange(time.shape[2]) // machine.warps
    foreign = owner != np.arange(machine.cluster)[:, None]
    for row, rank, warp in np.argwhere((time > known) & foreign).tolist():
        if _learned(machine, row, rank, warp, int(time[row, rank, warp])):
            continue
        found = int(place[row, rank, warp])
        machine.pc = found if what == "reads" else label_of(found)
        source, own = divmod(warp, machine.warps)
        lanes = np.zeros((machine.ctas, machine.warps, 1), bool)
        lanes[row * machine.cluster + source, own] = True
        message = f"the CTA of rank {rank} may have ended before this {what} its shared memory"
        raise Violation("race", message, lanes)


def _learned(machine: Machine, row: int, rank: int, warp: int, time: int) -> bool:
    """Whether a thread of the CTA knows through flags in memory what a warp did."""
    order = machine.order
    if not machine.clocks.lessons:
        return False
    threads = machine.warps * 32
    place = (row * machine.cluster + rank) * threads + np.arange(threads)
    cluster = np.full(threads, order.first_cluster + row)
    other, when = np.full(threads, warp * 32), np.full(threads, time)
    return bool(order.learned(place, cluster, other, when).any())
