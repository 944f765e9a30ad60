"""Knowledge of the lanes of a chunk about each other, as tables of times.

`seen[v, l, w]` is the time of actor w up to which lane l of warp v knows everything that w did: an
access that w made at time t is ordered before what the lane does now if t <= seen[v, l, w]. A
warp's own accesses at its present time are *not* in seen[v, l, v]: its lanes are only ordered by
bar.warp.sync or more.

`passed[fence]` has the shape of `seen` and says which part of it has gone through a fence of that
kind, by whomever: what an asynchronous operation may rely on (a proxy fence), and what a strong
write makes visible to other CTAs (a memory fence of that scope).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.order.released_knowledge import Fence, Known
from kgen.emulate.ptx.types import Array, all_of, any_of


class Knowledge:
    """`seen` and `passed[fence]` [row, warp, lane, actor].

    There is one row for each cluster, or one in all; the lane axis has length 1 while the lanes of
    a warp know the same. `chosen` are lanes [row or 1, warp, 32] everywhere, and `own` the present
    times [row, actor].
    """

    def __init__(self, *, cluster: int, warps: int, actors: int) -> None:
        """`warps` are those of a cluster, the first of its actors."""
        self.cluster, self.warps, self.actors = cluster, warps, actors
        self.seen = np.zeros((1, warps, 1, actors), np.int64)
        self.passed: dict[Fence, Array] = {}
        self._warp = np.arange(warps)
        self._rank = self._warp // (warps // cluster)

    # ------------------------------------------------------------------ who knows what

    def of(self, row: Array, thread: Array, actor: Array | slice) -> Array:
        """The time of `actor` up to which each thread knows it."""
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
        """[line, actor]: what threads [n] have seen, and what has passed each of the fences; and
        the line of each thread."""
        _, warps, lanes, _ = self.seen.shape
        at = (row if len(self.seen) > 1 else 0) * warps + (thread >> 5)
        if lanes > 1:
            at = at * lanes + (thread & 31)
        places, line = np.unique(at, return_inverse=True)
        tables = [self.passed[fence] for fence in fences if fence in self.passed]
        seen, *passed = (t.reshape(-1, self.actors)[places] for t in [self.seen, *tables])
        return seen, passed, line

    def gathered(self, chosen: Array, own: Array) -> tuple[Array, dict[Fence, Array]]:
        """Return what the chosen lanes of each CTA [row * rank, actor] have seen and done, and
        what of it has passed each fence."""
        gather = self._gatherer(chosen)
        seen = gather(self.seen)
        by_rank = seen.reshape(-1, self.cluster, self.actors)
        mine = by_rank[:, self._rank, self._warp]
        done = np.where(any_of(chosen, 2), own[:, : self.warps], 0)
        by_rank[:, self._rank, self._warp] = np.maximum(mine, done)
        return seen, {fence: gather(table) for fence, table in self.passed.items()}

    # ------------------------------------------------------------------ what moves knowledge

    def learn(self, chosen: Array, known: Known) -> None:
        """The chosen lanes learn what others released."""
        self._part_lanes(chosen)
        self.seen = self._learned(self.seen, chosen, known.seen)
        for fence, passed in known.passed.items():
            self.passed[fence] = self._learned(self._table(fence), chosen, passed)
        self._join_lanes()

    def fence(self, fence: Fence, chosen: Array, own: Array) -> None:
        """Let all that the chosen lanes have seen and did until now pass a fence."""
        self._part_lanes(chosen)
        passing = self.seen.copy()
        passing[:, self._warp, :, self._warp] = own[:, : self.warps].T[:, :, None]
        table = self._table(fence)
        most = np.maximum(table, passing)
        self.passed[fence] = np.where(self._some(table, chosen), most, table)

    def share_in_warps(self, chosen: Array, own: Array) -> None:
        """The chosen lanes of each warp know what one of them does, and what they did until now."""
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
        """Let all lanes of a CTA know what any of them knows, and what they did until `now`."""
        seen = self._by_cta(self.seen)
        mine = seen.reshape(-1, self.cluster, self.actors)
        mine[:, self._rank, self._warp] = now
        self.seen = self._of_warps(seen)
        self.passed = {f: self._of_warps(self._by_cta(t)) for f, t in self.passed.items()}

    # ------------------------------------------------------------------ rows and lanes

    def tables(self) -> list[Array]:
        return [self.seen, *self.passed.values()]

    def change(self, changed: Callable[[Array], Array]) -> None:
        """Put other tables in the place of all."""
        self.seen = changed(self.seen)
        self.passed = {fence: changed(table) for fence, table in self.passed.items()}

    def _part_lanes(self, chosen: Array) -> None:
        """Let the lanes of a warp know different things, if only some of one are chosen."""
        some, every = any_of(chosen, 2), all_of(chosen, 2)
        if self.seen.shape[2] == 1 and (some & ~every).any():
            self.change(lambda table: table.repeat(WARP, axis=2))

    def _join_lanes(self) -> None:
        """The lanes of every warp know the same again, if they do."""
        if self.seen.shape[2] > 1 and all((t == t[:, :, :1]).all() for t in self.tables()):
            self.change(lambda table: table[:, :, :1])

    @staticmethod
    def _some(table: Array, chosen: Array) -> Array:
        """The chosen lanes [..., 1] along the axes of a table."""
        some = any_of(chosen, 2, keepdims=True) if table.shape[2] == 1 else chosen
        return some[..., None]

    def _table(self, fence: Fence) -> Array:
        found = self.passed.get(fence)
        return np.zeros_like(self.seen) if found is None else found

    def _gatherer(self, chosen: Array) -> Callable[[Array], Array]:
        """Return a reduction of a table to [row * rank, actor]: the maximum over the chosen lanes.

        Only these are looked at: often it is one lane that speaks for its warp.
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
        """[row * rank, actor] as [row, warp, 1, actor]."""
        by_rank = known.reshape(-1, self.cluster, self.actors)
        return by_rank[:, self._rank][:, :, None]

    def _learned(self, table: Array, chosen: Array, known: Array) -> Array:
        if len(known) == 1 < self.cluster:
            known = known.repeat(self.cluster, axis=0)
        most = np.maximum(table, self._of_warps(known))
        return np.where(self._some(table, chosen), most, table)

    @staticmethod
    def _shared_in_warp(table: Array, chosen: Array) -> Array:
        """The chosen lanes of a warp all have what one of them has."""
        if table.shape[2] == 1:
            return table.copy()
        most = np.where(chosen[..., None], table, 0).max(axis=2, keepdims=True)
        return np.where(chosen[..., None], most, table)
