"""What the checks know of every granule of global memory that the launch may write.

Two accesses of different lanes to one granule, one of them a write and not both atomic with a
scope that holds both lanes, must be ordered as :mod:`kgen.emulate.llvm.device_clocks` says. The
tables live as long as the launch; memory that nothing writes has none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.llvm import scopes
from kgen.emulate.llvm.clocks import NO_BARRIER, NO_FENCE
from kgen.emulate.llvm.device_clocks import DeviceClocks
from kgen.emulate.llvm.memory import REGION_SHIFT, Buffer, regions_of
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.shadow_layout import layout
from kgen.emulate.llvm.types import Array

if TYPE_CHECKING:
    from kgen.emulate.llvm.machine import Machine

NO_ORDER = "no release, atomic and acquire that reach the device order them"
#: In place of a lane that read.
_SEVERAL = -1


@dataclass(frozen=True, kw_only=True)
class _Access:
    lane: Array
    """[active lane, 1], numbered through the launch."""
    granules: Array
    """[active lane, granule]"""


class GlobalShadow:
    """Tables over the granules of all buffers that may be written.

    A writer is stored as ``2 * lane + 1``, plus 1 if an atomic that reaches no further than its
    workgroup wrote; negated if any atomic did. 0 is nobody.
    """

    def __init__(
        self,
        buffers: list[Buffer],
        written: Collection[int],
        *,
        granule: int,
        clocks: DeviceClocks,
        coordinates: Array,
    ) -> None:
        """``written`` are the places in ``buffers`` of those that may be; ``coordinates`` of all
        workgroups, in the order in which they start: [workgroup, 3]."""
        self.clocks = clocks
        self.coordinates = coordinates
        self.names = [buffer.name for buffer in buffers]
        self.starts, self.granule, size = layout(buffers, written, granule)
        count = -(-size // self.granule) + 1
        # Zeros take memory only where they are touched.
        self.writer = np.zeros(count, np.int32)
        self.written_at = np.zeros(count, np.int32)
        #: The lane + 1 that read last, or _SEVERAL, and when; all of several are in the log.
        self.reader = np.zeros(count, np.int32)
        self.read_at = np.zeros(count, np.int32)
        self.log: list[Array] = []

    def tracks(self, address: int) -> bool:
        """Whether the buffer that holds an address may be written."""
        return bool(self.starts[(address >> REGION_SHIFT) - 1] >= 0)

    # -- accesses -------------------------------------------------------------------------------

    def read(self, m: Machine, ins: Instruction, pointer: Array, size: int) -> None:
        a = self._access(m, ins, pointer, size)
        self._check_writer(m, ins, a, "reads")
        if ins.is_atomic:
            self._meet(a, leaves=False)
        else:
            self._note(a)

    def write(self, m: Machine, ins: Instruction, pointer: Array, raw: Array) -> None:
        a = self._access(m, ins, pointer, raw.dtype.itemsize)
        self._check_writer(m, ins, a, "writes")
        self._check_readers(m, ins, a)
        self._wrote(a, ins)
        if ins.is_atomic:
            self._meet(a, leaves=True, replaces=True)
        else:
            self._check_collisions(m, ins, a, pointer, raw)

    def atomic(self, m: Machine, ins: Instruction, pointer: Array, size: int) -> None:
        a = self._access(m, ins, pointer, size)
        self._check_writer(m, ins, a, "updates")
        self._check_readers(m, ins, a)
        self._wrote(a, ins)
        self._check_turns(m, ins, a)
        self._meet(a, leaves=True)

    def _access(self, m: Machine, ins: Instruction, pointer: Array, size: int) -> _Access:
        self.clocks.tick(ins)
        shape = (m.workgroups, m.lanes)
        full = np.broadcast_to(pointer, shape)
        lane = np.arange(m.workgroups * m.lanes).reshape(shape)
        if m.mask is not None:
            selected = m.selected()
            full, lane = full[selected], lane[selected]
        full = full.reshape(-1)
        regions = regions_of(full)
        starts = self.starts[regions - 1]
        at = (full - (regions << REGION_SHIFT) + starts) // self.granule
        count = -(-size // self.granule)
        granules = at[:, None] + np.arange(count)
        if starts.min() < 0:  # the last granule is the one that stands for all untracked memory
            granules[starts < 0] = len(self.writer) - 1
        first = self.clocks.first * m.lanes
        return _Access(lane=lane.reshape(-1, 1) + first, granules=granules)

    def _wrote(self, a: _Access, ins: Instruction) -> None:
        code = 2 * a.lane + 1
        if _is_atomic(ins):
            code = -(code + (scopes.reach(ins) < scopes.DEVICE))
        self.writer[a.granules] = code
        self.written_at[a.granules] = self.clocks.time
        self.writer[-1] = 0

    # -- checks ---------------------------------------------------------------------------------

    def _check_writer(self, m: Machine, ins: Instruction, a: _Access, verb: str) -> None:
        code = self.writer[a.granules]
        other = (np.abs(code) - 1) >> 1
        foreign = (code != 0) & (other != a.lane)
        if _is_atomic(ins):
            narrow = (np.abs(code) & 1 == 0) | (scopes.reach(ins) < scopes.DEVICE)
            near = other // self.clocks.lanes == a.lane // self.clocks.lanes
            foreign &= (code > 0) | (narrow & ~near)
        if not foreign.any():
            return
        lane = np.broadcast_to(a.lane, foreign.shape)[foreign]
        time = self.written_at[a.granules[foreign]]
        race = ~self.clocks.before(lane, other[foreign], time)
        if race.any():
            at = int(np.argmax(race))
            how = "an atomic of " if code[foreign][at] < 0 else ""
            pair = (int(lane[at]), int(other[foreign][at]), int(time[at]))
            place = self._address(a.granules[foreign][at])
            self._fault(m, ins, pair, place, f"{verb} what {how}", "wrote", lane[race])

    def _check_readers(self, m: Machine, ins: Instruction, a: _Access) -> None:
        code = self.reader[a.granules]
        if not code.any():
            return
        foreign = (code > 0) & (code - 1 != a.lane)
        lane = np.broadcast_to(a.lane, foreign.shape)
        places = a.granules[foreign]
        reads = np.stack([places, lane[foreign], code[foreign] - 1, self.read_at[places]])
        several = code == _SEVERAL
        if several.any():
            logged = self._logged(a.granules[several], lane[several])
            reads = np.concatenate([reads, logged], axis=1)
        race = ~self.clocks.before(*reads[1:])
        if race.any():
            granule, *pair = (int(value) for value in reads[:, int(np.argmax(race))])
            place = self._address(granule)
            self._fault(m, ins, pair, place, "writes what ", "read", reads[1][race])

    def _logged(self, granules: Array, lanes: Array) -> Array:
        """[granule, writer, reader, time] of every read in the log of what a lane now writes."""
        whole = np.concatenate(self.log, axis=1)
        self.log = [whole]
        order = np.argsort(granules)
        granules, lanes = granules[order], lanes[order]
        hit = np.minimum(np.searchsorted(granules, whole[0]), len(granules) - 1)
        found = granules[hit] == whole[0]
        reads = np.stack([whole[0], lanes[hit], whole[1], whole[2]])[:, found]
        others: Array = reads[:, reads[1] != reads[2]]
        return others

    def _check_collisions(
        self, m: Machine, ins: Instruction, a: _Access, pointer: Array, raw: Array
    ) -> None:
        """Lanes of one wave may store the same value to the same place, as hardware does."""
        winner = (self.writer[a.granules] - 1) >> 1
        lost = (winner != a.lane) & (a.granules != len(self.writer) - 1)
        if not lost.any():
            return
        first = self.clocks.first * self.clocks.lanes
        values = np.broadcast_to(raw, (m.workgroups, m.lanes)).reshape(-1)
        mine, theirs = np.broadcast_to(a.lane, lost.shape)[lost], winner[lost]
        same_wave = mine // self.clocks.wave == theirs // self.clocks.wave
        race = ~(same_wave & (values[mine - first] == values[theirs - first]))
        if race.any():
            at = int(np.argmax(race))
            pair = (int(mine[at]), int(theirs[at]), self.clocks.time)
            place = self._address(a.granules[lost][at])
            self._fault(m, ins, pair, place, "writes what ", "writes as well", mine[race])

    def _check_turns(self, m: Machine, ins: Instruction, a: _Access) -> None:
        """Lanes of several workgroups take turns only if the scope of the atomic holds them."""
        if scopes.reach(ins) == scopes.DEVICE:
            return
        winner = (np.abs(self.writer[a.granules]) - 1) >> 1
        far = winner // self.clocks.lanes != a.lane // self.clocks.lanes
        far &= a.granules != len(self.writer) - 1
        if far.any():
            mine = np.broadcast_to(a.lane, far.shape)[far]
            pair = (int(mine[0]), int(winner[far][0]), self.clocks.time)
            place = self._address(a.granules[far][0])
            self._fault(m, ins, pair, place, "updates what ", "updates as well", mine)

    # -- notes ----------------------------------------------------------------------------------

    def _note(self, a: _Access) -> None:
        """Remember who reads. A read that happened before this one need not be remembered."""
        before, lane = self.reader[a.granules], np.broadcast_to(a.lane, a.granules.shape)
        other = (before > 0) & (before - 1 != a.lane)
        alone = before != _SEVERAL
        if other.any():
            at = self.read_at[a.granules[other]]
            alone[other] = self.clocks.before(lane[other], before[other] - 1, at)
            left = ~alone & other
            self._append(a.granules[left], before[left] - 1, self.read_at[a.granules[left]])
        new = np.where(alone, lane + 1, _SEVERAL)
        self.reader[a.granules] = new
        lost = self.reader[a.granules] != new  # another lane of this instruction reads it too
        shared = lost | (new == _SEVERAL)
        if shared.any():
            both = np.isin(a.granules, a.granules[shared])
            now = np.full(int(both.sum()), self.clocks.time)
            self._append(a.granules[both], lane[both], now)
            self.reader[a.granules[both]] = _SEVERAL
        self.read_at[a.granules] = self.clocks.time
        self.reader[-1] = 0

    def _append(self, granules: Array, lanes: Array, times: Array) -> None:
        """One reader of a wave stands for the others, if it is one instruction."""
        key = np.stack([granules, lanes // self.clocks.wave])
        _, index = np.unique(key, axis=1, return_index=True)
        self.log.append(np.stack([granules, lanes, times])[:, index])

    def _meet(self, a: _Access, *, leaves: bool, replaces: bool = False) -> None:
        clocks = self.clocks
        if not (clocks.left or clocks.published.any()):
            return
        waves = a.lane[:, 0] // clocks.wave - clocks.first * clocks.waves
        places = np.unique(np.stack([waves, a.granules[:, 0]]), axis=1)
        for wave, place in places.T:
            clocks.meet(int(wave), int(place), leaves=leaves, replaces=replaces)

    def _address(self, granule: int) -> int:
        """Of a granule, in the first buffer that has it."""
        at = int(granule) * self.granule
        behind = np.where(self.starts >= 0, at - self.starts, -1)
        index = int(np.argmin(np.where(behind >= 0, behind, 1 << 62)))
        return ((index + 1) << REGION_SHIFT) + int(behind[index])

    def _fault(
        self,
        m: Machine,
        ins: Instruction,
        pair: Sequence[int],
        address: int,
        does: str,
        did: str,
        lanes: Array,
    ) -> None:
        """The fault of the lanes; ``pair`` is one of them, the other lane, and its time."""
        lane, other, time = pair
        clocks = self.clocks
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
        buffer, offset = (
            self.names[(address >> REGION_SHIFT) - 1],
            address & (1 << REGION_SHIFT) - 1,
        )
        place = f"byte {offset} of {buffer}"
        did = f"{did} at {clocks.line_at(time)}"
        message = f"at {place}, lane {lane % size} {does}{who} {did}; {why}"
        raise m.fault("race", message, ins, where, address)


def _is_atomic(ins: Instruction) -> bool:
    """Loads and stores are if they say so; the rest always."""
    return ins.is_atomic or ins.opcode in ("atomicrmw", "cmpxchg") or "atomic" in ins.callee
