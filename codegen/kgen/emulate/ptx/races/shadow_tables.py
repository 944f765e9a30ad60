"""Tables of what the checks know of shared memory, and how they grow and shrink.

They have one row for each cluster, or one while all do the same, so that the checks of the common
case cost as much as those of one CTA; and one column for each area (:mod:`areas`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.types import Array

#: In place of a writer: nobody; the instruction -2 - n started an asynchronous write.
UNWRITTEN, PENDING = -1, -2
#: Asynchronous reads under way: how many, above the instruction that started the last.
READING = 20


class Tables:
    """`writer` [row, area] as tags, and `reads` [row, area, warp] as entries of :mod:`reads`.

    A cell is an entry of `writer`, counted through all rows.
    """

    def __init__(self, areas: int, warps: int) -> None:
        self.warps = warps
        self.writer = np.full((1, areas), UNWRITTEN, np.int64)
        self.reads = np.zeros((1, areas, warps), np.int64)
        #: As `reads`, who did strongly what: "reads" and "writes", from the first on. Strong
        #: accesses do not race with each other, so that several may come between two that are weak.
        self.strong: dict[str, Array] = {}
        #: As `reads`, who wrote the value that another thread wrote too, unordered; None before the
        #: first.
        self.twins: Array | None = None
        #: The last weak writers of what was written strongly since; None before the first.
        self.overwritten: Array | None = None
        #: Asynchronous reads under way; None before the first.
        self.reading: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.writer)

    @property
    def writers(self) -> Array:
        """The writer of each cell, to read and to write."""
        return self.writer.reshape(-1)

    @property
    def overwritten_writers(self) -> Array:
        """The overwritten weak writer of each cell, to read and to write."""
        if self.overwritten is None:
            self.overwritten = np.zeros_like(self.writer)
        return self.overwritten.reshape(-1)

    @property
    def readings(self) -> Array:
        """The asynchronous reads of each cell, to read and to write."""
        if self.reading is None:
            self.reading = np.zeros_like(self.writer)
        return self.reading.reshape(-1)

    def strongly(self, did: str) -> Array:
        """The table of who did this strongly, to read and to write."""
        if did not in self.strong:
            self.strong[did] = np.zeros_like(self.reads)
        return self.strong[did]

    def all_reads(self, cell: Array | slice = slice(None)) -> Array:
        """The last reads [cell, warp], weak and strong, of these cells or of all."""
        weak: Array = self.reads.reshape(-1, self.warps)[cell]
        strong = self.strong.get("reads")
        return weak if strong is None else np.maximum(weak, strong.reshape(-1, self.warps)[cell])

    # ------------------------------------------------------------------ rows and columns

    def grow(self, parents: Array) -> None:
        """There are new areas, each of which was part of another."""

        def longer(table: Array) -> Array:
            # Flat views of the tables must be views.
            return np.ascontiguousarray(np.concatenate([table, table[:, parents]], axis=1))

        self._change(longer)

    def split(self, clusters: int) -> None:
        """Give every cluster a row of its own."""
        if self.rows < clusters:
            self._change(lambda table: sparse_rows(table, clusters))

    def join(self) -> None:
        """Join the rows into one if they are equal."""
        if all((table == table[:1]).all() for table in self._all()):
            self._change(lambda table: table[:1])

    def join_settled(self) -> None:
        """Join the rows after a barrier that orders all before it with all behind it, so that
        only what is not written yet must be the same in all."""
        state = np.minimum(self.writer, 0)
        if (state == state[:1]).all():
            self.writer = self.writer.max(axis=0, keepdims=True)
            self.reads = np.zeros_like(self.reads[:1])
            self.strong, self.overwritten, self.twins = {}, None, None

    def _all(self) -> list[Array]:
        tables = [self.writer, self.reads, *self.strong.values()]
        others = [self.overwritten, self.reading, self.twins]
        return tables + [table for table in others if table is not None]

    def _change(self, changed: Callable[[Array], Array]) -> None:
        """Put other tables in the place of all."""
        self.writer, self.reads = changed(self.writer), changed(self.reads)
        self.strong = {did: changed(table) for did, table in self.strong.items()}
        self.overwritten = None if self.overwritten is None else changed(self.overwritten)
        self.reading = None if self.reading is None else changed(self.reading)
        self.twins = None if self.twins is None else changed(self.twins)


def sparse_rows(table: Array, count: int) -> Array:
    """A table of one row with `count` of them. Memory that holds zeros alone is not touched, which
    is most of large tables."""
    noted = np.flatnonzero(table)
    if noted.size == table.size:
        return table.repeat(count, axis=0)
    found = np.zeros((count, table.size), table.dtype)
    found[:, noted] = table.reshape(-1)[noted]
    return found.reshape(count, *table.shape[1:])
