"""Synchronisation through memory: release and acquire patterns (PTX ISA 8.8, 8.9.4).

A strong write carries what its thread has released: the knowledge before an earlier memory fence,
or all knowledge if the write is itself a release. A thread that reads the value with a strong read
acquires that knowledge after a fence, or at once if the read is an acquire. Read-modify-writes pass
on the knowledge of the value that they read.

Barriers in between count as well. If threads execute a fence, meet at a barrier, and one of them
does the atomic operation, it releases what all of them did. Hardware behaves like that, and CUDA
programs rely on it.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen


class Flags:
    """Last record of a strong write (see :mod:`sync_graph`) for every unit of a space.

    A space is the number of a buffer, or "shared"; record 0 stands for none.
    """

    def __init__(self) -> None:
        self._last: dict[object, Array] = {}

    def __bool__(self) -> bool:
        return bool(self._last)

    def forget(self, space: object) -> None:
        """Drop the records of a space whose memory is gone."""
        self._last.pop(space, None)

    def of(self, space: object, units: int) -> Array:
        """Return the records of a space with `units` units, as an array that can be modified."""
        if space not in self._last:
            # Untouched zeros take no physical memory.
            self._last[space] = np.zeros(units, np.int64)
        return self._last[space]


@frozen
class UnitOrder:
    """Order in which the lanes of one instruction access units: by unit, then by lane.

    Lanes of one warp that access the same unit do so simultaneously, as a group: none of them sees
    the others. `order` sorts the lanes; all other fields are in that order. `group` is the start of
    the lane's group, `first` whether that group is the first of its unit; `begins` and `last`
    whether the lane is the first or the last of its unit.
    """

    order: Array
    unit: Array
    group: Array
    first: Array
    begins: Array
    last: Array


def turns(unit: Array, lane: Array) -> UnitOrder:
    """Return the access order for lanes in ascending order, each with a unit."""
    order = np.argsort(unit, kind="stable")
    unit, warp = unit[order], lane[order] >> 5
    start = np.diff(unit, prepend=-1) != 0
    begins = start | (np.diff(warp, prepend=-1) != 0)
    group = np.maximum.accumulate(np.where(begins, np.arange(len(unit)), 0))
    return UnitOrder(
        order=order,
        unit=unit,
        group=group,
        first=start[group],
        begins=start,
        last=np.append(start[1:], True),
    )
