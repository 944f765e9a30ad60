"""Areas of a cluster's shared memory: sets of granules that all accesses so far have touched
together.

All granules of an area have equal race-detection state, so that the tables need one entry per area.
Operations of the async proxy touch thousands of granules at once, repeatedly, and become cheap that
way. A granule that a thread accesses is an area by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.types import Array


class Areas:
    """Partition of granules: `of` [granule] is the area of each, `first` [area] its first
    granule."""

    def __init__(self, granules: int, grow: Callable[[Array], None], *, whole: bool) -> None:
        """Start with one area if `whole`, else with one area per granule.

        `grow` is called with the former areas [new] of areas that are added.
        """
        self._grow, self._whole = grow, whole
        self.of = np.zeros(granules, np.int64) if whole else np.arange(granules)
        self.first = np.zeros(1, np.int64) if whole else np.arange(granules)
        self._size = np.bincount(self.of)
        #: Areas of some granules, by the name of the set.
        self._known: dict[object, Array] = {}

    @property
    def count(self) -> int:
        return len(self.first)

    def single(self, granules: Array) -> Array:
        """Return the area of each granule, after splitting areas so that each has no other
        granule."""
        if not self._whole:
            return granules
        found: Array = self.of[granules]
        shared = self._size[found] > 1
        if np.count_nonzero(shared):
            alone = self._each_once(granules[shared])
            self._take(alone, np.arange(len(alone)))
            found = self.of[granules]
        return found

    def covering(self, name: object, granules: Callable[[], Array]) -> Array:
        """Return the areas that consist of exactly the granules of this name, in their order."""
        found = self._known.get(name)
        if found is None:
            inside = granules()
            hit = np.bincount(self.of[self._each_once(inside)], minlength=self.count)
            cut = np.flatnonzero((hit > 0) & (hit < self._size))
            if cut.size:
                part = np.unique(inside[np.isin(self.of[inside], cut)])
                self._take(part, np.searchsorted(cut, self.of[part]))
            areas, place = np.unique(self.of[inside], return_index=True)
            found = self._known[name] = areas[np.argsort(place)]
        return found

    def _each_once(self, granules: Array) -> Array:
        """Return the granules in order, without repetitions. Faster than np.unique, which sorts."""
        is_given = np.zeros(len(self.of), bool)
        is_given[granules] = True
        return np.flatnonzero(is_given)

    def _take(self, granules: Array, group: Array) -> None:
        """Make each group of these granules, all of one area, a separate area."""
        self._known.clear()
        old = self.of[granules]
        count = int(group.max()) + 1
        parent = np.zeros(count, np.int64)
        parent[group] = old
        number = self.count + np.arange(count)
        # If a group is all that remains of an area, it keeps the area's number.
        left = self._size - np.bincount(old, minlength=self.count)
        heirs = {int(area): at for at, area in enumerate(parent) if left[area] == 0}
        for area, at in heirs.items():
            number[at] = area
        added = number >= self.count
        number[added] = self.count + np.arange(int(added.sum()))
        self.of[granules] = number[group]
        total = self.count + int(added.sum())
        self._size = np.bincount(self.of, minlength=total)
        self.first = np.zeros(total, np.int64)
        self.first[self.of[::-1]] = np.arange(len(self.of))[::-1]
        self._grow(parent[added])
