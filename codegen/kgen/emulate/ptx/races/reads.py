"""Tables [row, granule, warp] of the last reads, or strong writes, of shared memory."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.memory.accesses import Accesses, Granules
from kgen.emulate.ptx.order.clocks import Clocks
from kgen.emulate.ptx.types import Array

#: An entry is `time | instruction | async | several | lane`; 0 for none.
READ_SEVERAL, READ_ASYNC, READ_PC, READ_TIME = 5, 8, 9, 28
READ_PC_MASK = (1 << (READ_TIME - READ_PC)) - 1


def remember(table: Array, cell: Array, time: Array, pc: int, lane: Array | None) -> None:
    """Record accesses by lanes, or by all lanes of their warps for None; `cell` indexes the flat
    table."""
    noted = table.reshape(-1)
    entry: Array = (time << READ_TIME) | (pc << READ_PC)
    if lane is None:
        noted[cell] = entry | (1 << READ_SEVERAL)
        return
    entry |= lane
    old = noted[cell]
    again = (old >> READ_TIME == entry >> READ_TIME) & ((old ^ entry) & 63 != 0)
    entry |= again.astype(np.int64) << READ_SEVERAL
    noted[cell] = entry
    shared = noted[cell] != entry
    if np.count_nonzero(shared):
        noted[cell[shared]] = entry[shared] | (1 << READ_SEVERAL)


def once(at: Accesses, noted: Array) -> tuple[Accesses, Array]:
    """Remove consecutive accesses of one thread with equal entries [access, warp]; an asynchronous
    copy usually meets the same earlier accesses everywhere."""
    alike = (at.thread[1:] == at.thread[:-1]) & (at.row[1:] == at.row[:-1])
    next_ = np.flatnonzero(alike)
    alike[next_] = (noted[next_ + 1] == noted[next_]).all(axis=1)
    if not np.count_nonzero(alike):
        return at, noted
    first = np.flatnonzero(np.concatenate([[True], ~alike]))
    return Accesses(row=at.row[first], thread=at.thread[first], cell=at.cell[first]), noted[first]


def unvouched(clocks: Clocks, row: Array, thread: Array, noted: Array) -> Array:
    """Mark entries [access, warp] by a single lane that did not take part in its warp's releases to
    the accessing threads."""
    single = (noted > 0) & (noted >> READ_SEVERAL & 1 == 0)
    access, warp = np.nonzero(single)
    found = np.zeros(noted.shape, bool)
    entry = noted[access, warp]
    found[access, warp] = clocks.unknown(
        row[access], thread[access], warp * 32 + (entry & 31), entry >> READ_TIME
    )
    return found


def by_whom(granules: Granules, noted: Array, which: Array, did: str) -> str:
    """Describe the first entry [warp] in `which` for a message; `did` is "reads" or "writes"."""
    actor = int(which.argmax())
    entry = int(noted[actor])
    lane = None if entry >> READ_SEVERAL & 1 else entry & 31
    done = {"reads": "read", "writes": "written"}[did]
    return granules.by_whom(done, actor, lane, entry >> READ_PC & READ_PC_MASK)
