"""Synchronisation through memory: release and acquire patterns (PTX ISA 8.8, 8.9.4).

A strong write carries what its thread has released: what a memory fence before it covered, or all
that came before it, if it is itself a release. Who reads the written value with a strong read knows
it after a fence, or at once, if the read is an acquire. Read-modify-writes hand on what they read.

What crosses a barrier on the way counts as well: threads that fence, meet at a barrier, and let one
of them do the atomic operation are taken to release what they all did, as hardware has it and CUDA
programs rely on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgen.emulate.ptx.tags import Strength
from kgen.emulate.ptx.types import Array

#: A strong access's place: the space or buffer, and the unit in it.
Place = tuple[object, int]
#: Who can see a release: everybody, a cluster, or a CTA of this number.
_Audience = tuple[Strength, int]


@dataclass(frozen=True, kw_only=True)
class Themselves:
    """Lanes, as bits, that told what they did themselves until a time of their warp."""

    cluster: int
    actor: int
    lanes: int
    time: int


class Knowledge:
    """Times of the actors of some clusters, up to which everything they did is known.

    It never changes, and is shared by all who learn it: its own cluster's times, what lanes told of
    themselves, and what was known before.
    """

    def __init__(
        self,
        cluster: int,
        times: Array | None,
        themselves: Sequence[Themselves] = (),
        before: Sequence[Knowledge] = (),
    ) -> None:
        self._clusters: dict[int, Array] = {} if times is None else {cluster: times}
        self._themselves = tuple(themselves)
        self._before = tuple(before)

    def and_also(self, new: Knowledge) -> Knowledge:
        """Both; itself if it has just been told the same."""
        if new is self or new in self._before:
            return self
        return Knowledge(-1, None, (), (self, new))

    def clusters(self) -> dict[int, Array]:
        """The times [actor] of each cluster of which something is known."""
        self._gather()
        return self._clusters

    def themselves(self) -> tuple[Themselves, ...]:
        self._gather()
        return self._themselves

    def _gather(self) -> None:
        """Make what was known before its own."""
        if not self._before:
            return
        found: dict[int, Array] = {}
        themselves: dict[Themselves, None] = {}
        visited: set[Knowledge] = set()
        left = [self]
        while left:
            node = left.pop()
            if node in visited:
                continue
            visited.add(node)
            left += node._before
            themselves.update(dict.fromkeys(node._themselves))
            for cluster, times in node._clusters.items():
                there = found.get(cluster)
                found[cluster] = times if there is None else np.maximum(there, times)
        self._clusters, self._themselves, self._before = found, tuple(themselves), ()


class Flags:
    """What strong writes released, by the place that they wrote, over a whole launch."""

    def __init__(self) -> None:
        self._released: dict[Place, dict[_Audience, Knowledge]] = {}

    def __bool__(self) -> bool:
        return bool(self._released)

    def forget(self, space: object) -> None:
        """The memory of a space is gone."""
        self._released = {p: k for p, k in self._released.items() if p[0] != space}

    def written(
        self,
        place: Place,
        new: dict[Strength, Knowledge],
        cluster: int,
        cta: int,
        *,
        keeps: bool,
    ) -> None:
        """A strong write by a thread of a CTA, with what it releases in each scope.

        With `keeps` it hands on what was there.
        """
        held = self._released.get(place, {}) if keeps else {}
        everyone = dict(_audiences(Strength.GPU, cluster, cta))
        for scope, knowledge in new.items():
            audience = scope, everyone[scope]
            before = held.get(audience)
            added = knowledge if before is None else before.and_also(knowledge)
            held = {**held, audience: added}
        if held:
            self._released[place] = held
        else:
            self._released.pop(place, None)

    def read(
        self, place: Place, scope: Strength, cluster: int, cta: int
    ) -> list[tuple[Strength, Knowledge]]:
        """What a strong read at the place sees released: the scope that it takes, and what."""
        held = self._released.get(place)
        if held is None:
            return []
        found = [(a[0], held.get(a)) for a in _audiences(scope, cluster, cta)]
        return [(needs, knowledge) for needs, knowledge in found if knowledge is not None]


def _audiences(scope: Strength, cluster: int, cta: int) -> list[_Audience]:
    """All who are in the scope of an operation by a thread of a CTA."""
    everyone = [(Strength.CTA, cta), (Strength.CLUSTER, cluster), (Strength.GPU, 0)]
    return everyone[:scope]
