"""Append-only graph of the knowledge that was released through memory.

Its nodes are releases of lanes, views of a location by readers, and joins of two nodes. Nothing is
computed when a node is added, so that an atomic operation has constant cost. A vector clock is
computed from a node only when a check needs it, which is rare: most programs that synchronise
through memory access it strongly afterwards, or wait at a barrier.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.order.vector_clocks import Releases, VectorClock, joined, released
from kgen.emulate.ptx.types import Array

#: Kinds of nodes. A release has its fields in `releases[b]` at `c`, and follows node `a`. A view is
#: what CTA `b` sees of record `a` in the scopes `c`. A join combines nodes `a` and `b`.
_RELEASE, _VIEW, _JOIN = 1, 2, 3
#: Columns of the released nodes in a record, by scope; before them are the previous record and the
#: CTA.
_TO = {Strength.CTA: 2, Strength.CLUSTER: 3, Strength.GPU: 4}
_MIXED = 5
#: Largest number of views below a node that get clocks of their own, so that later nodes compute
#: only what is new. With more views, such as thousands of words written by one lane, the traversals
#: would overlap.
_FEW = 32


class AppendOnlyTable:
    """Table of integer rows that only grows; row 0 exists from the start and is zero."""

    def __init__(self, width: int) -> None:
        self.columns = tuple(array("q", [0]) for _ in range(width))

    def __len__(self) -> int:
        return len(self.columns[0])

    def of(self, column: int) -> Array:
        """Return a column that can be modified. Do not keep it: a table with a referenced column
        cannot grow."""
        return np.frombuffer(self.columns[column], np.int64)

    def append(self, *values: Array | int, count: int) -> Array:
        """Append `count` rows, given by column; return their numbers."""
        first = len(self)
        for column, value in zip(self.columns, values, strict=True):
            column.frombytes(np.broadcast_to(np.asarray(value, np.int64), count).tobytes())
        return np.arange(first, first + count)

    def append_one(self, *values: int) -> int:
        """Append a row; return its number."""
        for column, value in zip(self.columns, values, strict=True):
            column.append(value)
        return len(self) - 1


class SyncGraph:
    """Graph of nodes, and records of strong writes. Number 0 means no node or no record.

    A record of a location has these columns: the previous record that readers see as well
    (`previous`), the CTA of the writer, the nodes that it releases to readers in the CTA, in the
    cluster and on the GPU, and whether these nodes differ in this record or a previous one
    (`mixed`).
    """

    def __init__(self, cluster: int) -> None:
        """Create an empty graph; `cluster` is the number of CTAs per cluster."""
        self.cluster = cluster
        self.nodes = AppendOnlyTable(4)
        self.records = AppendOnlyTable(6)
        self._releases: list[Releases] = []
        self._views: dict[tuple[int, ...], int] = {}
        self._joins: dict[tuple[int, int], int] = {}
        self._clocks: dict[int, VectorClock] = {}
        #: Views that have a clock, by record, CTA and scopes.
        self._with_clock: dict[tuple[int, ...], int] = {}

    # ------------------------------------------------------------------ nodes

    def release(self, releases: Releases, before: Array) -> Array:
        """Add nodes for the releases of lanes, which follow the nodes `before` [n] that the lanes
        know."""
        self._releases.append(releases)
        count = len(before)
        block = len(self._releases) - 1
        return self.nodes.append(_RELEASE, before, block, np.arange(count), count=count)

    def record(self, previous: Array, cta: Array, mixed: Array) -> Array:
        """Append records of strong writes by threads of CTAs [n], to be filled by `fill`."""
        return self.records.append(previous, cta, 0, 0, 0, mixed, count=len(previous))

    def fill(self, record: Array, released: Array, scopes: Sequence[Strength]) -> None:
        """Set the nodes that records [n] release to readers in some scopes."""
        for scope in scopes:
            self.records.of(_TO[scope])[record] = released

    def mixed(self, record: Array) -> Array:
        """Return whether records, or previous ones, release different nodes to different scopes."""
        found: Array = self.records.of(_MIXED)[record]
        return found

    def view(self, record: Array, cta: Array, low: Strength, high: Strength, *, new: bool) -> Array:
        """Return nodes for what readers in CTAs [n] see released in records, in the scopes `low` to
        `high`.

        Equal arguments return the same node, unless they are `new`.
        """
        lowest = np.full(record.shape, int(low))
        if high == Strength.GPU:
            # Everything visible in narrower scopes is visible to all.
            lowest[self.mixed(record) == 0] = int(high)
        cta = np.where(lowest == Strength.GPU, 0, cta)
        fields = np.stack([record, cta, lowest * 4 + int(high)])
        if new:
            found = self.nodes.append(_VIEW, *fields, count=len(record))
        else:
            fields, which = np.unique(fields, axis=1, return_inverse=True)
            found = np.array([self._view(one) for one in map(tuple, fields.T.tolist())])
            found = found[which.reshape(-1)]
        return np.where(record > 0, found, 0)

    def _view(self, fields: tuple[int, ...]) -> int:
        if fields not in self._views:
            self._views[fields] = self.nodes.append_one(_VIEW, *fields)
        return self._views[fields]

    def link(self, old: Array, new: Array) -> Array:
        """Return joins of nodes where the new ones are known not to be part of the old ones."""
        both = (old > 0) & (new > 0)
        found = np.where(new > 0, new, old)
        found[both] = self.nodes.append(
            _JOIN, old[both], new[both], 0, count=int(np.count_nonzero(both))
        )
        return found

    def join(self, one: Array, other: Array) -> Array:
        """Return joins of nodes: one of the two if it contains the other, and equal results for
        equal pairs."""
        found = np.maximum(one, other)
        unlike = np.flatnonzero((one != other) & (one > 0) & (other > 0))
        if unlike.size:
            pairs, which = np.unique(
                np.stack([found[unlike], np.minimum(one, other)[unlike]]),
                axis=1, return_inverse=True,
            )  # fmt: skip
            newer, older = pairs.tolist()
            made = np.array([self._join(*pair) for pair in zip(newer, older, strict=True)])
            found[unlike] = made[which.reshape(-1)]
        return found

    def join_all(self, nodes: Array) -> int:
        left = np.unique(nodes[nodes > 0]).tolist()
        if len(left) > 1:
            below: set[int] = set()
            for node in reversed(left):
                self._add_parts(node, left[0], below)
            left = [node for node in left if node not in below]
        found = 0
        for node in left:
            found = self._pair(node, found) if found else node
        return found

    def _join(self, newer: int, older: int) -> int:
        below: set[int] = set()
        self._add_parts(newer, older, below)
        return newer if older in below else self._pair(newer, older)

    def _pair(self, one: int, other: int) -> int:
        """Return the join of two nodes of which neither contains the other."""
        pair = min(one, other), max(one, other)
        if pair not in self._joins:
            self._joins[pair] = self.nodes.append_one(_JOIN, *pair, 0)
        return self._joins[pair]

    def _add_parts(self, node: int, oldest: int, parts: set[int]) -> None:
        """Add the nodes of which a node is the join, down to the number `oldest`."""
        kinds, a, b, _ = self.nodes.columns
        left = [node]
        while left:
            one = left.pop()
            if kinds[one] == _JOIN:
                for part in (a[one], b[one]):
                    if part >= oldest and part not in parts:
                        parts.add(part)
                        left.append(part)

    # ------------------------------------------------------------------ clocks

    def clock(self, node: int) -> VectorClock:
        """Return the vector clock of a node, cached."""
        found = self._clocks.get(node)
        if found is None:
            new = self._without_clock(node)
            for part in sorted(new) if len(new) <= _FEW else ():
                self._clocks[part] = joined(self._reached(part))
                self._with_clock[self._fields(part)] = part
            found = self._clocks[node] = joined(self._reached(node))
        return found

    def _without_clock(self, node: int) -> set[int]:
        """Return the nodes of which a node is the join, as far as they have no clock yet."""
        kinds, a, b, _ = self.nodes.columns
        found: set[int] = set()
        visited: set[int] = set()
        left = [node]
        while left:
            one = left.pop()
            if one in visited or one in self._clocks:
                continue
            visited.add(one)
            if kinds[one] == _JOIN:
                left += [a[one], b[one]]
            else:
                found.add(one)
        return found

    def _fields(self, node: int) -> tuple[int, ...]:
        return tuple(column[node] for column in self.nodes.columns[1:])

    def _reached(self, last: int) -> Iterator[VectorClock]:
        """Yield the clocks of a node and its predecessors if they have one, and of the releases
        among the other nodes."""
        kinds, a, b, c = self.nodes.columns
        visited: set[int] = set()
        records: set[tuple[int, int, int]] = set()
        by_block: dict[int, list[int]] = {}
        left = [last]
        while left:
            node = left.pop()
            if not node or node in visited:
                continue
            visited.add(node)
            if (known := self._clocks.get(node)) is not None:
                yield known
            elif kinds[node] == _JOIN:
                left += [a[node], b[node]]
            elif kinds[node] == _RELEASE:
                left.append(a[node])
                by_block.setdefault(b[node], []).append(c[node])
            else:
                left += self._seen(a[node], b[node], c[node], records)
        for block, some in by_block.items():
            yield released(self._releases[block], some)

    def _seen(
        self, record: int, cta: int, scopes: int, visited: set[tuple[int, int, int]]
    ) -> Iterator[int]:
        """Yield the nodes that a CTA sees released in a record and the previous ones."""
        previous, writer, to_cta, to_cluster, to_all, _ = self.records.columns
        low, high = divmod(scopes, 4)
        while record and (record, cta, scopes) not in visited:
            if (node := self._with_clock.get((record, cta, scopes))) is not None:
                yield node
                return
            visited.add((record, cta, scopes))
            if low <= Strength.CTA and writer[record] == cta:
                yield to_cta[record]
            near = writer[record] // self.cluster == cta // self.cluster
            if low <= Strength.CLUSTER <= high and near:
                yield to_cluster[record]
            if high == Strength.GPU:
                yield to_all[record]
            record = previous[record]
