"""Vector clocks of global memory: the happens-before relation across workgroups.

Inside a workgroup :mod:`~kgen.emulate.llvm.order.clocks` defines the order. An access in another
workgroup happens before if four things follow it in this order:

- its wave releases with a fence of device scope;
- an atomic of that wave writes;
- an atomic on this side reads at the same place;
- a fence of device scope acquires on this side.

A wave passes on what it acquired by its own releases, and to its workgroup also by barriers.

Waves are numbered across the launch, in the order in which they start. A wave has a clock for other
workgroups only after it acquired from one, so a launch without such atomics has no extra cost.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, waves_in
from kgen.emulate.llvm.order.clocks import Clocks
from kgen.emulate.llvm.types import Array

#: Vector clocks over all waves of the launch, by wave of the chunk or by place of an atomic.
Knowledge = dict[int, Array]


class DeviceClocks(Clocks):
    """Vector clocks of a launch; :meth:`begin` moves them to the next chunk of workgroups."""

    def __init__(self, lanes: int, wave: int, workgroups: int) -> None:
        super().__init__(lanes, wave)
        self.total = workgroups * self.waves
        self.first = 0
        """Number of the chunk's first workgroup."""
        self.chunk = 0
        #: Clocks that releasing waves left for later atomics, by place of the atomic.
        self.left: Knowledge = {}

    def begin(self, workgroups: int) -> None:
        """Start the next chunk, of ``workgroups``; all earlier workgroups have ended."""
        self.reset()
        self.first += self.chunk
        self.chunk = workgroups
        #: Counterparts of ``seen``, ``released`` and ``pending`` across workgroups, by wave of the
        #: chunk. Their arrays are replaced, never modified.
        self.known: Knowledge = {}
        self.known_at_release: Knowledge = {}
        self.coming: Knowledge = {}
        #: Clocks that atomics of each wave read and that no device-scope fence has acquired yet.
        self.read: Knowledge = {}
        #: Each wave's clock for its workgroup at its last release of device scope.
        self.published = np.zeros((1, self.waves, self.waves), np.int32)

    # -- synchronisation ------------------------------------------------------------------------

    def fence(self, m: Chunk, *, release: bool, acquire: bool, device: bool) -> None:
        if acquire and (self.coming or self.read):
            for wave in self._active(m):
                self._learn(m, wave, self.coming.pop(wave, None))
                if device:
                    self._learn(m, wave, self.read.pop(wave, None))
        super().fence(m, release=release, acquire=acquire, device=device)
        if not release:
            return
        if self.known:
            for wave in self._active(m) & self.known.keys():
                self.known_at_release[wave] = self.known[wave]
        if device:
            waves = waves_in(m, m.mask)
            self.published = np.where(waves, self.released, self.published)

    def barrier(self, m: Chunk, lanes: Array | None) -> None:
        super().barrier(m, lanes)
        if not self.known_at_release:
            return
        passing = np.broadcast_to(waves_in(m, lanes)[..., 0], (m.workgroups, self.waves))
        for workgroup in {wave // self.waves for wave in self.known_at_release}:
            here = (workgroup * self.waves + np.flatnonzero(passing[workgroup])).tolist()
            given = [self.known_at_release[w] for w in here if w in self.known_at_release]
            for wave in here if given else ():
                _join(self.coming, wave, np.maximum.reduce(given))

    def meet(self, wave: int, place: int, *, leaves: bool, replaces: bool) -> None:
        """Record an atomic of a wave of the chunk at ``place``.

        The atomic reads the clock that is there, unless it is a plain atomic store (``replaces``),
        which discards it. If it writes (``leaves``), it leaves the wave's released clock there.
        """
        found = self.left.get(place)
        if found is not None and not replaces:
            _join(self.read, wave, found)
        if not leaves:
            return
        workgroup, number = divmod(wave, self.waves)
        own = self.published[workgroup % len(self.published), number]
        if replaces:
            self.left.pop(place, None)
        if np.count_nonzero(own):
            start = (self.first + workgroup) * self.waves
            given = np.zeros(self.total, np.int32)
            given[start : start + self.waves] = own
            far = self.known_at_release.get(wave)
            _join(self.left, place, given if far is None else np.maximum(given, far))

    def _learn(self, m: Chunk, wave: int, given: Array | None) -> None:
        if given is None:
            return
        _join(self.known, wave, given)
        workgroup, number = divmod(wave, self.waves)
        start = (self.first + workgroup) * self.waves
        if np.count_nonzero(given[start : start + self.waves]):
            self.spread(m, np.ones((m.workgroups, 1), np.bool_))
            row = workgroup % len(self.seen)
            own = given[start : start + self.waves]
            self.seen[row, number] = np.maximum(self.seen[row, number], own)

    def _active(self, m: Chunk) -> set[int]:
        """Return the numbers of the waves of the chunk that execute now."""
        whole = np.broadcast_to(waves_in(m, m.mask)[..., 0], (m.workgroups, self.waves))
        return set(np.flatnonzero(whole).tolist())

    # -- order ----------------------------------------------------------------------------------

    def before(self, lane: Array, other: Array, time: Array) -> Array:
        """Return whether an access of lane ``other`` at ``time`` happens before one of ``lane``
        now.

        The arrays are 1-D. Lanes are numbered across the launch.
        """
        workgroup = lane // self.lanes
        near = workgroup == other // self.lanes
        row = (workgroup - self.first) % len(self.fenced)
        result: Array = np.zeros(len(lane), np.bool_)
        result[near] = self.ordered(
            row[near], lane[near] % self.lanes, other[near] % self.lanes, time[near]
        )
        for wave in np.unique(lane[~near] // self.wave):
            known = self.known.get(int(wave) - self.first * self.waves)
            if known is not None:
                here = ~near & (lane // self.wave == wave)
                result[here] = time[here] <= known[other[here] // self.wave]
        return result


def _join(knowledge: Knowledge, key: int, more: Array) -> None:
    before = knowledge.get(key)
    knowledge[key] = more if before is None else np.maximum(before, more)
