"""Lifetime checks for distributed shared memory, the shared memory of other CTAs of a cluster.

The memory exists as long as its CTA (CUDA C++ Programming Guide, Distributed Shared Memory). A
thread that accesses it must know of an action of that CTA, or the cluster must have met at its
barrier, even with relaxed arrivals. At the end, a thread of the CTA must know all accesses by
threads of other CTAs: nothing else keeps the CTA from exiting first.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask, Violation
from kgen.emulate.ptx.order.tags import THREAD, TIME, label_of
from kgen.emulate.ptx.races.reads import READ_PC, READ_PC_MASK, READ_TIME
from kgen.emulate.ptx.races.shadow import Shadow
from kgen.emulate.ptx.types import Array


def check_started(machine: Chunk, named: Array, mask: Mask) -> None:
    """Raise Violation for lanes that access a CTA which may not have started.

    `named` is 1 + its rank, or 0 for the lane's own CTA.
    """
    clocks = machine.clocks
    if not machine.checks or machine.met.all() or clocks.lessons:
        return
    row, rank = np.divmod(np.arange(machine.ctas), machine.cluster)
    foreign = (named > 0) & (named - 1 != rank.reshape(-1, 1, 1))
    foreign = machine.everywhere(foreign & machine.active(mask)) & ~machine.met[:, None, None]
    cta, warp, lane = np.nonzero(foreign)
    if not cta.size:
        return
    thread = (rank[cta] * machine.warps + warp) * 32 + lane
    known = clocks.all_known(row[cta], thread).reshape(-1, machine.cluster, machine.warps)
    at = machine.everywhere(named)[cta, warp, lane] - 1
    strange = known.max(axis=2)[np.arange(cta.size), at] == 0
    if np.count_nonzero(strange):
        lanes = np.zeros(machine.shape, bool)
        lanes[cta[strange], warp[strange], lane[strange]] = True
        message = (
            f"the CTA of rank {int(at[strange][0])} may not have started before this accesses its "
            "shared memory: no barrier of the cluster precedes it"
        )
        raise Violation("race", message, lanes)


def check_remote_accesses(machine: Chunk, shadow: Shadow | None) -> None:
    """Raise Violation for the first access to a CTA that may have exited before it."""
    if shadow is None or machine.cluster == 1:
        return
    known = _known_by_cta(machine)
    ranks = _areas_of_ranks(shadow)
    reads = shadow.tables.all_reads().reshape(shadow.tables.rows, -1, shadow.warps)
    last = np.stack([reads[:, areas].max(axis=1) for areas in ranks], axis=1)
    _refuse(machine, last >> READ_TIME, known, (last >> READ_PC) & READ_PC_MASK, "reads")
    last = _last_writes(shadow, ranks)
    _refuse(machine, np.maximum(last >> TIME, 0), known, last, "writes")


def _known_by_cta(machine: Chunk) -> Array:
    """Return the time up to which some thread of the CTA knows each warp, [row, rank, warp]."""
    clocks = machine.clocks
    seen = clocks.knowledge.seen.max(axis=2)[:, :, : clocks.warps]
    known: Array = seen.reshape(len(seen), machine.cluster, machine.warps, -1).max(axis=2)
    return known


def _areas_of_ranks(shadow: Shadow) -> list[Array]:
    """Return the areas that overlap the memory of the CTA of each rank."""
    granules = shadow.granules
    return [np.unique(of) for of in granules.areas.of.reshape(-1, granules.per_cta)]


def _last_writes(shadow: Shadow, ranks: list[Array]) -> Array:
    """Return the latest tag of each warp in the memory of the CTA, [row, rank, warp]; -1 for
    none."""
    last = np.full((shadow.tables.rows, len(ranks), shadow.warps), -1, np.int64)
    for rank, areas in enumerate(ranks):
        writer = shadow.tables.writer[:, areas]
        warp = (writer & THREAD) >> 5
        # Asynchronous writes have no thread; a CTA that exits before them is refused elsewhere.
        row, area = np.nonzero((writer >= 0) & (warp < shadow.warps))
        np.maximum.at(last[:, rank], (row, warp[row, area]), writer[row, area])
    return last


def _refuse(machine: Chunk, time: Array, known: Array, place: Array, what: str) -> None:
    """Raise Violation where times [row, rank, warp] of other CTAs' warps are not known."""
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


def _learned(machine: Chunk, row: int, rank: int, warp: int, time: int) -> bool:
    """Return whether a thread of the CTA knows, through memory, what a warp did."""
    order = machine.order
    if not machine.clocks.lessons:
        return False
    threads = machine.warps * 32
    place = (row * machine.cluster + rank) * threads + np.arange(threads)
    cluster = np.full(threads, order.first_cluster + row)
    other, when = np.full(threads, warp * 32), np.full(threads, time)
    return bool(np.count_nonzero(order.learned(place, cluster, other, when)))
