"""Memory traffic that both emulators count, and the names of its sums in a report.

Lanes are given as rows of addresses, one row for each warp or wave, with NOWHERE for lanes that
access nothing.
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
#: In place of an address, and of what it is divided by any size: the lane accesses nothing.
NOWHERE = -1
#: The widest access of a lane, which the lists of touched bytes are padded to.
_WIDEST = 32


class Touched:
    """Which bytes of global memory were touched, by the window that they are in."""

    def __init__(self) -> None:
        self._bytes: dict[int, Array] = {}

    def add(self, addresses: Array, nbytes: int) -> None:
        """Note `nbytes` at each address."""
        windows = addresses >> WINDOW_BITS
        for window in np.unique(windows).tolist():
            offsets = addresses[windows == window] - (window << WINDOW_BITS)
            touched = self._until(window, int(offsets.max()) + nbytes)
            if _WIDEST % nbytes == 0 and _are_aligned(offsets, nbytes):
                touched.reshape(-1, nbytes)[offsets // nbytes] = True
            else:
                touched[offsets[:, None] + np.arange(nbytes)] = True

    def count(self) -> int:
        """How many different bytes there were."""
        return sum(int(np.count_nonzero(touched)) for touched in self._bytes.values())

    def _until(self, window: int, end: int) -> Array:
        """The bytes of a window, at least to this end of them."""
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
        """Add them to a report's line."""
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
        """`sector` is the bytes of one; `line` makes the counts of a line that has none yet."""
        self.by_line: defaultdict[int, Line] = defaultdict(line)
        self.touched = Touched()
        self.sector = sector

    def add_global(
        self, moved: Moved, lanes: Array, times: int, nbytes: int, *, store: bool
    ) -> None:
        """Rows of lanes access `nbytes` of global memory at each address, `times` over."""
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
        """Their part of a report's counters."""
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
    """The cycles that banked memory takes for each row of `units`, which it serves together.

    `units` number what lanes access, as wide as one of `sets` equal sets of banks. A row takes as
    many cycles as its busiest set has different units: any number of lanes may share one, but for
    those of an atomic, which go one after the other.
    """
    in_order = np.sort(units, axis=1)
    counted = in_order != NOWHERE if atomic else first_of_each(in_order)
    row, _ = np.nonzero(counted)
    load = np.bincount(row * sets + in_order[counted] % sets, minlength=len(units) * sets)
    busiest: Array = load.reshape(-1, sets).max(axis=1)
    return busiest


def first_of_each(in_order: Array) -> Array:
    """Mark the first place of each value in its sorted row, but not NOWHERE."""
    first = np.ones(in_order.shape, np.bool_)
    first[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    first &= in_order != NOWHERE
    return first


def _are_aligned(addresses: Array, nbytes: int) -> bool:
    """Whether addresses are multiples of a power of two."""
    return not (addresses & (nbytes - 1)).any()


def _sectors(in_order: Array, nbytes: int, sector: int) -> int:
    """How many sectors each row of sorted addresses touches, summed."""
    if nbytes > 1:
        reach = -(-nbytes // sector)
        steps = np.minimum(np.arange(reach + 1) * sector, nbytes - 1)
        spread = np.where(in_order[..., None] == NOWHERE, NOWHERE, in_order[..., None] + steps)
        in_order = np.sort(spread.reshape(len(in_order), -1), axis=1)
    return int(np.count_nonzero(first_of_each(in_order // sector)))
