"""Shadow memory of a global buffer that a kernel writes: the writer and the readers of each unit.

Two accesses to one unit by different threads, at least one of them a write, are a race unless they
are ordered (by barriers inside a cluster, or by release and acquire patterns) or both are strong
(PTX ISA 8.9.1). Neither the numbers of CTAs nor the emulator's chunks order them: the tables cover
the whole launch.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.order.accessors import AccessLog, Accessors
from kgen.emulate.ptx.chunk import Chunk, Violation
from kgen.emulate.ptx.memory.stored import last_of
from kgen.emulate.ptx.order.tags import (
    THREAD,
    TIME,
    UNENDED,
    Strength,
    labels_of,
    owners_of,
    plain,
    strength_of,
    tag,
    warps_of,
)
from kgen.emulate.ptx.races.global_access import BufferAccess, Transfer
from kgen.emulate.ptx.races.global_units import (
    Units,
    both_strong,
    happened_before,
    happened_before_in_cluster,
    unfenced,
    units_of,
)
from kgen.emulate.ptx.types import Array

#: Phrases of messages.
_READ, _WRITE = "read of bytes that", "write over bytes that"
_UNORDERED = ", and nothing orders the two"


class GlobalShadow:
    """Shadow of one buffer: `writer` [unit] as tags whose label is the cluster, 0 for none.

    A unit is the kernel's smallest global access. `lines` [unit] are the writers' source lines.
    """

    def __init__(self, base: int, nbytes: int, unit: int) -> None:
        self.base = base
        self.unit, self.count = unit, -(-nbytes // unit)
        self.writer = np.zeros(self.count, np.int64)
        self.lines = np.zeros(self.count, np.int32)
        #: Readers since the last write, and strong accesses. Strong accesses do not race with each
        #: other, so that several may lie between two weak ones.
        self.reads, self.strong_reads, self.strong_writes = (
            Accessors(self.count, owners_of, warps_of) for _ in range(3)
        )
        #: Last weak writers of units that were written strongly since.
        self.overwritten = np.zeros(self.count, np.int64)
        self.overwritten_lines = np.zeros(self.count, np.int32)
        #: Writers of a value that another thread wrote as well, without order.
        self.twins = AccessLog(owners_of, warps_of)

    def read(
        self, machine: Chunk, access: BufferAccess | Transfer, *, remember: bool = True
    ) -> None:
        """Check and record a read."""
        at = units_of(machine, access, self.unit)
        if access.constant:
            self._refuse_written(machine, at)
        self._check_writers(machine, at, access, f"{_READ} another thread wrote")
        if not access.strength:
            self._check_accessors(machine, at, access, self.strong_writes, _READ, "wrote")
        if remember:
            accessors = self.strong_reads if access.strength else self.reads
            self._note(machine, at, accessors)

    def write(self, machine: Chunk, access: BufferAccess | Transfer) -> None:
        """Check and record a write."""
        self._write(machine, access, units_of(machine, access, self.unit))

    def begin_read(self, machine: Chunk, transfer: Transfer) -> tuple[Units, Array]:
        """Check a read that has not finished; return its units and their current writers."""
        at = units_of(machine, transfer, self.unit)
        self._check_writers(machine, at, transfer, f"{_READ} another thread wrote")
        self._check_accessors(machine, at, transfer, self.strong_writes, _READ, "wrote")
        return at, self.writer[at.unit]

    def finish_read(self, machine: Chunk, at: Units, writers: Array, actor: int) -> None:
        """End a read by an asynchronous actor at its current time."""
        others = self.writer[at.unit]
        late = others != writers
        if np.count_nonzero(late):
            what = "asynchronous read of bytes that another thread has written since the read began"
            self._refuse(machine, at.some(late), others[late], what, self.lines[at.unit[late]])
        clocks = machine.clocks
        row, _ = at.threads(machine)
        mark = tag(
            clocks.now(row, actor),
            machine.order.first_cluster + row,
            np.asarray(actor << 5),
            asynchronous=True,
        )
        done = Units(place=at.place, unit=at.unit, mark=np.broadcast_to(mark, at.unit.shape))
        # The copy knows what its thread knew at its start; that is not used here.
        self.reads.note(
            done.unit,
            done.mark,
            lambda which, last: np.zeros(which.shape, bool),
            machine.line(machine.pc),
        )

    def begin_write(self, machine: Chunk, transfer: Transfer) -> Units:
        """Check a write that has not finished: no thread may access the units until it has."""
        at = units_of(machine, transfer, self.unit, UNENDED)
        self._write(machine, transfer, at)
        return at

    def finish_write(self, machine: Chunk, at: Units, ctas: Array) -> None:
        """End a write in these CTAs [C]. A thread may then access the bytes if it knows the current
        actions of the writing threads."""
        at = at.some(ctas[at.place // (machine.warps * 32)])
        row, thread = at.threads(machine)
        now = machine.clocks.now(row, thread >> 5)
        self.writer[at.unit] = (now << TIME) | (at.mark & ((1 << TIME) - 1))

    def _write(self, machine: Chunk, access: BufferAccess | Transfer, at: Units) -> None:
        what = f"{_WRITE} another thread wrote"
        self._check_writers(machine, at, access, what)
        index, tags, lines = self.twins.about(at.unit)
        self._check(machine, at.some(index), tags, access, what, lines, excuse=True)
        self._check_accessors(machine, at, access, self.reads, _WRITE, "reads")
        self._check_accessors(machine, at, access, self.strong_reads, _WRITE, "reads")
        if access.strength:
            self._note(machine, at, self.strong_writes)
            old = self.writer[at.unit]
            weak = strength_of(old) == Strength.WEAK
            self.overwritten[at.unit[weak]] = old[weak]
            self.overwritten_lines[at.unit[weak]] = self.lines[at.unit[weak]]
        else:
            self._check_accessors(machine, at, access, self.strong_writes, _WRITE, "wrote")
        self.writer[at.unit] = at.mark
        self.lines[at.unit] = machine.line(machine.pc)
        there = self.writer[at.unit]
        apart = warps_of(owners_of(there) ^ owners_of(at.mark)) != 0
        if np.count_nonzero(apart):
            apart &= ~both_strong(machine, at, there, access.strength)
        if (
            np.count_nonzero(apart)
            and isinstance(access, BufferAccess)
            and access.stored is not None
        ):
            which, last = np.flatnonzero(apart), last_of(at.unit)[apart]
            part = access.unit_of(machine, at.place, at.unit, self.unit)
            place, other = at.place[which], at.place[last]
            which = which[access.stored().alike(place, part[which], other, part[last])]
            apart[which] = False
            self._warn(machine, at.some(which), there[which], self.lines[at.unit[which]])
        if np.count_nonzero(apart):
            what = f"{_WRITE} another thread writes{_UNORDERED}"
            self._refuse(machine, at.some(apart), there[apart], what, self.lines[at.unit[apart]])

    def _note(self, machine: Chunk, at: Units, accessors: Accessors) -> None:
        accessors.note(
            at.unit,
            at.mark,
            lambda which, last: happened_before_in_cluster(machine, at.some(which), last),
            machine.line(machine.pc),
        )

    def _check_accessors(
        self,
        machine: Chunk,
        at: Units,
        access: BufferAccess | Transfer,
        accessors: Accessors,
        what: str,
        did: str,
    ) -> None:
        """Check accesses against recorded ones; a strong access only against the last strong
        one."""
        last = accessors.last[at.unit]
        if not np.count_nonzero(last):
            return
        what = f"{what} another thread {did}"
        self._check(machine, at, last, access, what, accessors.lines[at.unit])
        if not access.strength or accessors is self.reads:
            index, tags, lines = accessors.before_last(at.unit)
            self._check(machine, at.some(index), tags, access, what, lines)

    def _refuse_written(self, machine: Chunk, at: Units) -> None:
        """Refuse a read through the read-only path of bytes that the kernel wrote: it may return
        old data."""
        writers = self.writer[at.unit]
        bad = writers > 0
        if np.count_nonzero(bad):
            what = "read through the read-only path of bytes that the kernel wrote"
            self._refuse(machine, at.some(bad), writers[bad], what, self.lines[at.unit[bad]])

    def _check_writers(
        self, machine: Chunk, at: Units, access: BufferAccess | Transfer, what: str
    ) -> None:
        writers, lines = self.writer[at.unit], self.lines[at.unit]
        self._check(machine, at, writers, access, what, lines, excuse=True)
        if isinstance(access, Transfer):
            written = writers > 0
            self._check_proxy(machine, at.some(written), writers[written], what, lines[written])
        if access.strength:
            before, lines = self.overwritten[at.unit], self.overwritten_lines[at.unit]
            self._check(machine, at, before, access, what, lines)

    def _unordered(
        self, machine: Chunk, at: Units, others: Array, access: BufferAccess | Transfer
    ) -> Array:
        """Return whether accesses are not ordered after accesses of other threads, given as
        tags."""
        late: Array = (others > 0) & (owners_of(others) != owners_of(at.mark))
        late |= others >> TIME == UNENDED
        if isinstance(access, Transfer):
            late = others > 0
        which = np.flatnonzero(late)
        if which.size:
            strong = both_strong(machine, at.some(which), others[which], access.strength)
            late[which[strong]] = False
            which = which[~strong]
            late[which] = ~happened_before(machine, at.some(which), others[which])
        return late

    def _check(
        self,
        machine: Chunk,
        at: Units,
        others: Array,
        access: BufferAccess | Transfer,
        what: str,
        lines: Array,
        *,
        excuse: bool = False,
    ) -> None:
        """Refuse accesses that are not ordered after accesses of other threads, given as tags with
        source lines.

        `excuse`: the others are writes, and a store that leaves their bytes unchanged is only a
        warning.
        """
        late = self._unordered(machine, at, others, access)
        if (
            excuse
            and isinstance(access, BufferAccess)
            and access.stored is not None
            and np.count_nonzero(late)
        ):
            which = np.flatnonzero(late & plain(others))
            part = access.unit_of(machine, at.place, at.unit, self.unit)[which]
            which = which[access.stored().unchanged(at.place[which], part)]
            late[which] = False
            self._warn(machine, at.some(which), others[which], lines[which])
        if np.count_nonzero(late):
            self._refuse(machine, at.some(late), others[late], f"{what}{_UNORDERED}", lines[late])

    def _warn(self, machine: Chunk, at: Units, others: Array, lines: Array) -> None:
        """Warn that several threads wrote the same value, and record all of them as writers."""
        if not len(others):
            return
        self.twins.append(at.unit, others, lines)
        self.twins.append(at.unit, at.mark, machine.line(machine.pc))
        what = f"write of the value that another thread wrote{_UNORDERED}"
        machine.warn(self._violation(machine, at, others, what, lines, kind="same-value-write"))

    def _check_proxy(
        self, machine: Chunk, at: Units, others: Array, what: str, lines: Array
    ) -> None:
        """Refuse accesses of the async proxy to generic writes of its cluster without a proxy
        fence."""
        bad = unfenced(machine, at, others)
        if np.count_nonzero(bad):
            self._refuse(
                machine, at.some(bad), others[bad],
                f"asynchronous {what}, with no fence.proxy.async between", lines[bad],
                kind="missing-proxy-fence",
            )  # fmt: skip

    def _refuse(
        self, machine: Chunk, at: Units, others: Array, what: str, lines: Array, kind: str = "race"
    ) -> None:
        """Report a fault of these accesses to the machine."""
        machine.refuse(self._violation(machine, at, others, what, lines, kind))

    def _violation(
        self, machine: Chunk, at: Units, others: Array, what: str, lines: Array, kind: str = "race"
    ) -> Violation:
        """Return a violation of these accesses; it names the other access of the first one."""
        lanes = np.zeros(machine.ctas * machine.warps * 32, bool)
        lanes[at.place] = True
        # First lane of the fault, and its first unit: the message describes the other access to it.
        first = int(np.lexsort((np.arange(len(at.place)), at.place))[0])
        cluster, thread = int(labels_of(others[first : first + 1])[0]), int(others[first]) & THREAD
        who = machine.order.name(cluster, thread)
        message = f"{what} ({who} in line {int(lines[first])})"
        address = np.zeros(lanes.shape, np.int64)
        address[at.place[::-1]] = self.base + at.unit[::-1] * self.unit
        return Violation(
            kind,
            message,
            lanes.reshape(machine.shape),
            address.reshape(machine.shape),
            space="global",
        )
