"""Unordered stores of equal values to shared memory, which are warnings instead of races."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np

from kgen.emulate.ptx.chunk import Chunk
from kgen.emulate.ptx.memory.accesses import Accesses, Granules
from kgen.emulate.ptx.memory.stored import StoredBytes, last_of
from kgen.emulate.ptx.order.tags import THREAD, TIME, labels_of
from kgen.emulate.ptx.races.reads import remember
from kgen.emulate.ptx.races.shadow_tables import Tables
from kgen.emulate.ptx.types import Array


class Noted(Protocol):
    """The race detector's state of shared memory, as far as :class:`Excuses` needs it."""

    warps: int
    tables: Tables
    granules: Granules

    @property
    def machine(self) -> Chunk: ...

    def now(self, at: Accesses) -> Array:
        """Return the time of each access's actor."""

    def writer_text(self, writer: int) -> str:
        """Format a tag for a message."""


class Excuses:
    """Checks whether unordered writes of one store wrote equal values, and warnings if so.

    `which` are indices of the store's accesses.
    """

    def __init__(self, shadow: Noted, at: Accesses, stored: Callable[[], StoredBytes]) -> None:
        self._shadow, self._at, self._make = shadow, at, stored

    @cached_property
    def _stored(self) -> StoredBytes:
        return self._make()

    def unchanged(self, which: Array) -> Array:
        """Return whether the store leaves bytes unchanged, in all clusters that an access
        represents."""
        found: Array = np.logical_and.reduce(
            [self._stored.unchanged(lane, unit) for lane, unit in self._places(which)]
        )
        return found

    def alike(self, which: Array) -> Array:
        """Return whether the last lane that stores to the same bytes stores the same value."""
        last = last_of(self._at.cell)[which]
        mine, other = self._places(which), self._places(last)
        found: Array = np.logical_and.reduce(
            [self._stored.alike(*one, *its) for one, its in zip(mine, other, strict=True)]
        )
        return found

    def note(self, which: Array, writers: Array) -> None:
        """Warn of accesses that write the value of other writes, given as tags.

        Record these accesses and the other writes as writers of the bytes.
        """
        if not len(which):
            return
        shadow, at = self._shadow, self._at.some(which)
        tables, warps = shadow.tables, shadow.warps
        if tables.twins is None:
            tables.twins = np.zeros_like(tables.reads)
        for line in np.unique(labels_of(writers)).tolist():
            some = labels_of(writers) == line
            thread = writers[some] & THREAD
            cell = at.cell[some] * warps + (thread >> 5)
            remember(tables.twins, cell, writers[some] >> TIME, line, thread & 31)
        remember(
            tables.twins, at.cell * warps + at.actor, shadow.now(at), shadow.machine.pc,
            at.thread & 31,
        )  # fmt: skip
        what = "write of the value that another thread wrote, with no barrier between"
        everything = np.ones(len(which), bool)
        shadow.machine.warn(
            shadow.granules.violation(
                at, everything, "same-value-write",
                f"{what} ({shadow.writer_text(int(writers[0]))})",
            )
        )  # fmt: skip

    def _places(self, which: Array) -> list[tuple[Array, Array]]:
        """Return, for every cluster, the lanes of the chunk and the index of each accessed unit
        within them."""
        machine, at = self._shadow.machine, self._at
        unit = which % self._stored.units
        threads = machine.cluster * machine.warps * 32
        first = at.row[which] * threads + at.thread[which]
        if self._shadow.tables.rows > 1:
            return [(first, unit)]
        clusters = machine.ctas // machine.cluster
        return [(first + cluster * threads, unit) for cluster in range(clusters)]
