"""Synchronisation through memory: release and acquire patterns (PTX ISA 8.8, 8.9.4).

A strong write carries what its thread has released: what a memory fence before it covered, or all
that came before it, if it is itself a release. Who reads the written value with a strong read knows
it after a fence, or at once, if the read is an acquire. Read-modify-writes hand on what they read.

What crosses a barrier on the way counts as well: threads that fence, meet at a barrier, and let one
of them do the atomic operation are taken to release what they all did, as hardware has it and CUDA
programs rely on.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen


class Flags:
    """The last record of strong writes (see :mod:`sync_graph`) of every unit of a space.

    A space is a buffer's number, or "shared"; 0 is no record.
    """

    def __init__(self) -> None:
        self._last: dict[object, Array] = {}

    def __bool__(self) -> bool:
        return bool(self._last)

    def forget(self, space: object) -> None:
        """The memory of a space is gone."""
        self._last.pop(space, None)

    def of(self, space: object, units: int) -> Array:
        """The records of a space with so many units, to read and to write."""
        if space not in self._last:
            # Zeros take memory only where they are touched.
            self._last[space] = np.zeros(units, np.int64)
        return self._last[space]


@frozen
class UnitOrder:
    """The order in which the lanes of one instruction access units: by unit, then by lane.

    Lanes of one warp that access a unit do so at once, as a group: none of them sees another.
    `order` sorts the lanes; all else is in that order. `group` is where a lane's group begins, and
    `first` whether that is the first of its unit; `begins` and `last` whether the lane is the first
    and the last of its unit.
    """

    order: Array
    unit: Array
    group: Array
    first: Array
    begins: Array
    last: Array


def turns(unit: Array, lane: Array) -> UnitOrder:
    """The turns of lanes, given in ascending order, with a unit each."""
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
