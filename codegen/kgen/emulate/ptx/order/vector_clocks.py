"""Vector clocks over a launch: the time up to which each actor of each cluster is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

#: Threads of a cluster in a key of `VectorClock.thread`.
_THREADS = 1 << 16


@frozen
class Releases:
    """Releases by the lanes of one instruction. Arrays are [n], with one entry per lane.

    Lane i releases its own actions up to the time `own[i]`, and those of each actor of its cluster
    up to the times in row `line[i]` of `times` [k, actor].
    """

    cluster: Array
    thread: Array
    own: Array
    times: Array
    line: Array


@frozen
class VectorClock:
    """Vector clock of a launch: the time up to which each actor is known.

    `times` has an array [actor] for each cluster. Single threads are known further, up to the times
    in `until`; `thread` has their keys, of cluster and thread, in ascending order.
    """

    times: dict[int, Array]
    thread: Array
    until: Array

    def known(self, cluster: Array, actor: Array) -> Array:
        """Return the time up to which an actor of a cluster is known; all arrays are flat."""
        found = np.zeros(cluster.shape, np.int64)
        for one in np.unique(cluster).tolist():
            if (times := self.times.get(one)) is not None:
                theirs = cluster == one
                found[theirs] = times[actor[theirs]]
        return found

    def told(self, cluster: Array, thread: Array) -> Array:
        """Return the time up to which a thread's own actions are known; all arrays are flat."""
        if not len(self.thread):
            return np.zeros(cluster.shape, np.int64)
        key = cluster * _THREADS + thread
        at = np.minimum(np.searchsorted(self.thread, key), len(self.thread) - 1)
        found: Array = np.where(self.thread[at] == key, self.until[at], 0)
        return found


def released(releases: Releases, some: Sequence[int]) -> VectorClock:
    """Return the clock that the lanes at these indices of `releases` released."""
    at = np.asarray(some)
    cluster = releases.cluster[at]
    times = {
        one: releases.times[np.unique(releases.line[at[cluster == one]])].max(axis=0)
        for one in np.unique(cluster).tolist()
    }
    thread, until = _latest(cluster * _THREADS + releases.thread[at], releases.own[at])
    return VectorClock(times=times, thread=thread, until=until)


def joined(clocks: Iterable[VectorClock]) -> VectorClock:
    """Return the least upper bound of clocks."""
    parts = list(clocks)
    if len(parts) == 1:
        return parts[0]
    times: dict[int, Array] = {}
    for part in parts:
        for cluster, theirs in part.times.items():
            mine = times.get(cluster)
            if mine is not theirs:
                times[cluster] = theirs if mine is None else np.maximum(mine, theirs)
    none = [np.zeros(0, np.int64)]
    thread, until = _latest(
        np.concatenate(none + [part.thread for part in parts]),
        np.concatenate(none + [part.until for part in parts]),
    )
    return VectorClock(times=times, thread=thread, until=until)


def _latest(thread: Array, until: Array) -> tuple[Array, Array]:
    """Return each thread once, with its latest time."""
    if not len(thread):
        return thread, until
    order = np.argsort(thread, kind="stable")
    thread, until = thread[order], until[order]
    first = np.flatnonzero(np.concatenate([[True], thread[1:] != thread[:-1]]))
    return thread[first], np.maximum.reduceat(until, first)
