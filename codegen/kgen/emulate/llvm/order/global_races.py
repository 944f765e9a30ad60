"""Race detector for global memory: a shadow table over the buffers that the launch may write.

Two accesses of different lanes to one granule race if one is a write and nothing orders them
(:mod:`~kgen.emulate.llvm.order.device_clocks`). Two atomics whose scopes both contain both lanes do
not race. The tables live as long as the launch. Buffers that nothing writes have none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.lib.array_utils import byte_bounds

from kgen.emulate.llvm.chunk import Chunk, fault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.memory.global_memory import GlobalBuffer, regions_of
from kgen.emulate.llvm.order import scopes
from kgen.emulate.llvm.order.clocks import NO_BARRIER, NO_FENCE
from kgen.emulate.llvm.order.device_clocks import DeviceClocks
from kgen.emulate.llvm.order.global_record import GlobalAccess, LaneRecord
from kgen.emulate.llvm.types import Array
from kgen.emulate.windows import WINDOW_BITS, window_start

NO_ORDER = "no device-scope release, atomic and acquire order the two"


class GlobalShadow:
    """Shadow tables over the granules of all buffers that may be written."""

    def __init__(
        self,
        buffers: list[GlobalBuffer],
        written: Collection[int],
        *,
        granule: int,
        clocks: DeviceClocks,
        coordinates: Array,
    ) -> None:
        """Create the tables.

        ``written`` holds the indices in ``buffers`` of those that may be written; ``coordinates``
        [workgroup, 3] those of all workgroups, in the order in which they start.
        """
        self.clocks = clocks
        self.coordinates = coordinates
        self.names = [buffer.name for buffer in buffers]
        self.starts, self.granule, size = layout(buffers, written, granule)
        count = -(-size // self.granule)
        #: Lane + 1 of the last plain store to each granule, and its time.
        self.writer = np.zeros(count, np.int32)
        self.written_at = np.zeros(count, np.int32)
        self.reads = LaneRecord(count, clocks)
        self.atomic_reads = LaneRecord(count, clocks)
        self.updates = LaneRecord(count, clocks)

    def tracks(self, address: int) -> bool:
        """Return whether the buffer that contains an address may be written."""
        return bool(self.starts[(address >> WINDOW_BITS) - 1] >= 0)

    # -- accesses -------------------------------------------------------------------------------

    def read(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        a = self._access(m, ins, pointer, size, "reads")
        self._check_writer(a)
        self._check_updates(a)
        if ins.is_atomic:
            self.atomic_reads.note(a)
            self._meet(a, leaves=False)
        else:
            self.reads.note(a)

    def write(self, m: Chunk, ins: LlvmInstruction, pointer: Array, raw: Array) -> None:
        a = self._access(m, ins, pointer, raw.dtype.itemsize, "writes")
        if ins.is_atomic:
            self._update(a, replaces=True)
            return
        self._check_writer(a)
        self._check_readers(a)
        self._check_updates(a)
        self.writer[a.granules] = a.lane + 1
        self.written_at[a.granules] = self.clocks.time
        self._check_collisions(a, raw)

    def atomic(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        self._update(self._access(m, ins, pointer, size, "updates"))

    def _update(self, a: GlobalAccess, *, replaces: bool = False) -> None:
        self._check_writer(a)
        self._check_readers(a)
        self._check_updates(a)
        self._check_turns(a)
        self.updates.note(a)
        self._meet(a, leaves=True, replaces=replaces)

    def _access(
        self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int, verb: str
    ) -> GlobalAccess:
        self.clocks.tick(ins)
        shape = (m.workgroups, m.lanes)
        full = np.broadcast_to(pointer, shape).reshape(-1)
        lane = np.arange(m.workgroups * m.lanes)
        if m.mask is not None:
            lane = np.flatnonzero(m.selected())
            full = full[lane]
        regions = regions_of(full)
        starts = self.starts[regions - 1]
        at: Array = (full - (regions << WINDOW_BITS) + starts) // self.granule
        if starts.min(initial=0) < 0:  # buffers that nothing writes have no entries in the tables
            at, lane = at[starts >= 0], lane[starts >= 0]
        return GlobalAccess(
            machine=m,
            instruction=ins,
            verb=verb,
            lane=lane[:, None] + self.clocks.first * m.lanes,
            granules=at[:, None] + np.arange(-(-size // self.granule)),
            narrow=_is_atomic(ins) and scopes.reach(ins) < scopes.DEVICE,
        )

    # -- checks ---------------------------------------------------------------------------------

    def _check_writer(self, a: GlobalAccess) -> None:
        code = self.writer[a.granules]
        foreign = (code != 0) & (code - 1 != a.lane)
        if not np.count_nonzero(foreign):
            return
        granules = a.granules[foreign]
        lane = np.broadcast_to(a.lane, foreign.shape)[foreign]
        other, time = code[foreign] - 1, self.written_at[granules]
        race = ~self.clocks.before(lane, other, time)
        if np.count_nonzero(race):
            granule, *pair = (int(v[race][0]) for v in (granules, lane, other, time))
            self._fault(a, pair, granule, f"{a.verb} bytes that ", "wrote", lane[race])

    def _check_readers(self, a: GlobalAccess) -> None:
        for record, how in ((self.reads, ""), (self.atomic_reads, "an atomic of ")):
            atomic = record is self.atomic_reads and _is_atomic(a.instruction)
            self._check_record(a, record, f"{a.verb} bytes that {how}", "read", atomic)

    def _check_updates(self, a: GlobalAccess) -> None:
        does = f"{a.verb} bytes that an atomic of "
        self._check_record(a, self.updates, does, "wrote", _is_atomic(a.instruction))

    def _check_record(
        self, a: GlobalAccess, record: LaneRecord, does: str, did: str, atomic: bool
    ) -> None:
        found = record.unordered(a, atomic=atomic)
        if found is not None:
            granule, *pair = (
                int(v[0]) for v in (found.granule, found.lane, found.other, found.time)
            )
            self._fault(a, pair, granule, does, did, found.lane)

    def _check_collisions(self, a: GlobalAccess, raw: Array) -> None:
        """Check for lanes of this store that write the same granule.

        Lanes of one wave may store the same value to the same place: hardware allows that.
        """
        winner = self.writer[a.granules] - 1
        lost = winner != a.lane
        if not np.count_nonzero(lost):
            return
        first = self.clocks.first * self.clocks.lanes
        m = a.machine
        values = np.broadcast_to(raw, (m.workgroups, m.lanes)).reshape(-1)
        mine, theirs = np.broadcast_to(a.lane, lost.shape)[lost], winner[lost]
        same_wave = mine // self.clocks.wave == theirs // self.clocks.wave
        race = ~(same_wave & (values[mine - first] == values[theirs - first]))
        if np.count_nonzero(race):
            at = int(np.argmax(race))
            pair = (int(mine[at]), int(theirs[at]), self.clocks.time)
            granule = int(a.granules[lost][at])
            self._fault(a, pair, granule, "writes bytes that ", "also writes", mine[race])

    def _check_turns(self, a: GlobalAccess) -> None:
        """Check that the scope of an atomic contains all workgroups whose lanes update one
        granule."""
        if not a.narrow:
            return
        order = np.argsort(a.granules, axis=None, kind="stable")
        granules = a.granules.reshape(-1)[order]
        lanes = np.broadcast_to(a.lane, a.granules.shape).reshape(-1)[order]
        group = lanes // self.clocks.lanes
        far = (granules[1:] == granules[:-1]) & (group[1:] != group[:-1])
        if np.count_nonzero(far):
            mine, other = lanes[1:][far], lanes[:-1][far]
            pair = (int(mine[0]), int(other[0]), self.clocks.time)
            granule = int(granules[1:][far][0])
            self._fault(a, pair, granule, "updates bytes that ", "also updates", mine)

    # -- notes ----------------------------------------------------------------------------------

    def _meet(self, a: GlobalAccess, *, leaves: bool, replaces: bool = False) -> None:
        clocks = self.clocks
        if not (clocks.left or np.count_nonzero(clocks.published)):
            return
        waves = a.lane[:, 0] // clocks.wave - clocks.first * clocks.waves
        places = np.unique(np.stack([waves, a.granules[:, 0]]), axis=1)
        for wave, place in places.T:
            clocks.meet(int(wave), int(place), leaves=leaves, replaces=replaces)

    def _address(self, granule: int) -> int:
        """Return the address of a granule in the first buffer that contains it."""
        at = granule * self.granule
        behind = np.where(self.starts >= 0, at - self.starts, -1)
        index = int(np.argmin(np.where(behind >= 0, behind, 1 << 62)))
        return window_start(index) + int(behind[index])

    def _fault(
        self, a: GlobalAccess, pair: Sequence[int], granule: int, does: str, did: str, lanes: Array
    ) -> None:
        """Report a race of ``lanes``; ``pair`` is one of them, the other lane, and the other's
        time."""
        lane, other, time = pair
        m, clocks = a.machine, self.clocks
        size = clocks.lanes
        group, other_group = lane // size, other // size
        who = f"lane {other % size}"
        why = NO_FENCE if lane // clocks.wave == other // clocks.wave else NO_BARRIER
        if group != other_group:
            x, y, z = (int(c) for c in self.coordinates[other_group])
            who += f" of workgroup ({x}, {y}, {z})"
            why = NO_ORDER
        where = np.zeros((m.workgroups, m.lanes), np.bool_)
        where.reshape(-1)[lanes[lanes // size == group] - clocks.first * size] = True
        address = self._address(granule)
        buffer = self.names[(address >> WINDOW_BITS) - 1]
        offset = address & (1 << WINDOW_BITS) - 1
        place = f"byte {offset} of {buffer}"
        did = f"{did} at {clocks.line_at(time)}"
        message = f"at {place}, lane {lane % size} {does}{who} {did}; {why}"
        m.faults.add(fault(m, "race", message, a.instruction, where, address).fault)


def _is_atomic(ins: LlvmInstruction) -> bool:
    """Return whether an access is atomic: a load or store that says so, or an atomic
    instruction."""
    return ins.is_atomic or ins.opcode in ("atomicrmw", "cmpxchg") or "atomic" in ins.callee


#: Alignment in bytes of each buffer's part of the tables.
_ALIGN = 64


def layout(
    buffers: list[GlobalBuffer], written: Collection[int], granule: int
) -> tuple[Array, int, int]:
    """Return (start of each buffer in the tables in bytes or -1, granule, bytes of the tables).

    Buffers that share memory share their part of the tables. The granule shrinks until every start
    is a multiple of it.
    """
    starts = np.full(len(buffers), -1, np.int64)
    bounds = [byte_bounds(b.data) if b.data.size else (0, 0) for b in buffers]
    size = 0
    groups: list[tuple[int, int, list[int]]] = []
    for index in sorted(range(len(buffers)), key=lambda i: bounds[i]):
        low, high = bounds[index]
        if groups and low < groups[-1][1] and high > low:
            start, end, members = groups.pop()
            groups.append((start, max(end, high), [*members, index]))
        else:
            groups.append((low, high, [index]))
    for low, high, members in groups:
        if not any(index in written for index in members):
            continue
        for index in members:
            starts[index] = size + bounds[index][0] - low
            while starts[index] % granule:
                granule //= 2
        size += -(-(high - low) // _ALIGN) * _ALIGN
    return starts, granule, size
