"""The order of accesses to global memory, and of strong accesses to any, over a whole launch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.flags import Flags, Knowledge, Place, Themselves
from kgen.emulate.ptx.global_access import Access
from kgen.emulate.ptx.global_shadow import GlobalShadow
from kgen.emulate.ptx.known import Fence
from kgen.emulate.ptx.lessons import Lesson, bits_of_lanes
from kgen.emulate.ptx.semantics import Semantics
from kgen.emulate.ptx.tags import Strength
from kgen.emulate.ptx.types import Array
from kgen.emulate.ptx.written import ANYWHERE, written

if TYPE_CHECKING:
    from kgen.emulate.ptx.clocks import Clocks
    from kgen.emulate.ptx.machine import Index3, Machine, Mask

#: What a strong write released: times, the time of its own lanes, what came through memory before.
_Said = tuple[bytes, int, list[Knowledge]]
_FENCES: dict[Strength, Fence] = {
    Strength.CTA: "cta",
    Strength.CLUSTER: "cluster",
    Strength.GPU: "gpu",
}


class MemoryOrder:
    """Is told of all accesses to global memory, of strong accesses to any, and of fences."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.flags = Flags()
        #: The number of the chunk's first cluster, over the launch.
        self.first_cluster = 0
        self._ctas: list[Index3] = []
        #: The clocks of every chunk until now, by its first cluster.
        self._chunks: dict[int, Clocks] = {}
        self._shadows: dict[int, GlobalShadow | None] = {}
        self._written = written(machine.kernel)
        self._last: dict[tuple[int, int, Strength], tuple[_Said, Knowledge]] = {}

    def start_chunk(self) -> None:
        """The machine runs other CTAs."""
        for clocks in self._chunks.values():
            clocks.forget()
        self.first_cluster = len(self._ctas) // self.machine.cluster
        self._ctas += self.machine.coordinates
        self._chunks[self.first_cluster] = self.machine.clocks
        self.flags.forget("shared")
        self._last.clear()

    def name(self, cluster: int, thread: int) -> str:
        """A thread of a cluster for a reader."""
        rank, thread = divmod(thread, self.machine.warps * 32)
        if rank >= self.machine.cluster:
            return f"an asynchronous copy of CTA {self._ctas[cluster * self.machine.cluster]}"
        cta = self._ctas[cluster * self.machine.cluster + rank]
        return f"thread {thread} of CTA {cta}"

    # ------------------------------------------------------------------ accesses

    def accessed(
        self,
        buffer: int,
        index: Array,
        nbytes: int,
        mask: Mask,
        how: Semantics,
        *,
        reads: bool = False,
        writes: bool = False,
        later: bool = False,
    ) -> None:
        """Lanes access units of `nbytes` bytes of a buffer; a read may be said to be done later."""
        buffer = self.machine.memory.same(buffer)
        shadow = self.shadow(buffer)
        if shadow is None:
            return
        access = Access(
            offset=index * nbytes,
            nbytes=nbytes,
            mask=mask,
            strength=how.strength,
            constant=how.constant,
        )
        if writes:
            shadow.write(self.machine, access)
        else:
            shadow.read(self.machine, access, remember=not later)
        if how.strength:
            self.strong(buffer, access.offset, mask, how, reads=reads, writes=writes)

    def shadow(self, buffer: int) -> GlobalShadow | None:
        """The tables of a buffer; None for one that the kernel cannot write."""
        buffer = self.machine.memory.same(buffer)
        if buffer not in self._shadows:
            memory, kernel = self.machine.memory, self.machine.kernel
            alike = [i for i in range(len(memory.buffers)) if memory.same(i) == buffer]
            names = {memory.names[i] for i in alike}
            if not names & {p.name for p in kernel.parameters}:
                names = set(kernel.variables)
            tracked = ANYWHERE in self._written or bool(self._written & names)
            shadow = GlobalShadow(
                memory.address(buffer), len(memory.buffers[buffer]), self.machine.global_unit
            )
            self._shadows[buffer] = shadow if tracked else None
        return self._shadows[buffer]

    def learned(self, place: Array, cluster: Array, other: Array, time: Array) -> Array:
        """Whether lanes of the chunk know, through memory, what a thread of a cluster did."""
        lessons = self.machine.clocks.lessons
        known = lessons.known(place >> 5, place & 31, cluster, other >> 5)
        found: Array = time <= known
        for first, clocks in self._chunks.items():
            if clocks.vouching is not None:
                row = cluster - first
                here = np.flatnonzero(found & (row >= 0) & (row < clocks.clusters))
                vouched = clocks.vouching.vouched(row[here], other[here], time[here], known[here])
                found[here] = vouched
        left = np.flatnonzero(~found)
        if left.size:
            found[left] = lessons.know_themselves(
                place[left] >> 5, place[left] & 31, cluster[left], other[left], time[left]
            )
        return found

    # ------------------------------------------------------------------ synchronisation

    def fence(self, scope: Strength, mask: Mask) -> None:
        """fence.sc, fence.acq_rel and membar."""
        machine = self.machine
        lanes = machine.active(mask)
        machine.clocks.fence(_FENCES[scope], lanes)
        if machine.clocks.lessons:
            machine.clocks.lessons.fence(lanes, scope)

    def strong(
        self, space: object, unit: Array, mask: Mask, how: Semantics, *, reads: bool, writes: bool
    ) -> None:
        """Strong accesses to units of a space (a buffer's number, or "shared").

        Lanes are taken in their order, as an atomic operation does.
        """
        clocks = self.machine.clocks
        releasing = writes and bool(how.release or clocks.knowledge.passed or clocks.lessons)
        if not self.flags and not releasing:
            return
        for place, warp, lanes in self._places(space, unit, mask):
            cta = self.first_cluster * self.machine.cluster + warp // self.machine.warps
            who = how.strength, cta // self.machine.cluster, cta
            if reads:
                found = self.flags.read(place, *who)
                clocks.lessons.learn(warp, [
                    Lesson(knowledge=k, lanes=lanes, needs=Strength.WEAK if how.acquire else needs)
                    for needs, k in found
                ])  # fmt: skip
            if writes:
                new = self._released(warp, lanes, how) if releasing else {}
                self.flags.written(place, new, *who[1:], keeps=reads)
        if how.release:
            clocks.release(self.machine.active(mask))

    def _released(self, warp: int, lanes: int, how: Semantics) -> dict[Strength, Knowledge]:
        """What a strong write by lanes of a warp makes known, to whom in its scope."""
        scopes = [scope for scope in _FENCES if scope <= how.strength]
        found = {scope: self._released_to(scope, warp, lanes, how.release) for scope in scopes}
        return {scope: knowledge for scope, knowledge in found.items() if knowledge is not None}

    def _released_to(
        self, scope: Strength, warp: int, lanes: int, release: bool
    ) -> Knowledge | None:
        """What has passed a fence of the scope or a wider one; everything, if it is a release."""
        clocks = self.machine.clocks
        row, actor = divmod(warp, clocks.warps)
        numbers = np.flatnonzero([lanes >> lane & 1 for lane in range(32)])
        fences = [fence for wide, fence in _FENCES.items() if wide >= scope]
        times, own = clocks.released_by(row, actor, numbers, fences, release)
        known = [
            lesson.knowledge
            for lesson in clocks.lessons.of(warp, lanes)
            if lesson.published >= scope or (release and not lesson.needs)
        ]
        if not times.any() and not own and not known:
            return None
        # Who tries again and again says the same each time.
        key, said = (warp, lanes, scope), (times.tobytes(), own, known)
        last = self._last.get(key)
        if last is None or last[0] != said:
            themselves = Themselves(
                cluster=self.first_cluster + row, actor=actor, lanes=lanes, time=own
            )
            last = said, Knowledge(themselves.cluster, times, [themselves], known)
            self._last[key] = last
        return last[1]

    def _places(self, space: object, unit: Array, mask: Mask) -> Iterator[tuple[Place, int, int]]:
        """(place, warp of the chunk, bits of its lanes), in the order of the lanes."""
        machine = self.machine
        lanes = machine.everywhere(machine.active(mask)).reshape(-1, 32)
        units = np.broadcast_to(unit, machine.shape).reshape(-1, 32)
        for warp in np.flatnonzero(lanes.any(axis=1)).tolist():
            here = lanes[warp]
            for value in dict.fromkeys(units[warp][here].tolist()):
                yield (space, value), warp, int(bits_of_lanes(here & (units[warp] == value)))
