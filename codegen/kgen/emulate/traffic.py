"""What both emulators count of the memories' work, and how their sums are called in a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.counters import MEANING
from kgen.emulate.report import LineCounts

Array = npt.NDArray[Any]

#: Counters that only a profile has.
TRAFFIC = frozenset(
    name
    for name in MEANING
    if name.startswith(("shared_", "global_", "copies_")) or name == "bank_conflicts"
)
#: In place of an address, and of what it is divided by any size: the lane accesses nothing.
NOWHERE = -1


@dataclass(kw_only=True)
class Moved:
    """What instructions moved."""

    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    load_sectors: int = 0
    store_sectors: int = 0
    sectors_ideal: int = 0
    load_bytes: int = 0
    store_bytes: int = 0

    def add_to(self, line: LineCounts) -> None:
        """Add them to a report's line."""
        line.shared_wavefronts += self.shared_wavefronts
        line.shared_wavefronts_ideal += self.shared_wavefronts_ideal
        line.global_sectors += self.load_sectors + self.store_sectors
        line.global_sectors_ideal += self.sectors_ideal
        line.global_bytes += self.load_bytes + self.store_bytes


def counters(moved: Iterable[Moved], unique_bytes: int) -> dict[str, int]:
    """The sums of a launch by their names in a report."""
    parts = list(moved)
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
        "global_unique_bytes": unique_bytes,
    }


def first_of_each(in_order: Array) -> Array:
    """Where a value stands for the first time in its sorted row; not where it is NOWHERE."""
    first = np.ones(in_order.shape, np.bool_)
    first[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    first &= in_order != NOWHERE
    return first
