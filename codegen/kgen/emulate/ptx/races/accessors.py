"""Who accessed the units of a global buffer in one way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.access_log import AccessLog
from kgen.emulate.ptx.order.tags import owners_of
from kgen.emulate.ptx.types import Array


class Accessors:
    """`last` [unit] as tags, 0 for nobody. Others are in a log, but for those whom the last one
    stands for: what happened before it happened before all that it happened before.
    """

    def __init__(self, units: int) -> None:
        # Zeros take memory only where they are touched.
        self.last = np.zeros(units, np.int64)
        self._log = AccessLog()

    def note(self, unit: Array, mark: Array, before: Callable[[Array, Array], Array]) -> None:
        """Remember accesses; `before` says whether the last ones happened before some of them."""
        last = self.last[unit]
        other = np.flatnonzero((last > 0) & (owners_of(last) != owners_of(mark)))
        if other.size:
            other = other[~before(other, last[other])]
            self._append(unit[other], last[other])
        self.last[unit] = mark
        lost = self.last[unit] != mark
        if lost.any():
            self._append(unit[lost], mark[lost])

    def before_last(self, unit: Array) -> tuple[Array, Array]:
        """(index into `unit`, tag) of all that the log has about units."""
        index, _, tags = self._log.about(unit)
        return index, tags

    def _append(self, unit: Array, mark: Array) -> None:
        owner = owners_of(mark)
        self._log.append(unit, owner, owner >> 5, mark)
