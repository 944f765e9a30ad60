"""Counters of memory traffic for both emulators, and their names in a report.

Lanes are rows of addresses, one row per warp or wave. NOWHERE marks a lane that accesses nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from kgen.emulate.counters import MEANING
from kgen.emulate.report import LineCounts
from kgen.emulate.windows import WINDOW_BITS

Array = npt.NDArray[Any]

#: Counters that only a profile has.
TRAFFIC = frozenset(
    name
    for name in MEANING
    if name.startswith(("shared_", "global_", "copies_", "dead_", "prefetches_"))
    or name == "bank_conflicts"
)
#: Mark in place of an address, or of an address divided by a size: the lane accesses nothing.
NOWHERE = -1
#: Bytes of the widest access of a lane, to which the lists of touched bytes are padded.
_WIDEST = 32


class Touched:
    """Set of the bytes of global memory that were touched, by window."""

    def __init__(self) -> None:
        self._bytes: dict[int, Array] = {}

    def add(self, addresses: Array, nbytes: int) -> None:
        """Add `nbytes` bytes at each address."""
        windows = addresses >> WINDOW_BITS
        for window in np.unique(windows).tolist():
            offsets = addresses[windows == window] - (window << WINDOW_BITS)
            touched = self._until(window, int(offsets.max()) + nbytes)
            if _WIDEST % nbytes == 0 and _are_aligned(offsets, nbytes):
                touched.reshape(-1, nbytes)[offsets // nbytes] = True
            else:
                touched[offsets[:, None] + np.arange(nbytes)] = True

    def count(self) -> int:
        """Return the number of distinct bytes."""
        return sum(int(np.count_nonzero(touched)) for touched in self._bytes.values())

    def _until(self, window: int, end: int) -> Array:
        """Return the bytes of a window, at least up to `end`."""
        touched = self._bytes.get(window)
        if touched is None or len(touched) < end:
            before = np.zeros(0, np.bool_) if touched is None else touched
            size = max(end, 2 * len(before))
            touched = np.zeros(-(-size // _WIDEST) * _WIDEST, np.bool_)
            touched[: len(before)] = before
            self._bytes[window] = touched
        return touched


@dataclass(kw_only=True)
class Moved:
    """Memory traffic of the instructions of one source line."""

    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    load_sectors: int = 0
    store_sectors: int = 0
    sectors_ideal: int = 0
    load_bytes: int = 0
    store_bytes: int = 0
    prefetches: int = 0
    prefetches_inside: int = 0

    @property
    def dead_prefetches(self) -> int:
        return 0 if self.prefetches_inside else self.prefetches

    @property
    def prefetches_outside(self) -> int:
        return self.prefetches - self.prefetches_inside

    def add_shared(self, cycles: int, ideal: int) -> None:
        self.shared_wavefronts += cycles
        self.shared_wavefronts_ideal += ideal

    def add_global(self, sectors: int, ideal: int, nbytes: int, *, store: bool) -> None:
        self.sectors_ideal += ideal
        if store:
            self.store_sectors += sectors
            self.store_bytes += nbytes
        else:
            self.load_sectors += sectors
            self.load_bytes += nbytes

    def add_to(self, line: LineCounts) -> None:
        """Add the traffic to a line of a report."""
        line.shared_wavefronts += self.shared_wavefronts
        line.shared_wavefronts_ideal += self.shared_wavefronts_ideal
        line.global_sectors += self.load_sectors + self.store_sectors
        line.global_sectors_ideal += self.sectors_ideal
        line.global_bytes += self.load_bytes + self.store_bytes
        line.dead_prefetches += self.dead_prefetches
        line.prefetches_outside += self.prefetches_outside


Line = TypeVar("Line", bound=Moved)


class LineTraffic(Generic[Line]):
    """Counts of a launch by source line, and the bytes of global memory that it touched."""

    def __init__(self, sector: int, line: Callable[[], Line]) -> None:
        """Create empty counts. `sector` is the bytes of a sector; `line` creates the counts of a
        new line."""
        self.by_line: defaultdict[int, Line] = defaultdict(line)
        self.touched = Touched()
        self.sector = sector

    def add_global(
        self, moved: Moved, lanes: Array, times: int, nbytes: int, *, store: bool
    ) -> None:
        """Count accesses of `nbytes` at each address of the rows of lanes, each row `times`
        times."""
        at = np.sort(lanes, axis=1)
        distinct = first_of_each(at)
        addresses = at[distinct]
        self.touched.add(addresses, nbytes)
        # An access that is aligned to its size is in one sector.
        in_one = self.sector % nbytes == 0 and _are_aligned(addresses, nbytes)
        asked = np.count_nonzero(distinct, axis=1) * nbytes
        moved.add_global(
            _sectors(at, 1 if in_one else nbytes, self.sector) * times,
            int((-(-asked // self.sector)).sum()) * times,
            int(np.count_nonzero(at != NOWHERE)) * nbytes * times,
            store=store,
        )

    def counters(self) -> dict[str, int]:
        """Return the counters of memory traffic, summed over the lines."""
        parts = list(self.by_line.values())
        total = {f.name: sum(getattr(part, f.name) for part in parts) for f in fields(Moved)}
        wavefronts, ideal = total["shared_wavefronts"], total["shared_wavefronts_ideal"]
        return {
            "shared_wavefronts": wavefronts,
            "shared_wavefronts_ideal": ideal,
            "bank_conflicts": wavefronts - ideal,
            "global_load_sectors": total["load_sectors"],
            "global_store_sectors": total["store_sectors"],
            "global_sectors": total["load_sectors"] + total["store_sectors"],
            "global_sectors_ideal": total["sectors_ideal"],
            "global_load_bytes": total["load_bytes"],
            "global_store_bytes": total["store_bytes"],
            "global_unique_bytes": self.touched.count(),
            "dead_prefetches": sum(part.dead_prefetches for part in parts),
            "prefetches_outside": sum(part.prefetches_outside for part in parts),
        }


def bank_cycles(units: Array, sets: int, *, atomic: bool) -> Array:
    """Return the cycles that banked memory takes for each row of `units`.

    A unit is the number of a memory word as wide as one of the `sets` equal sets of banks. A row
    takes as many cycles as its busiest set has distinct units. Several lanes share a unit in one
    cycle, except for atomics, which the memory executes one after another.
    """
    in_order = np.sort(units, axis=1)
    counted = in_order != NOWHERE if atomic else first_of_each(in_order)
    row, _ = np.nonzero(counted)
    load = np.bincount(row * sets + in_order[counted] % sets, minlength=len(units) * sets)
    busiest: Array = load.reshape(-1, sets).max(axis=1)
    return busiest


def first_of_each(in_order: Array) -> Array:
    """Mark the first occurrence of each value in its sorted row, except NOWHERE."""
    first = np.ones(in_order.shape, np.bool_)
    first[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    first &= in_order != NOWHERE
    return first


def _are_aligned(addresses: Array, nbytes: int) -> bool:
    """Return whether addresses are multiples of `nbytes`, a power of two."""
    return not np.count_nonzero(addresses & (nbytes - 1))


def _sectors(in_order: Array, nbytes: int, sector: int) -> int:
    """Return the number of sectors that each row of sorted addresses touches, summed over the
    rows."""
    if nbytes > 1:
        reach = -(-nbytes // sector)
        steps = np.minimum(np.arange(reach + 1) * sector, nbytes - 1)
        spread = np.where(in_order[..., None] == NOWHERE, NOWHERE, in_order[..., None] + steps)
        in_order = np.sort(spread.reshape(len(in_order), -1), axis=1)
    return int(np.count_nonzero(first_of_each(in_order // sector)))
