"""Memory order of a whole launch: accesses to global memory, and strong accesses to any space."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, GlobalAccess, Mask
from kgen.emulate.ptx.frontend.syntax import PtxKernel
from kgen.emulate.ptx.frontend.written import ANYWHERE
from kgen.emulate.ptx.memory.semantics import Semantics
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.ptx.order.clocks import Clocks
from kgen.emulate.ptx.order.flags import Flags, UnitOrder, turns
from kgen.emulate.ptx.order.released_knowledge import Fence
from kgen.emulate.ptx.order.sync_graph import SyncGraph
from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.order.vector_clocks import Releases
from kgen.emulate.ptx.races.global_access import BufferAccess
from kgen.emulate.ptx.races.global_shadow import GlobalShadow
from kgen.emulate.ptx.types import Array, any_of
from kgen.emulate.report import Index3
from kgen.emulate.windows import window_start


class _Shared(Protocol):
    @property
    def data(self) -> Array: ...


class Launched(Chunk, Protocol):
    """Chunk with the memories whose accesses are ordered."""

    coordinates: list[Index3]

    @property
    def kernel(self) -> PtxKernel: ...

    @property
    def memory(self) -> GlobalMemory: ...

    @property
    def shared(self) -> _Shared: ...


_FENCES: dict[Strength, Fence] = {
    Strength.CTA: "cta",
    Strength.CLUSTER: "cluster",
    Strength.GPU: "gpu",
}


class MemoryOrder:
    """Recorder of all accesses to global memory, strong accesses to any space, and fences."""

    def __init__(self, machine: Launched) -> None:
        self.machine = machine
        self.flags = Flags()
        #: Releases of strong writes over the whole launch, and their readers.
        self.graph = SyncGraph(machine.cluster)
        #: Number of the chunk's first cluster within the launch.
        self.first_cluster = 0
        self._ctas: list[Index3] = []
        #: Clocks of every chunk so far, by the number of its first cluster.
        self._chunks: dict[int, Clocks] = {}
        self._shadows: dict[int, GlobalShadow | None] = {}
        self._written = machine.kernel.written

    def start_chunk(self) -> None:
        """Start recording the CTAs of the machine's next chunk."""
        for clocks in self._chunks.values():
            clocks.forget()
        self.first_cluster = len(self._ctas) // self.machine.cluster
        self._ctas += self.machine.coordinates
        self._chunks[self.first_cluster] = self.machine.clocks
        self.flags.forget("shared")

    def name(self, cluster: int, thread: int) -> str:
        """Format a thread of a cluster for messages."""
        rank, thread = divmod(thread, self.machine.warps * 32)
        if rank >= self.machine.cluster:
            return f"an asynchronous copy of CTA {self._ctas[cluster * self.machine.cluster]}"
        cta = self._ctas[cluster * self.machine.cluster + rank]
        return f"thread {thread} of CTA {cta}"

    # ------------------------------------------------------------------ accesses

    def accessed(self, access: GlobalAccess) -> None:
        how, buffer = access.how, self.machine.memory.same(access.buffer)
        shadow = self.shadow(buffer)
        if shadow is None:
            return
        units = BufferAccess(
            offset=access.index * access.nbytes,
            nbytes=access.nbytes,
            mask=access.mask,
            strength=how.strength,
            stored=access.stored,
            constant=how.constant,
        )
        if access.writes:
            shadow.write(self.machine, units)
        else:
            shadow.read(self.machine, units, remember=not access.later)
        if how.strength:
            self.strong(
                buffer, units.offset, access.mask, how, reads=access.reads, writes=access.writes
            )

    def shadow(self, buffer: int) -> GlobalShadow | None:
        """Return the shadow of a buffer; None if the kernel cannot write the buffer."""
        buffer = self.machine.memory.same(buffer)
        if buffer not in self._shadows:
            memory, kernel = self.machine.memory, self.machine.kernel
            alike = [i for i in range(len(memory.buffers)) if memory.same(i) == buffer]
            names = {memory.names[i] for i in alike}
            if not names & {p.name for p in kernel.parameters}:
                names = set(kernel.variables)
            tracked = ANYWHERE in self._written or bool(self._written & names)
            shadow = GlobalShadow(
                window_start(buffer), len(memory.buffers[buffer]), self.machine.global_unit
            )
            self._shadows[buffer] = shadow if tracked else None
        return self._shadows[buffer]

    def learned(self, place: Array, cluster: Array, other: Array, time: Array) -> Array:
        """Return whether lanes of the chunk know, through memory, what a thread of a cluster did by
        a time."""
        known, told = np.zeros(place.shape, np.int64), np.zeros(place.shape, np.int64)
        nodes = self.machine.clocks.lessons.known(place)
        for node in np.unique(nodes[nodes > 0]).tolist():
            here, clock = nodes == node, self.graph.clock(node)
            known[here] = clock.known(cluster[here], other[here] >> 5)
            told[here] = clock.told(cluster[here], other[here])
        found: Array = time <= known
        for first, clocks in self._chunks.items():
            if clocks.vouching is not None:
                row = cluster - first
                here = np.flatnonzero(found & (row >= 0) & (row < clocks.clusters))
                vouched = clocks.vouching.vouched(row[here], other[here], time[here], known[here])
                found[here] = vouched
        return found | (time <= told)

    # ------------------------------------------------------------------ synchronisation

    def fence(self, scope: Strength, mask: Mask) -> None:
        """Execute a memory fence: fence.sc, fence.acq_rel or membar."""
        machine = self.machine
        lanes = machine.active(mask)
        machine.clocks.fence(_FENCES[scope], lanes)
        if machine.clocks.lessons:
            machine.clocks.lessons.fence(lanes, scope)

    def strong(
        self, space: object, place: Array, mask: Mask, how: Semantics, *, reads: bool, writes: bool
    ) -> None:
        """Record strong accesses to a space: bytes of a numbered buffer, or "shared" memory of all
        CTAs.

        Lanes are processed in order, as atomic operations are.
        """
        machine, clocks = self.machine, self.machine.clocks
        releasing = writes and bool(how.release or clocks.knowledge.passed or clocks.lessons)
        if not self.flags and not releasing:
            return
        lane = np.flatnonzero(machine.everywhere(machine.active(mask)))
        flags, unit = self._flags(space, np.broadcast_to(place, machine.shape).reshape(-1)[lane])
        turn = turns(unit, lane)
        lane, unit = lane[turn.order], turn.unit
        cta = self.first_cluster * machine.cluster + lane // (machine.warps * 32)
        found = flags[unit]
        if releasing:
            scopes = self._scopes_alike(how)
            alike = scopes == [[*_FENCES]]
            record = self._record(turn, found, cta, how, reads, alike=alike)
            flags[unit[turn.last]] = record[turn.last]
            # A group reads what the previous group wrote.
            found = np.where(turn.first, found, record[turn.group - 1])
        elif writes and not reads:
            flags[unit] = 0
        if reads:
            self._read(found, lane, cta, how, new=releasing)
        if releasing:
            for same in scopes:
                self.graph.fill(record, self._released(lane, same[0], how.release), same)
        if how.release:
            clocks.advance(machine.active(mask))

    def _flags(self, space: object, place: Array) -> tuple[Array, Array]:
        """Return the records of a space, and the units of bytes in it."""
        if isinstance(space, int):
            count, unit = len(self.machine.memory.buffers[space]), self.machine.global_unit
        else:
            count, unit = self.machine.shared.data.size, self.machine.granule
        return self.flags.of(space, -(-count // unit)), place // unit

    def _scopes_alike(self, how: Semantics) -> list[list[Strength]]:
        """Return the scopes in which a strong write is visible; scopes with equal releases are in
        one list."""
        scopes = [scope for scope in _FENCES if scope <= how.strength]
        fenced = self.machine.clocks.knowledge.passed.keys()
        if how.strength == Strength.GPU and (how.release or not fenced & {"cta", "cluster"}):
            return [scopes]
        return [[scope] for scope in scopes]

    def _record(
        self, turn: UnitOrder, last: Array, cta: Array, how: Semantics, keeps: bool, *, alike: bool
    ) -> Array:
        """Append records of strong writes in access order; `last` are the previous records.

        `keeps`: the writes pass on the previous record. An acquire-release does that through its
        thread's own release, so that it does not need the previous record.
        """
        mixed = self.graph.mixed(last) > 0 if keeps else np.zeros(last.shape, bool)
        mixed |= not alike
        place = np.arange(len(last))
        mates = turn.group < place
        handed_on = keeps & ~(how.acquire & how.release & ~mixed)
        number = len(self.graph.records) + place
        previous = np.where(handed_on, np.where(turn.begins, last, number - 1), 0)
        return self.graph.record(np.where(mates, number - 1, previous), cta, mixed)

    def _read(self, record: Array, lane: Array, cta: Array, how: Semantics, *, new: bool) -> None:
        """Let lanes of CTAs read strong writes; `new`: no lane has read the records before."""
        lessons, view = self.machine.clocks.lessons, self.graph.view
        if how.acquire:
            seen = view(record, cta, Strength.CTA, how.strength, new=new)
            lessons.learn(lane, seen, Strength.WEAK, new=new)
            return
        for scope in [scope for scope in _FENCES if scope <= how.strength]:
            lessons.learn(lane, view(record, cta, scope, scope, new=new), scope, new=new)

    def _released(self, lane: Array, scope: Strength, release: bool) -> Array:
        """Return what strong writes release, as graph nodes: knowledge that has passed a fence of
        the scope or a wider one; all knowledge for a release."""
        clocks = self.machine.clocks
        row, thread = np.divmod(lane, clocks.warps * 32)
        fences = [fence for wide, fence in _FENCES.items() if wide >= scope]
        times, line, own = clocks.released_by(row, thread, fences, release)
        before = clocks.lessons.known(lane) if release else clocks.lessons.passed(lane, scope)
        releases = Releases(
            cluster=self.first_cluster + row, thread=thread, own=own, times=times, line=line
        )
        nothing = ~any_of(times > 0, 1)[line] & (own == 0) & (before == 0)
        return np.where(nothing, 0, self.graph.release(releases, before))
