"""Tables of the race detector for shared memory, and their growth.

The tables have one row per cluster, or a single row while all clusters are equal, which makes the
common case as cheap as one CTA. They have one column per area (:mod:`areas`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.types import Array

#: Values in place of a writer: UNWRITTEN for none; PENDING - n if instruction n started an
#: asynchronous write.
UNWRITTEN, PENDING = -1, -2
#: Shift of the number of asynchronous reads in flight, above the instruction that started the last
#: one.
READING = 20


class Tables:
    """Tables `writer` [row, area] as tags, and `reads` [row, area, warp] as entries of
    :mod:`reads`.

    A cell is an index into `writer` over all rows.
    """

    def __init__(self, areas: int, warps: int) -> None:
        self.warps = warps
        self.writer = np.full((1, areas), UNWRITTEN, np.int64)
        self.reads = np.zeros((1, areas, warps), np.int64)
        #: Strong "reads" and "writes", in the form of `reads`. Strong accesses do not race with
        #: each other, so that several may lie between two weak ones.
        self.strong: dict[str, Array] = {}
        #: Writers of a value that another thread wrote as well, without order, in the form of
        #: `reads`; None before the first.
        self.twins: Array | None = None
        #: Last weak writers of areas that were written strongly since; None before the first.
        self.overwritten: Array | None = None
        #: Asynchronous reads in flight; None before the first.
        self.reading: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.writer)

    @property
    def writers(self) -> Array:
        """Writer of each cell; the array can be modified."""
        return self.writer.reshape(-1)

    @property
    def overwritten_writers(self) -> Array:
        """Overwritten weak writer of each cell; the array can be modified."""
        if self.overwritten is None:
            self.overwritten = np.zeros_like(self.writer)
        return self.overwritten.reshape(-1)

    @property
    def readings(self) -> Array:
        """Asynchronous reads of each cell; the array can be modified."""
        if self.reading is None:
            self.reading = np.zeros_like(self.writer)
        return self.reading.reshape(-1)

    def strongly(self, did: str) -> Array:
        """Return the table of strong "reads" or "writes", which can be modified."""
        if did not in self.strong:
            self.strong[did] = np.zeros_like(self.reads)
        return self.strong[did]

    def all_reads(self, cell: Array | slice = slice(None)) -> Array:
        """Return the last reads [cell, warp], weak and strong, of these cells or of all."""
        weak: Array = self.reads.reshape(-1, self.warps)[cell]
        strong = self.strong.get("reads")
        return weak if strong is None else np.maximum(weak, strong.reshape(-1, self.warps)[cell])

    # ------------------------------------------------------------------ rows and columns

    def grow(self, parents: Array) -> None:
        """Add areas that were split off from the areas `parents`."""

        def longer(table: Array) -> Array:
            # Tables must be contiguous, so that their flat forms are views.
            return np.ascontiguousarray(np.concatenate([table, table[:, parents]], axis=1))

        self._change(longer)

    def split(self, clusters: int) -> None:
        """Give every cluster its own row."""
        if self.rows < clusters:
            self._change(lambda table: sparse_rows(table, clusters))

    def join(self) -> None:
        """Join the rows into one if they are equal."""
        if all(not np.count_nonzero(table != table[:1]) for table in self._all()):
            self._change(lambda table: table[:1])

    def join_settled(self) -> None:
        """Join the rows after a barrier that orders everything before it with everything after it;
        only the unwritten areas must then be equal in all rows."""
        state = np.minimum(self.writer, 0)
        if not np.count_nonzero(state != state[:1]):
            self.writer = self.writer.max(axis=0, keepdims=True)
            self.reads = np.zeros_like(self.reads[:1])
            self.strong, self.overwritten, self.twins = {}, None, None

    def _all(self) -> list[Array]:
        tables = [self.writer, self.reads, *self.strong.values()]
        others = [self.overwritten, self.reading, self.twins]
        return tables + [table for table in others if table is not None]

    def _change(self, changed: Callable[[Array], Array]) -> None:
        """Replace all tables by the results of a function."""
        self.writer, self.reads = changed(self.writer), changed(self.reads)
        self.strong = {did: changed(table) for did, table in self.strong.items()}
        self.overwritten = None if self.overwritten is None else changed(self.overwritten)
        self.reading = None if self.reading is None else changed(self.reading)
        self.twins = None if self.twins is None else changed(self.twins)


def sparse_rows(table: Array, count: int) -> Array:
    """Repeat a table of one row `count` times without touching memory that stays zero, which is
    most of a large table."""
    noted = np.flatnonzero(table)
    if noted.size == table.size:
        return table.repeat(count, axis=0)
    found = np.zeros((count, table.size), table.dtype)
    found[:, noted] = table.reshape(-1)[noted]
    return found.reshape(count, *table.shape[1:])
