"""Vector clocks of a cluster (of a CTA, without clusters), for the happens-before relation.

Actors are the warps of the cluster's CTAs, followed by asynchronous actors; for example, the copies
that one mbarrier tracks are one actor. Every actor has its own clock, which advances when it
synchronises or completes. :mod:`knowledge` holds up to which time each lane knows each actor. (PTX
ISA 8, Memory Consistency Model: synchronises-with through barriers and through release and acquire
patterns.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.exec.ctas import WARP, narrow, over_ctas
from kgen.emulate.ptx.order.knowledge import Knowledge
from kgen.emulate.ptx.order.lessons import Lessons
from kgen.emulate.ptx.order.released_knowledge import Fence, Known
from kgen.emulate.ptx.order.sync_graph import SyncGraph
from kgen.emulate.ptx.order.vouching import Vouching
from kgen.emulate.ptx.types import Array, all_of, any_of

#: Mask of a chunk's lanes, [C or 1, W, 32].
Lanes = Array
#: Asynchronous actors per CTA, if the kernel has any.
ASYNC_ACTORS = 32


class Clocks:
    """Clocks `own` [row, actor], with one row per cluster, or a single row while all clusters are
    equal.

    `asynchronous` adds asynchronous actors.
    """

    def __init__(
        self,
        ctas: int,
        exists: Lanes,
        graph: SyncGraph,
        *,
        cluster: int = 1,
        asynchronous: bool = False,
    ) -> None:
        """Create clocks; `exists` [1, W, 32] are the lanes that are not padding, `graph` is the
        launch's."""
        warps = exists.shape[1]
        self.clusters, self.cluster = ctas // cluster, cluster
        self.cta_warps, self.warps = warps, cluster * warps
        self.actors = self.warps + (cluster * ASYNC_ACTORS if asynchronous else 0)
        self.own = np.zeros((1, self.actors), np.int64)
        self.own[:, : self.warps] = 1
        self.knowledge = Knowledge(cluster=cluster, warps=self.warps, actors=self.actors)
        #: None until some lanes of a warp have synchronised without the others.
        self.vouching: Vouching | None = None
        self.lessons = Lessons(ctas, warps, graph)
        self._padding = np.tile(~exists, (1, cluster, 1))
        self._padded = bool(np.count_nonzero(self._padding))
        self._names: dict[tuple[int, object], int] = {}

    @property
    def rows(self) -> int:
        return len(self.own)

    # ------------------------------------------------------------------ queries

    def now(self, row: Array, actor: Array | int) -> Array:
        """Return the current time of an actor of each cluster."""
        found: Array = self.own[row if self.rows > 1 else 0, actor]
        return found

    def unknown(self, row: Array, thread: Array, other: Array, time: Array) -> Array:
        """Return whether threads do not know what the threads `other`, of any actor, did at a
        time."""
        known = self.knowledge.of(row, thread, other >> 5)
        found: Array = time > known
        if self.vouching is not None:
            found |= ~self.vouching.vouched(row, other, time, known)
        return found

    def all_known(self, row: Array, thread: Array) -> Array:
        """Return the times of all warps up to which each thread knows them, [thread, warp]."""
        return self.knowledge.of(row, thread, slice(self.warps))

    def released_by(
        self, row: Array, thread: Array, fences: Sequence[Fence], release: bool
    ) -> tuple[Array, Array, Array]:
        """Return what a strong write by each of some threads [n] releases: the knowledge that has
        passed one of the fences, or all knowledge if the write is a release.

        The result is times [line, actor], the line of each thread, and the time up to which each
        thread releases its own actions.
        """
        seen, passed, line = self.knowledge.of_threads(row, thread, fences)
        own = self.now(row, thread >> 5)
        if not release:
            times = np.maximum.reduce([np.zeros_like(seen), *passed])
            own = times[line, thread >> 5]
            # Actions of other lanes of a warp are released as far as the thread has seen them.
            times[line, thread >> 5] = np.minimum(own, seen[line, thread >> 5])
            seen = times
        return seen, line, own

    # ------------------------------------------------------------------ synchronisation

    def release(self, lanes: Lanes) -> Known:
        """Return what these lanes know and have done, and advance their clocks."""
        chosen = self._rows_of(lanes)
        seen, passed = self.knowledge.gathered(chosen, self.own)
        lessons = self.lessons.told(lanes)
        known = Known(seen=seen, passed=passed, lessons=lessons)
        self._advance(chosen)
        return known

    def advance(self, lanes: Lanes) -> None:
        """Advance the clocks: later actions of these lanes get a later time."""
        self._advance(self._rows_of(lanes))

    def acquire(self, lanes: Lanes, known: Known) -> None:
        """Let these lanes learn what others released."""
        chosen = self._rows_of(lanes)
        if len(known.seen) > self.cluster:
            self.split()
        self.knowledge.learn(chosen, known)
        if known.lessons is not None:
            self.lessons.hear(lanes, known.lessons)

    def fence(self, fence: Fence, lanes: Lanes) -> None:
        """Mark all that these lanes know and have done as having passed a fence."""
        chosen = self._rows_of(lanes)
        self.knowledge.fence(fence, chosen, self.own)
        self._advance(chosen)

    def warp_barrier(self, lanes: Lanes) -> None:
        """Synchronise these lanes: bar.warp.sync."""
        if self.lessons:
            self.lessons.warp_barrier(lanes)
        chosen = self._rows_of(lanes)
        self.knowledge.share_in_warps(chosen, self.own)
        self._advance(chosen)

    def join_all(self) -> None:
        """Synchronise all threads of each CTA, in all CTAs; afterwards all clocks are equal."""
        if self.lessons:
            self.lessons.cta_barrier()
        now = int(self.own[:, : self.warps].max())
        self.knowledge.share_in_ctas(now)
        self.own = self.own.copy()
        self.own[:, : self.warps] = now + 1
        tables = [self.own, *self.knowledge.tables()]
        if self.vouching is not None:
            tables.append(self.vouching.lanes)
        if self.rows > 1 and all(not np.count_nonzero(table != table[:1]) for table in tables):
            self._change(lambda table: table[:1])

    # ------------------------------------------------------------------ asynchronous actors

    def actor(self, rank: int, name: object) -> int:
        """Return the asynchronous actor for a name, such as an mbarrier, in the CTA of a rank.

        If there are too many names, some share an actor, and knowing one then includes knowing the
        other.
        """
        first = self.warps + rank * ASYNC_ACTORS
        taken = sum(1 for other, _ in self._names if other == rank)
        return self._names.setdefault((rank, name), first + taken % ASYNC_ACTORS)

    def tick(self, actor: int, ctas: Array) -> Known:
        """Advance an actor that completes something in these CTAs [C']; return the knowledge to
        release."""
        if self.rows == 1:
            ctas = narrow(ctas, self.cluster)
        if len(ctas) > self.cluster:
            self.split()
        rows = over_ctas(ctas, self.rows * self.cluster)
        rows = any_of(rows.reshape(-1, self.cluster), 1)
        self.own = self.own.copy()
        self.own[:, actor] += rows
        seen = np.zeros((self.rows * self.cluster, self.actors), np.int64)
        seen[:, actor] = self.own[:, actor].repeat(self.cluster)
        return Known(seen=seen)

    # ------------------------------------------------------------------ tables

    def split(self) -> None:
        """Give every cluster its own row."""
        if self.rows < self.clusters:
            self._change(lambda table: table.repeat(self.clusters, axis=0))

    def forget(self) -> None:
        """Drop the knowledge of exited threads; only the lanes in `vouching` are still needed."""
        self.knowledge.change(lambda table: table[:0].copy())

    def _change(self, changed: Callable[[Array], Array]) -> None:
        """Replace all tables by the results of a function."""
        self.own = changed(self.own)
        self.knowledge.change(changed)
        if self.vouching is not None:
            self.vouching.lanes = changed(self.vouching.lanes)

    def _rows_of(self, lanes: Lanes) -> Array:
        """Convert lanes of CTAs [C or 1, W, 32] to lanes of clusters [row, warp, 32].

        The padding lanes of a warp act like its other lanes.
        """
        if self.rows == 1:
            lanes = narrow(lanes, self.cluster)
        lanes = np.broadcast_to(lanes, (len(lanes), self.cta_warps, WARP))
        if len(lanes) == 1:
            lanes = np.tile(lanes, (self.cluster, 1, 1))
        elif len(lanes) > self.cluster:
            self.split()
        lanes = lanes.reshape(-1, self.warps, WARP)
        if self._padded:
            lanes = lanes | (self._padding & any_of(lanes, 2, keepdims=True))
        return lanes

    def _advance(self, chosen: Array) -> None:
        """Start a new time in the warps of these lanes [rows, V, 32]; the lanes vouch for the old
        time."""
        warps = any_of(chosen, 2)
        if self.vouching is None and np.count_nonzero(warps & ~all_of(chosen, 2)):
            self.vouching = Vouching(self.rows, self.warps)
        if self.vouching is not None:
            self.vouching.note(warps, chosen, self.own[:, : self.warps])
        self.own = np.concatenate(
            [self.own[:, : self.warps] + warps, self.own[:, self.warps :]], axis=1
        )
