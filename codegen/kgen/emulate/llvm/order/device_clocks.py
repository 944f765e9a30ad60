"""Happens-before in global memory, between workgroups too.

Inside a workgroup as :mod:`clocks` says. An access of another workgroup happened
before if its wave released it with a fence that reaches the device, an atomic after that fence was
read by an atomic of this side, and a fence that reaches the device followed here; and what a wave
has learnt so, it passes on by its own releases, to its workgroup through barriers too.

Waves are numbered through all workgroups of the launch, in the order in which they start. What a
wave knows of other workgroups is kept only if it learnt something: a launch without such atomics
pays nothing.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, waves_in
from kgen.emulate.llvm.order.clocks import Clocks
from kgen.emulate.llvm.types import Array

#: Of a wave, or at the place of an atomic: for every wave of the launch, the time up to which.
Knowledge = dict[int, Array]


class DeviceClocks(Clocks):
    """Clocks of a launch; :meth:`begin` sets them to the next chunk of workgroups."""

    def __init__(self, lanes: int, wave: int, workgroups: int) -> None:
        super().__init__(lanes, wave)
        self.total = workgroups * self.waves
        self.first = 0
        """The number of the chunk's first workgroup."""
        self.chunk = 0
        #: By place of an atomic: what those who released left there.
        self.left: Knowledge = {}

    def begin(self, workgroups: int) -> None:
        """The next ``workgroups`` start; all before have ended."""
        self.reset()
        self.first += self.chunk
        self.chunk = workgroups
        #: As `seen`, `released` and `pending`, by number of the wave in the chunk. Arrays in them
        #: are never changed, only replaced.
        self.known: Knowledge = {}
        self.known_at_release: Knowledge = {}
        self.coming: Knowledge = {}
        #: What atomics have read, until a fence that reaches the device acquires it.
        self.read: Knowledge = {}
        #: What each wave knew of its workgroup at its last release that reaches the device.
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
        """An atomic of a wave of the chunk at ``place`` reads what was left there, and leaves what
        the wave released; a plain atomic store ``replaces`` that."""
        found = self.left.get(place)
        if found is not None and not replaces:
            _join(self.read, wave, found)
        if not leaves:
            return
        workgroup, number = divmod(wave, self.waves)
        own = self.published[workgroup % len(self.published), number]
        if replaces:
            self.left.pop(place, None)
        if own.any():
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
        if given[start : start + self.waves].any():
            self.spread(m, np.ones((m.workgroups, 1), np.bool_))
            row = workgroup % len(self.seen)
            own = given[start : start + self.waves]
            self.seen[row, number] = np.maximum(self.seen[row, number], own)

    def _active(self, m: Chunk) -> set[int]:
        """The numbers in the chunk of the waves that execute now."""
        whole = np.broadcast_to(waves_in(m, m.mask)[..., 0], (m.workgroups, self.waves))
        return set(np.flatnonzero(whole).tolist())

    # -- order ----------------------------------------------------------------------------------

    def before(self, lane: Array, other: Array, time: Array) -> Array:
        """Whether the access of the lane ``other`` at ``time`` happened before one that ``lane``
        makes now; both 1-D, numbered through the launch."""
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
