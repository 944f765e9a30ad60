"""Lessons: knowledge that lanes acquired through memory rather than barriers, over all clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgen.emulate.ptx.exec.ctas import over_ctas
from kgen.emulate.ptx.order.sync_graph import SyncGraph
from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

_BITS = np.uint64(1) << np.arange(32, dtype=np.uint64)
#: Rows of a table of lessons: known lessons; for each scope, lessons that become known after a
#: fence of that scope or a wider one; for each scope, known lessons that have passed such a fence,
#: and that a strong write in the scope releases.
_KNOWN, _WAITING, _PASSED = 0, 0, 3
_ROWS = 1 + 2 * len([scope for scope in Strength if scope])


@frozen
class Told:
    """Lessons passed to CTAs of the chunk: nodes of the graph, [row of lessons, CTA]."""

    graph: SyncGraph
    nodes: Array

    def among(self, where: Array) -> Told:
        """Return the lessons of the CTAs [C'] in `where` only."""
        where = over_ctas(where, self.nodes.shape[1])
        return Told(graph=self.graph, nodes=np.where(where, self.nodes, 0))

    def across(self, cluster: int) -> Told:
        """Share the lessons among the CTAs of each cluster."""
        nodes = self.nodes
        by_rank = nodes.reshape(_ROWS, -1, cluster)
        found = by_rank[:, :, 0]
        for rank in range(1, cluster):
            found = _joined(self.graph, found, by_rank[:, :, rank])
        return Told(graph=self.graph, nodes=found.repeat(cluster, axis=1))


def both(mine: Told | None, theirs: Told | None) -> Told | None:
    """Return the join of two sets of lessons."""
    if mine is None or theirs is None:
        return mine or theirs
    return Told(graph=mine.graph, nodes=_joined(mine.graph, mine.nodes, theirs.nodes))


def among(told: Told | None, where: Array | None) -> Told | None:
    return told if told is None or where is None else told.among(where)


def across(told: Told | None, cluster: int) -> Told | None:
    return None if told is None else told.across(cluster)


def _joined(graph: SyncGraph, mine: Array, theirs: Array) -> Array:
    if not np.count_nonzero(mine != theirs):
        return mine
    return graph.join(mine.reshape(-1), theirs.reshape(-1)).reshape(mine.shape)


def bits_of_lanes(lanes: Array) -> Array:
    """Return lanes [..., 32] as the bits of a word."""
    found: Array = np.where(lanes, _BITS, np.uint64(0)).sum(axis=-1)
    return found


class Lessons:
    """Lessons of each lane of a chunk: nodes of the graph, [row of lessons, lane].

    Masks of lanes are [C or 1, W, 32].
    """

    def __init__(self, ctas: int, warps: int, graph: SyncGraph) -> None:
        self._shape = ctas, warps, 32
        self._graph = graph
        self._nodes: Array | None = None

    def __bool__(self) -> bool:
        return self._nodes is not None

    def known(self, lane: Array) -> Array:
        """Return the lessons that lanes know."""
        return np.zeros(lane.shape, np.int64) if self._nodes is None else self._nodes[_KNOWN, lane]

    def passed(self, lane: Array, scope: Strength) -> Array:
        """Return the lessons that have passed a fence of this scope or a wider one."""
        if self._nodes is None:
            return np.zeros(lane.shape, np.int64)
        found: Array = self._nodes[_PASSED + scope, lane]
        return found

    def learn(self, lane: Array, nodes: Array, needs: Strength, *, new: bool) -> None:
        """Add lessons to lanes; they become known after a fence of the scope `needs` (at once if
        WEAK).

        `new`: no lane can have learned them before.
        """
        if not np.count_nonzero(nodes):
            return
        row = self._table()[_WAITING + needs]
        join = self._graph.link if new else self._graph.join
        row[lane] = join(row[lane], nodes)

    def fence(self, lanes: Array, scope: Strength) -> None:
        """Execute a memory fence in these lanes."""
        if self._nodes is None:
            return
        lane, nodes = self._lanes(lanes), self._nodes
        known = nodes[_KNOWN, lane]
        scopes = [one for one in Strength if Strength.WEAK < one <= scope]
        for one in scopes:
            known = self._graph.join(known, nodes[_WAITING + one, lane])
            nodes[_WAITING + one, lane] = 0
        nodes[_KNOWN, lane] = known
        for one in scopes:
            nodes[_PASSED + one, lane] = known

    def warp_barrier(self, lanes: Array) -> None:
        """Share lessons among lanes of a warp."""
        self._share(lanes, 32)

    def cta_barrier(self) -> None:
        """Share lessons among all lanes of a CTA, in all CTAs."""
        self._share(np.ones((1, *self._shape[1:]), bool), 32 * self._shape[1])

    def told(self, lanes: Array) -> Told | None:
        """Return the lessons of these lanes, joined per CTA."""
        if self._nodes is None:
            return None
        found = np.zeros((_ROWS, self._shape[0]), np.int64)
        for row, cta, _, node in self._together(lanes, 32 * self._shape[1]):
            found[row, cta] = node
        return Told(graph=self._graph, nodes=found)

    def hear(self, lanes: Array, told: Told) -> None:
        """Add the lessons passed to their CTA to these lanes."""
        if not np.count_nonzero(told.nodes):
            return
        lane, table = self._lanes(lanes), self._table()
        cta = lane // (32 * self._shape[1])
        for row in np.flatnonzero(told.nodes.any(axis=1)).tolist():
            table[row, lane] = self._graph.join(table[row, lane], told.nodes[row, cta])

    def _share(self, lanes: Array, together: int) -> None:
        for row, _, mine, node in self._together(lanes, together):
            self._table()[row, mine] = node

    def _together(self, lanes: Array, size: int) -> Iterator[tuple[int, int, Array, int]]:
        """Yield (row of lessons, group, its lanes, join of their nodes) for groups of `size` lanes
        with any lessons."""
        assert self._nodes is not None
        lane = self._lanes(lanes)
        group = lane // size
        starts = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
        for row in np.flatnonzero(self._nodes.any(axis=1)).tolist():
            for start, end in zip(starts, [*starts[1:], len(lane)], strict=True):
                mine = lane[start:end]
                if node := self._graph.join_all(self._nodes[row, mine]):
                    yield row, int(group[start]), mine, node

    def _lanes(self, lanes: Array) -> Array:
        return np.flatnonzero(np.broadcast_to(lanes, self._shape))

    def _table(self) -> Array:
        """Return the table of lessons, which can be modified."""
        if self._nodes is None:
            self._nodes = np.zeros((_ROWS, int(np.prod(self._shape))), np.int64)
        return self._nodes
