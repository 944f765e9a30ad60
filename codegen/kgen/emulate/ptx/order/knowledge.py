"""Vector clocks of the lanes of a chunk, as tables of times.

`seen[v, l, w]` is the time of actor w up to which lane l of warp v knows all actions of w: an
access of w at time t happens before the lane's current action if t <= seen[v, l, w]. The accesses
of a warp at its current time are *not* in seen[v, l, v]: its lanes are ordered only by
bar.warp.sync or a stronger barrier.

`passed[fence]` has the same shape. It is the part of `seen` that has passed a fence of that kind,
executed by any thread: a proxy fence, for what asynchronous operations may rely on, or a memory
fence of some scope, for what a strong write releases to other CTAs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.order.released_knowledge import Fence, Known
from kgen.emulate.ptx.types import Array, all_of, any_of


class Knowledge:
    """Tables `seen` and `passed[fence]`, [row, warp, lane, actor].

    There is one row per cluster, or a single one if all are equal; the lane axis has length 1 while
    the lanes of a warp know the same. In all methods `chosen` are lanes [row or 1, warp, 32], and
    `own` the current times [row, actor].
    """

    def __init__(self, *, cluster: int, warps: int, actors: int) -> None:
        """Create empty tables; `warps` is the number of warps of a cluster, its first actors."""
        self.cluster, self.warps, self.actors = cluster, warps, actors
        self.seen = np.zeros((1, warps, 1, actors), np.int64)
        self.passed: dict[Fence, Array] = {}
        self._warp = np.arange(warps)
        self._rank = self._warp // (warps // cluster)

    # ------------------------------------------------------------------ queries

    def of(self, row: Array, thread: Array, actor: Array | slice) -> Array:
        """Return the time of `actor` up to which each thread knows it."""
        return self._look_up(self.seen, row, thread, actor)

    def past(self, fence: Fence, row: Array, thread: Array, actor: Array) -> Array:
        """Return the time up to which each thread knows what an actor did before a fence."""
        if fence not in self.passed:
            return np.zeros(np.broadcast_shapes(thread.shape, actor.shape), np.int64)
        return self._look_up(self.passed[fence], row, thread, actor)

    @staticmethod
    def _look_up(table: Array, row: Array, thread: Array, actor: Array | slice) -> Array:
        lane = thread & 31 if table.shape[2] > 1 else 0
        found: Array = table[row if len(table) > 1 else 0, thread >> 5, lane, actor]
        return found

    def of_threads(
        self, row: Array, thread: Array, fences: Sequence[Fence]
    ) -> tuple[Array, list[Array], Array]:
        """Return for threads [n]: what they have seen, [line, actor], what of it has passed each
        fence, and the line of each thread."""
        _, warps, lanes, _ = self.seen.shape
        at = (row if len(self.seen) > 1 else 0) * warps + (thread >> 5)
        if lanes > 1:
            at = at * lanes + (thread & 31)
        places, line = np.unique(at, return_inverse=True)
        tables = [self.passed[fence] for fence in fences if fence in self.passed]
        seen, *passed = (t.reshape(-1, self.actors)[places] for t in [self.seen, *tables])
        return seen, passed, line

    def gathered(self, chosen: Array, own: Array) -> tuple[Array, dict[Fence, Array]]:
        """Return the maximum over the chosen lanes of each CTA, [row * rank, actor], of what they
        have seen and done, and of what has passed each fence."""
        gather = self._gatherer(chosen)
        seen = gather(self.seen)
        by_rank = seen.reshape(-1, self.cluster, self.actors)
        mine = by_rank[:, self._rank, self._warp]
        done = np.where(any_of(chosen, 2), own[:, : self.warps], 0)
        by_rank[:, self._rank, self._warp] = np.maximum(mine, done)
        return seen, {fence: gather(table) for fence, table in self.passed.items()}

    # ------------------------------------------------------------------ synchronisation

    def learn(self, chosen: Array, known: Known) -> None:
        """Let the chosen lanes learn what others released."""
        self._part_lanes(chosen)
        self.seen = self._learned(self.seen, chosen, known.seen)
        for fence, passed in known.passed.items():
            self.passed[fence] = self._learned(self._table(fence), chosen, passed)
        self._join_lanes()

    def fence(self, fence: Fence, chosen: Array, own: Array) -> None:
        """Mark all that the chosen lanes have seen and done as having passed a fence."""
        self._part_lanes(chosen)
        passing = self.seen.copy()
        passing[:, self._warp, :, self._warp] = own[:, : self.warps].T[:, :, None]
        table = self._table(fence)
        most = np.maximum(table, passing)
        self.passed[fence] = np.where(self._some(table, chosen), most, table)

    def share_in_warps(self, chosen: Array, own: Array) -> None:
        """Let the chosen lanes of each warp share what they know and have done."""
        self._part_lanes(chosen)
        self.seen = self._shared_in_warp(self.seen, chosen)
        for fence, table in self.passed.items():
            self.passed[fence] = self._shared_in_warp(table, chosen)
        mine = self.seen[:, self._warp, :, self._warp].transpose(1, 0, 2)
        now = own[:, : self.warps, None]
        some = self._some(self.seen, chosen)[..., 0]
        self.seen[:, self._warp, :, self._warp] = np.where(some, now, mine).transpose(1, 0, 2)
        self._join_lanes()

    def share_in_ctas(self, now: int) -> None:
        """Let all lanes of a CTA share what they know, and what they did until `now`."""
        seen = self._by_cta(self.seen)
        mine = seen.reshape(-1, self.cluster, self.actors)
        mine[:, self._rank, self._warp] = now
        self.seen = self._of_warps(seen)
        self.passed = {f: self._of_warps(self._by_cta(t)) for f, t in self.passed.items()}

    # ------------------------------------------------------------------ rows and lanes

    def tables(self) -> list[Array]:
        return [self.seen, *self.passed.values()]

    def change(self, changed: Callable[[Array], Array]) -> None:
        """Replace all tables by the results of a function."""
        self.seen = changed(self.seen)
        self.passed = {fence: changed(table) for fence, table in self.passed.items()}

    def _part_lanes(self, chosen: Array) -> None:
        """Expand the lane axis if only some lanes of a warp are chosen."""
        some, every = any_of(chosen, 2), all_of(chosen, 2)
        if self.seen.shape[2] == 1 and np.count_nonzero(some & ~every):
            self.change(lambda table: table.repeat(WARP, axis=2))

    def _join_lanes(self) -> None:
        """Collapse the lane axis if the lanes of every warp know the same."""
        if self.seen.shape[2] > 1 and all(
            not np.count_nonzero(t != t[:, :, :1]) for t in self.tables()
        ):
            self.change(lambda table: table[:, :, :1])

    @staticmethod
    def _some(table: Array, chosen: Array) -> Array:
        """Return the chosen lanes [..., 1], broadcastable to a table."""
        some = any_of(chosen, 2, keepdims=True) if table.shape[2] == 1 else chosen
        return some[..., None]

    def _table(self, fence: Fence) -> Array:
        found = self.passed.get(fence)
        return np.zeros_like(self.seen) if found is None else found

    def _gatherer(self, chosen: Array) -> Callable[[Array], Array]:
        """Return a function that reduces a table to [row * rank, actor]: the maximum over the
        chosen lanes.

        Only the chosen lanes are read; often one lane represents its warp.
        """
        shape = self.seen.shape[:3]
        some = np.broadcast_to(self._some(self.seen, chosen)[..., 0], shape)
        cta, place = np.nonzero(some.reshape(shape[0] * self.cluster, -1))
        ctas, first = np.unique(cta, return_index=True)

        def gather(table: Array) -> Array:
            most = np.zeros((shape[0] * self.cluster, self.actors), np.int64)
            if cta.size:
                known = table.reshape(len(most), -1, self.actors)[cta, place]
                most[ctas] = np.maximum.reduceat(known, first, axis=0)
            return most

        return gather

    def _by_cta(self, table: Array) -> Array:
        most: Array = table.reshape(len(table) * self.cluster, -1, self.actors).max(axis=1)
        return most

    def _of_warps(self, known: Array) -> Array:
        """Expand [row * rank, actor] to [row, warp, 1, actor]."""
        by_rank = known.reshape(-1, self.cluster, self.actors)
        return by_rank[:, self._rank][:, :, None]

    def _learned(self, table: Array, chosen: Array, known: Array) -> Array:
        if len(known) == 1 < self.cluster:
            known = known.repeat(self.cluster, axis=0)
        most = np.maximum(table, self._of_warps(known))
        return np.where(self._some(table, chosen), most, table)

    @staticmethod
    def _shared_in_warp(table: Array, chosen: Array) -> Array:
        """Give the chosen lanes of a warp their maximum."""
        if table.shape[2] == 1:
            return table.copy()
        most = np.where(chosen[..., None], table, 0).max(axis=2, keepdims=True)
        return np.where(chosen[..., None], most, table)
