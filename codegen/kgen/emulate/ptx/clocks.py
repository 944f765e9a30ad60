"""Happens-before inside a cluster (a CTA where there are no clusters), as vector clocks.

Actors are the warps of the cluster's CTAs, followed by what completes asynchronously (the copies
that one mbarrier counts are one such actor). Every actor has a clock of its own that advances when
it synchronises or completes. `seen[v, l, w]` is the time of actor w up to which lane l of warp v
knows everything that w did: an access that w made at time t is ordered before what the lane does
now if t <= seen[v, l, w]. A warp's own accesses at its present time are *not* in seen[v, l, v]: its
lanes are only ordered by bar.warp.sync or more (PTX ISA 8, Memory Consistency Model: synchronises-
with through barriers and through release and acquire patterns).

`passed[fence]` has the shape of `seen` and says which part of it has gone through a fence of that
kind, by whomever: what an asynchronous operation may rely on (a proxy fence), and what a strong
write makes visible to other CTAs (a memory fence of that scope).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.ctas import narrow, over_ctas
from kgen.emulate.ptx.known import Fence, Known
from kgen.emulate.ptx.lessons import Lessons
from kgen.emulate.ptx.types import Array, all_of, any_of
from kgen.emulate.ptx.vouching import Vouching

#: Lanes of a chunk, [C or 1, W, 32].
Lanes = Array
WARP = 32
#: Asynchronous actors of each CTA, where a kernel has any.
ASYNC_ACTORS = 32


class Clocks:
    """`own` [row, actor]; `seen` and `passed[fence]` [row, warp, lane, actor].

    There is one row for each cluster, or one in all while they agree; the lane axis has length 1
    while the lanes of a warp know the same. `asynchronous` says that there are asynchronous actors.
    """

    def __init__(
        self, ctas: int, exists: Lanes, *, cluster: int = 1, asynchronous: bool = False
    ) -> None:
        """`exists` are the lanes [1, W, 32] that are no padding of a CTA's last warp."""
        warps = exists.shape[1]
        self.clusters, self.cluster = ctas // cluster, cluster
        self.cta_warps, self.warps = warps, cluster * warps
        self.actors = self.warps + (cluster * ASYNC_ACTORS if asynchronous else 0)
        self.own = np.zeros((1, self.actors), np.int64)
        self.own[:, : self.warps] = 1
        self.seen = np.zeros((1, self.warps, 1, self.actors), np.int64)
        self.passed: dict[Fence, Array] = {}
        #: None while lanes have only synchronised together with the rest of their warp.
        self.vouching: Vouching | None = None
        self._warp = np.arange(self.warps)
        self._rank = self._warp // warps
        self.lessons = Lessons(ctas, warps)
        self._everyone = exists
        self._padding = np.tile(~exists, (1, cluster, 1))
        self._padded = bool(self._padding.any())
        self._names: dict[tuple[int, object], int] = {}

    @property
    def rows(self) -> int:
        return len(self.own)

    # ------------------------------------------------------------------ who knows what

    def known(self, row: Array | int, thread: Array, actor: Array) -> Array:
        """The time of `actor` up to which each thread knows it."""
        return self._look_up(self.seen, row, thread, actor)

    def unknown(self, row: Array | int, thread: Array, other: Array, time: Array) -> Array:
        """Whether threads do not know what other threads, of any actor, did at a time."""
        known = self.known(row, thread, other >> 5)
        found: Array = time > known
        if self.vouching is not None:
            found |= ~self.vouching.vouched(row, other, time, known)
        return found

    def known_past(self, fence: Fence, row: Array | int, thread: Array, actor: Array) -> Array:
        """The same, of what has passed a fence."""
        if fence not in self.passed:
            return np.zeros(np.broadcast_shapes(thread.shape, actor.shape), np.int64)
        return self._look_up(self.passed[fence], row, thread, actor)

    def all_known(self, row: Array | int, thread: Array) -> Array:
        """[threads, warp]: the times of all warps up to which each thread knows them."""
        lane = thread & 31 if self.seen.shape[2] > 1 else 0
        found: Array = self.seen[row, thread >> 5, lane]
        return found[..., : self.warps]

    def _look_up(self, table: Array, row: Array | int, thread: Array, actor: Array) -> Array:
        lane = thread & 31 if table.shape[2] > 1 else 0
        found: Array = table[row, thread >> 5, lane, actor]
        return found

    def released_by(
        self, row: int, warp: int, lanes: Array, fences: Sequence[Fence], release: bool
    ) -> tuple[Array, int]:
        """What a strong write by some lanes, by number, of a warp makes known: what has passed one
        of the fences, or, if it is a release, everything. It is the times [actor] up to which all
        that is so, and the time up to which it is so of what these lanes did themselves.
        """
        row = row if self.rows > 1 else 0
        tables = [self.passed[fence] for fence in fences if fence in self.passed]
        at = lanes if self.seen.shape[2] > 1 else 0
        known = [table[row, warp, at].reshape(-1, self.actors).max(axis=0) for table in tables]
        seen = self.seen[row, warp, at].reshape(-1, self.actors).max(axis=0)
        if release:
            return seen, int(self.own[row, warp])
        times = np.maximum.reduce([np.zeros_like(seen), *known])
        own = int(times[warp])
        times[warp] = min(own, seen[warp])
        return times, own

    # ------------------------------------------------------------------ what moves knowledge

    def release(self, lanes: Lanes) -> Known:
        """What these lanes know and did until now; what they do from now on is later."""
        chosen = self._rows_of(lanes)
        warps = any_of(chosen, 2)
        seen = self._gathered(self.seen, chosen, warps)
        by_rank = seen.reshape(len(seen) // self.cluster, self.cluster, self.actors)
        mine = by_rank[:, self._rank, self._warp]
        by_rank[:, self._rank, self._warp] = np.maximum(
            mine, np.where(warps, self.own[:, : self.warps], 0)
        )
        known = Known(
            seen=seen,
            passed={f: self._gathered(table, chosen, warps) for f, table in self.passed.items()},
            lessons=self.lessons.told(lanes) if self.lessons else {},
        )
        self._advance(chosen)
        return known

    def acquire(self, lanes: Lanes, known: Known) -> None:
        """These lanes learn what others released."""
        chosen = self._rows_of(lanes)
        if len(known.seen) > self.cluster:
            self.split()
        self._part_lanes(chosen)
        self.seen = self._learned(self.seen, chosen, known.seen)
        for fence, passed in known.passed.items():
            self.passed[fence] = self._learned(self._table(fence), chosen, passed)
        if known.lessons:
            self.lessons.hear(lanes, known.lessons)
        self._join_lanes()

    def fence(self, fence: Fence, lanes: Lanes) -> None:
        """All that these lanes know and did until now passes a fence."""
        chosen = self._rows_of(lanes)
        self._part_lanes(chosen)
        warps = any_of(chosen, 2)
        passing = self.seen.copy()
        passing[:, self._warp, :, self._warp] = self.own[:, : self.warps].T[:, :, None]
        some = warps[:, :, None] if self.seen.shape[2] == 1 else chosen
        table = self._table(fence)
        self.passed[fence] = np.where(some[..., None], np.maximum(table, passing), table)
        self._advance(chosen)

    def warp_barrier(self, lanes: Lanes) -> None:
        """bar.warp.sync by these lanes."""
        if self.lessons:
            self.lessons.warp_barrier(lanes)
        chosen = self._rows_of(lanes)
        self._part_lanes(chosen)
        warps = any_of(chosen, 2)
        self.seen = self._shared_in_warp(self.seen, chosen)
        for fence, table in self.passed.items():
            self.passed[fence] = self._shared_in_warp(table, chosen)
        some = warps[:, :, None] if self.seen.shape[2] == 1 else chosen
        mine = self.seen[:, self._warp, :, self._warp].transpose(1, 0, 2)
        now = self.own[:, : self.warps, None]
        self.seen[:, self._warp, :, self._warp] = np.where(some, now, mine).transpose(1, 0, 2)
        self._advance(chosen)
        self._join_lanes()

    def join_all(self) -> None:
        """A barrier of all threads of each CTA, in all CTAs; the clocks of all become the same."""
        if self.lessons:
            self.lessons.hear(self._everyone, self.lessons.told(self._everyone))
        now = int(self.own[:, : self.warps].max())
        seen = self._by_cta(self.seen)
        mine = seen.reshape(-1, self.cluster, self.actors)
        mine[:, self._rank, self._warp] = now
        self.seen = self._of_warps(seen)
        self.passed = {f: self._of_warps(self._by_cta(t)) for f, t in self.passed.items()}
        self.own = self.own.copy()
        self.own[:, : self.warps] = now + 1
        tables = [self.own, self.seen, *self.passed.values()]
        if self.vouching is not None:
            tables.append(self.vouching.lanes)
        if self.rows > 1 and all((table == table[:1]).all() for table in tables):
            self.own, self.seen = self.own[:1], self.seen[:1]
            self.passed = {fence: table[:1] for fence, table in self.passed.items()}
            if self.vouching is not None:
                self.vouching.lanes = self.vouching.lanes[:1]

    # ------------------------------------------------------------------ asynchronous actors

    def actor(self, rank: int, name: object) -> int:
        """The asynchronous actor of a name (an mbarrier, say) in the CTA of this rank.

        Where there are too many names some share an actor, and what one completes is then taken
        to be known to those who know the other.
        """
        first = self.warps + rank * ASYNC_ACTORS
        taken = sum(1 for other, _ in self._names if other == rank)
        return self._names.setdefault((rank, name), first + taken % ASYNC_ACTORS)

    def tick(self, actor: int, ctas: Array) -> Known:
        """The actor completes something, in these CTAs [C']; what is then to be released."""
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
        """Give every cluster a row of its own."""
        if self.rows < self.clusters:
            self.own = self.own.repeat(self.clusters, axis=0)
            self.seen = self.seen.repeat(self.clusters, axis=0)
            self.passed = {f: t.repeat(self.clusters, axis=0) for f, t in self.passed.items()}
            if self.vouching is not None:
                self.vouching.split(self.clusters)

    def forget(self) -> None:
        """Its threads have exited: all but who vouched for whom is of no use any more."""
        self.seen, self.passed = self.seen[:0].copy(), {}

    def _rows_of(self, lanes: Lanes) -> Array:
        """Lanes of CTAs [C or 1, W, 32] as lanes of clusters [row, warp, 32].

        The padding of a warp does what its other lanes do.
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

    def _part_lanes(self, chosen: Array) -> None:
        """Let the lanes of a warp know different things, if only some of one are chosen."""
        some, every = any_of(chosen, 2), all_of(chosen, 2)
        if self.seen.shape[2] == 1 and (some & ~every).any():
            self.seen = self.seen.repeat(WARP, axis=2)
            self.passed = {f: t.repeat(WARP, axis=2) for f, t in self.passed.items()}

    def _join_lanes(self) -> None:
        """The lanes of every warp know the same again, if they do."""
        tables = (self.seen, *self.passed.values())
        if self.seen.shape[2] > 1 and all((table == table[:, :, :1]).all() for table in tables):
            self.seen = self.seen[:, :, :1]
            self.passed = {fence: table[:, :, :1] for fence, table in self.passed.items()}

    def _table(self, fence: Fence) -> Array:
        found = self.passed.get(fence)
        return np.zeros_like(self.seen) if found is None else found

    def _gathered(self, table: Array, chosen: Array, warps: Array) -> Array:
        """[row * rank, actor]: the most that one of the chosen lanes of each CTA has."""
        some = warps[:, :, None] if table.shape[2] == 1 else chosen
        return self._by_cta(np.where(some[..., None], table, 0))

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
        some = any_of(chosen, 2, keepdims=True) if table.shape[2] == 1 else chosen
        return np.where(some[..., None], np.maximum(table, self._of_warps(known)), table)

    def _shared_in_warp(self, table: Array, chosen: Array) -> Array:
        """The chosen lanes of a warp all have what one of them has."""
        if table.shape[2] == 1:
            return table.copy()
        most = np.where(chosen[..., None], table, 0).max(axis=2, keepdims=True)
        return np.where(chosen[..., None], most, table)

    def _advance(self, chosen: Array) -> None:
        """Start a new time in the warps of these lanes [rows, V, 32], who vouch for the last."""
        warps = any_of(chosen, 2)
        if self.vouching is None and (warps & ~all_of(chosen, 2)).any():
            self.vouching = Vouching(self.rows, self.warps)
        if self.vouching is not None:
            self.vouching.note(warps, chosen, self.own[:, : self.warps])
        self.own = np.concatenate(
            [self.own[:, : self.warps] + warps, self.own[:, self.warps :]], axis=1
        )
