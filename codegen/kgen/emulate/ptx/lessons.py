"""What warps learned of other clusters, and of their own, through memory rather than barriers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kgen.emulate.ptx.flags import Knowledge
from kgen.emulate.ptx.tags import Strength
from kgen.emulate.ptx.types import Array

_ALL_LANES = 0xFFFFFFFF
_BITS = np.uint64(1) << np.arange(32, dtype=np.uint64)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """Knowledge that came through memory to some lanes of a warp (bits of `lanes`).

    It holds after a fence of the scope `needs` (WEAK if it holds already), and is part of what a
    strong write in the scope `published`, or in a narrower one, releases.
    """

    knowledge: Knowledge
    lanes: int = _ALL_LANES
    needs: Strength = Strength.WEAK
    published: Strength = Strength.WEAK

    def fenced(self, scope: Strength) -> Lesson:
        if self.needs > scope:
            return self
        return replace(self, needs=Strength.WEAK, published=max(self.published, scope))


#: Lessons that a CTA of the chunk is told, by its number.
Told = dict[int, tuple[Lesson, ...]]


def both(mine: Told, theirs: Told, where: Array | None) -> Told:
    """Both together; of theirs only in the CTAs [C or 1] of `where`."""
    found = dict(mine)
    for cta, lessons in theirs.items():
        if where is None or where[cta if len(where) > 1 else 0]:
            found[cta] = tuple(dict.fromkeys((*found.get(cta, ()), *lessons)))
    return found


def across(told: Told, cluster: int) -> Told:
    """Every CTA of a cluster is told what any of them is."""
    found: Told = {}
    for cta, lessons in told.items():
        first = cta // cluster * cluster
        found = both(found, dict.fromkeys(range(first, first + cluster), lessons), None)
    return found


def bits_of_lanes(lanes: Array) -> Array:
    """[..., 32] as bits."""
    found: Array = np.where(lanes, _BITS, np.uint64(0)).sum(axis=-1)
    return found


class Lessons:
    """The lessons of each warp of a chunk, by its number among all: row * warps + warp."""

    def __init__(self, ctas: int, warps: int) -> None:
        self._ctas, self._warps = ctas, warps
        self._held: dict[int, tuple[Lesson, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def of(self, warp: int, lanes: int = _ALL_LANES) -> list[Lesson]:
        return [lesson for lesson in self._held.get(warp, ()) if lesson.lanes & lanes]

    def learn(self, warp: int, new: Iterable[Lesson]) -> None:
        """Add to what a warp learned; what it has already is at most widened to more lanes."""
        held = {replace(lesson, lanes=0): lesson.lanes for lesson in self._held.get(warp, ())}
        for lesson in new:
            what = replace(lesson, lanes=0)
            held[what] = held.get(what, 0) | lesson.lanes
        if held:
            self._held[warp] = tuple(replace(what, lanes=lanes) for what, lanes in held.items())

    def fence(self, lanes: Array, scope: Strength) -> None:
        """Lanes [C or 1, W, 32] pass a memory fence."""
        for warp, bits in self._warps_of(lanes):
            if held := self._held.get(warp):
                self._held[warp] = tuple(
                    lesson.fenced(scope) if lesson.lanes & bits else lesson for lesson in held
                )

    def warp_barrier(self, lanes: Array) -> None:
        """Lanes of a warp tell each other."""
        for warp, bits in self._warps_of(lanes):
            if held := self._held.get(warp):
                self._held[warp] = tuple(
                    replace(lesson, lanes=lesson.lanes | bits) if lesson.lanes & bits else lesson
                    for lesson in held
                )

    def told(self, lanes: Array) -> Told:
        """What these lanes learned, for each CTA."""
        found: dict[int, dict[Lesson, None]] = {}
        for warp, bits in self._warps_of(lanes):
            for lesson in self.of(warp, bits):
                found.setdefault(warp // self._warps, {})[replace(lesson, lanes=0)] = None
        return {cta: tuple(lessons) for cta, lessons in found.items()}

    def hear(self, lanes: Array, told: Told) -> None:
        """These lanes learn what their CTA was told."""
        for warp, bits in self._warps_of(lanes):
            new = told.get(warp // self._warps, ())
            self.learn(warp, (replace(lesson, lanes=bits) for lesson in new))

    def known(self, warp: Array, lane: Array, cluster: Array, actor: Array) -> Array:
        """The time of an actor of a cluster up to which each lane knows it; all flat."""
        found = np.zeros(warp.shape, np.int64)
        for at, knowledge in self._holding(warp, lane):
            for other, times in knowledge.clusters().items():
                theirs = at[cluster[at] == other]
                found[theirs] = np.maximum(found[theirs], times[actor[theirs]])
        return found

    def know_themselves(
        self, warp: Array, lane: Array, cluster: Array, other: Array, time: Array
    ) -> Array:
        """Whether each lane was told by thread `other` of a cluster itself; all flat."""
        found = np.zeros(warp.shape, bool)
        for at, knowledge in self._holding(warp, lane):
            for told in knowledge.themselves():
                theirs = at[(cluster[at] == told.cluster) & (other[at] >> 5 == told.actor)]
                spoke = (told.lanes >> (other[theirs] & 31)) & 1 == 1
                found[theirs] |= spoke & (time[theirs] <= told.time)
        return found

    def _holding(self, warp: Array, lane: Array) -> Iterator[tuple[Array, Knowledge]]:
        """Which of these lanes hold what knowledge."""
        for number in np.unique(warp).tolist():
            for lesson in self._held.get(number, ()):
                if not lesson.needs:
                    at = np.flatnonzero(warp == number)
                    yield at[(lesson.lanes >> lane[at]) & 1 == 1], lesson.knowledge

    def _warps_of(self, lanes: Array) -> Iterator[tuple[int, int]]:
        """The warps with a lane in the mask, and which lanes."""
        whole = np.broadcast_to(lanes, (self._ctas, self._warps, 32)).reshape(-1, 32)
        for warp in np.flatnonzero(whole.any(axis=1)).tolist():
            yield warp, int(bits_of_lanes(whole[warp]))
