"""wgmma.mma_async operations in flight, by warpgroup (PTX ISA 9.7.15).

A warpgroup is four warps that execute together. The sum of a product is kept as a matrix until a
wait on its registers; other accesses to these registers before the wait are faults. A product must
not read a register that was written since the last wgmma.fence of its warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.ctas import WARP, narrow
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.waiting.released import Released
from kgen.emulate.ptx.memory.accesses import Region
from kgen.emulate.ptx.types import Array, any_of
from kgen_runtime.values import frozen

#: Warps of a warpgroup.
WARPS = 4
_IDLE = -1
#: Converts a matrix [C, W, 16, N] to the registers [C, W, 32] that hold it.
ToRegisters = Callable[[Array], list[Array]]


@dataclass(kw_only=True)
class _Sum:
    """Accumulator of a product: its matrix [C, W, 16, N] while it is pending.

    `group` [C, W] is the number of the wgmma-group that last changed it; -1 where it is not
    pending.
    """

    matrix: Array
    group: Array
    to_registers: ToRegisters


@dataclass(kw_only=True)
class _Read:
    """Shared memory that a product reads; `reading` [C, warpgroup] is true until the read has
    finished."""

    regions: Sequence[Sequence[Region]]
    group: Array
    reading: Array


@frozen
class _Fence:
    """Register arrays by slot at the last wgmma.fence of these warps [C, W]."""

    warps: Array
    held: dict[int, Array]


class Warpgroups:
    """wgmma operations of a chunk."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        #: Slots of all registers of the kernel's wgmma operations.
        self.slots: set[int] = set()
        self.names = list(machine.kernel.registers)
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        machine = self.machine
        self._sums: dict[tuple[int, ...], _Sum] = {}
        #: Group number [C, W] of the last product that reads registers as A, by their slots.
        self._inputs: dict[tuple[int, ...], Array] = {}
        self._reads: list[_Read] = []
        self._fences: list[_Fence] = []
        #: Vector clocks of the warps that found reads finished, by warpgroup.
        self._told: dict[int, Released] = {}
        #: Number of wgmma-groups that each warp has closed.
        self._closed = np.zeros((machine.ctas, machine.warps), np.int64)

    # ------------------------------------------------------------------ products

    def warps(self, mask: Mask) -> Array:
        """Return the warps [C, W] with active lanes."""
        some = any_of(self.machine.active(mask), 2)
        return np.broadcast_to(some, (self.machine.ctas, self.machine.warps))

    def pending_matrix(self, slots: tuple[int, ...], warps: Array) -> tuple[Array, Array] | None:
        """Return an accumulator's matrix and the warps [C, W] where it is pending; None if it is
        not pending."""
        found = self._sums.get(slots)
        if found is None:
            return None
        pending = warps & (found.group != _IDLE)
        return (found.matrix, pending) if np.count_nonzero(pending) else None

    def begin(
        self,
        slots: tuple[int, ...],
        inputs: tuple[int, ...],
        warps: Array,
        matrix: Array,
        to_registers: ToRegisters,
        regions: Sequence[Sequence[Region]],
    ) -> None:
        """Start a product of these warps; its result in an accumulator is this matrix [C, W, 16,
        N]."""
        found = self._sums.get(slots)
        if found is None:
            found = _Sum(
                matrix=matrix, group=np.full(warps.shape, _IDLE), to_registers=to_registers
            )
            self._sums[slots] = found
        elif warps.all():
            found.matrix = matrix
        else:
            found.matrix = np.where(warps[..., None, None], matrix, found.matrix)
        found.group = np.where(warps, self._closed, found.group)
        if inputs:
            before = self._inputs.get(inputs, np.full(warps.shape, _IDLE))
            self._inputs[inputs] = np.where(warps, self._closed, before)
        firsts = slice(0, len(regions) * WARPS, WARPS)
        group, reading = self._closed[:, firsts].copy(), warps[:, firsts]
        self._reads.append(_Read(regions=regions, group=group, reading=reading))

    def commit(self, mask: Mask) -> None:
        self._closed = self._closed + self.warps(mask)

    def wait(self, pending: int, mask: Mask) -> None:
        """Write back the registers of all groups of these warps except the latest `pending`
        ones."""
        warps = self.warps(mask)
        limit = np.where(warps, self._closed - pending, 0)
        for slots, found in self._sums.items():
            due = (found.group != _IDLE) & (found.group < limit)
            if np.count_nonzero(due):
                self._write_back(slots, found, due)
        for slots, group in self._inputs.items():
            self._inputs[slots] = np.where((group != _IDLE) & (group < limit), _IDLE, group)
        if self.machine.checks:
            self._finish_reads(warps, limit)

    def _write_back(self, slots: tuple[int, ...], found: _Sum, due: Array) -> None:
        registers = self.machine.registers
        whole, lanes = bool(due.all()), due[..., None]
        for slot, value in zip(slots, found.to_registers(found.matrix), strict=True):
            new = value.view(registers[slot].dtype)
            registers[slot] = new if whole else np.where(lanes, new, registers[slot])
            for fence in self._fences:
                if np.count_nonzero(fence.warps & due):
                    same = bool((fence.warps <= due).all())
                    old = fence.held[slot]
                    fence.held[slot] = registers[slot] if same else np.where(lanes, new, old)
        found.group = np.where(due, _IDLE, found.group)

    def _finish_reads(self, warps: Array, limit: Array) -> None:
        """End the reads of shared memory by the products of finished groups."""
        by_group = self._by_group(warps)
        first = by_group.argmax(axis=2) + np.arange(by_group.shape[1]) * WARPS
        somebody = by_group.any(axis=2)
        least = self._by_group(np.where(warps, limit, 0)).max(axis=2)
        finished = np.zeros_like(somebody)
        for read in self._reads:
            due = read.reading & somebody & (read.group < least)
            for number in map(int, np.flatnonzero(due.any(axis=0))):
                self._finish_read(read.regions[number], due[:, number], first[:, number])
            read.reading = read.reading & ~due
            finished |= due
        self._reads = [read for read in self._reads if np.count_nonzero(read.reading)]
        for number in map(int, np.flatnonzero(somebody.any(axis=0))):
            mine = np.zeros_like(warps)
            mine[:, number * WARPS : (number + 1) * WARPS] = by_group[:, number]
            self._tell(number, finished[:, number], mine)

    def _tell(self, number: int, finished: Array, warps: Array) -> None:
        """Order the reads that one warp of a warpgroup found finished before later actions of its
        other warps, once these have waited too."""
        machine = self.machine
        told = self._told.setdefault(number, Released(machine))
        lanes = narrow(warps, machine.cluster)[..., None] & machine.exists
        if np.count_nonzero(finished):
            told.add(machine.clocks.release(lanes), finished)
        machine.clocks.acquire(lanes, told.known)

    def _finish_read(self, regions: Sequence[Region], ctas: Array, warp: Array) -> None:
        for region in regions:
            part = replace(region, issuer=warp * WARP, ctas=ctas).narrowed(self.machine.cluster)
            self.machine.shared.finish_read(part, part.issuer, by_warp=True)

    @staticmethod
    def _by_group(warps: Array) -> Array:
        """Reshape [C, W] to [C, warpgroup, 4]; warps of an incomplete warpgroup are dropped."""
        whole = warps.shape[1] // WARPS * WARPS
        return warps[:, :whole].reshape(len(warps), -1, WARPS)

    # ------------------------------------------------------------------ registers

    def fence(self, mask: Mask) -> None:
        """wgmma.fence: registers written by these warps may be read by products."""
        warps = self.warps(mask)
        registers = self.machine.registers
        kept = [fence for fence in self._fences if np.count_nonzero(fence.warps & ~warps)]
        held = {slot: registers[slot] for slot in self.slots}
        self._fences = [_Fence(warps=warps, held=held), *kept]

    def check_fenced(self, slots: Sequence[int], warps: Array) -> None:
        """Raise Violation if a register was written after the last fence of these warps."""
        left = warps
        for fence in self._fences:
            here = left & fence.warps
            if np.count_nonzero(here):
                for slot in slots:
                    self._check_unchanged(slot, fence.held[slot], here)
                left = left & ~fence.warps
        if np.count_nonzero(left):
            message = "no wgmma.fence precedes the first wgmma.mma_async"
            raise Violation("missing-wgmma-fence", message, left[..., None])

    def _check_unchanged(self, slot: int, before: Array, warps: Array) -> None:
        now = self.machine.registers[slot]
        if now is before:
            return
        bits = f"u{now.dtype.itemsize}"
        changed = (now.view(bits) != before.view(bits)) & warps[..., None]
        if np.count_nonzero(changed):
            name = self.names[slot]
            message = f"register {name} was written after the last wgmma.fence"
            raise Violation("missing-wgmma-fence", message, changed)

    @property
    def pending(self) -> bool:
        """Whether products may be in flight."""
        return bool(self._sums)

    def refuse_pending(
        self, slots: Sequence[int], warps: Array, *, but: tuple[int, ...] = (), inputs: bool = True
    ) -> None:
        """Raise Violation if an unfinished product of these warps uses one of the registers.

        The accumulator `but` is exempt. `inputs`: whether registers of A count as well.
        """
        wanted = set(slots)
        tables = [(key, found.group) for key, found in self._sums.items() if key != but]
        if inputs:
            tables += self._inputs.items()
        for key, group in tables:
            pending = warps & (group != _IDLE)
            if np.count_nonzero(pending) and not wanted.isdisjoint(key):
                slot = min(wanted.intersection(key))
                message = (
                    f"register {self.names[slot]} belongs to a wgmma that no "
                    "wgmma.wait_group has waited for"
                )
                raise Violation("pending-wgmma", message, pending[..., None])
