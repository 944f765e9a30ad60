"""Machine state of a chunk of CTAs that run in lockstep.

A value is an array over [CTA, warp, lane], kept at its broadcast shape: (1, 1, 1) if it is equal
everywhere, (1, W, 32) if it depends on the thread only, (C, 1, 1) if it depends on the CTA only.
Arithmetic on uniform addresses and counters is therefore cheap. Arrays in registers are never
modified in place, so that registers may share them. Threads are padded to whole warps; padding
lanes are never active.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache

import numpy as np

from kgen.emulate.faults import FaultLog
from kgen.emulate.printed import PrintLog
from kgen.emulate.ptx.asynchronous.copies import CopyQueue
from kgen.emulate.ptx.chunk import Mask, PtxLaunch, StallRank, Violation, uniform
from kgen.emulate.ptx.counting.traffic import CtaTraffic
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.faults import fault_of
from kgen.emulate.ptx.frontend.syntax import PtxKernel
from kgen.emulate.ptx.memory.shared import SharedMemory
from kgen.emulate.ptx.memory.spaces import GlobalMemory, LocalMemory, ParameterMemory
from kgen.emulate.ptx.order.clocks import Clocks
from kgen.emulate.ptx.order.memory_order import MemoryOrder
from kgen.emulate.ptx.types import Array, PtxType, any_of
from kgen.emulate.report import Index3

#: Coordinates of a machine that runs nothing.
NO_CTAS: Array = np.zeros((0, 3), np.int64)


class Machine:
    """Registers and memories of one chunk; :meth:`reset` starts the next chunk, :meth:`begin` the
    next launch of the kernel."""

    def __init__(
        self, kernel: PtxKernel, launch: PtxLaunch, memory: GlobalMemory, granule: int
    ) -> None:
        self.kernel = kernel
        self.warps, self.checks, self.granule = launch.warps, launch.checks, granule
        #: CTAs per cluster. The CTAs of a cluster are adjacent, in the order of their ranks.
        self.cluster = launch.cluster_size
        #: Whether an instruction of the kernel completes asynchronously on an mbarrier.
        self.asynchronous = False
        #: Index of the instruction that is being executed.
        self.pc = 0
        #: Number of events for which lanes at a Wait may wait.
        self.signals = 0
        #: Whether all strong reads since the last loop iteration returned the same values as
        #: before; None if there were none.
        self.in_vain: bool | None = None
        self._looks: dict[int, tuple[Array, Array]] = {}
        #: Called when no thread can continue, until one of them finishes asynchronous work.
        self.on_stall: list[Callable[[], bool]] = []
        self._stall_ranks: list[StallRank] = []
        #: Called when a chunk starts, and when all its threads have exited.
        self.on_reset: list[Callable[[], None]] = []
        self.on_end: list[Callable[[], None]] = []
        self.traffic = CtaTraffic(self) if launch.profile else None
        #: Size of the kernel's smallest global access, in bytes.
        self.global_unit = granule
        self.parameters = ParameterMemory(launch.parameters)
        self.registers: list[Array] = []
        self.slots = {name: slot for slot, name in enumerate(kernel.registers)}
        self.special: dict[str, Array] = {}
        self.begin(launch, memory)
        self.reset(NO_CTAS)

    def begin(self, launch: PtxLaunch, memory: GlobalMemory) -> None:
        """Start another launch of the kernel on other buffers.

        Everything else that decoded instructions depend on must be the same.
        """
        self.launch, self.memory = launch, memory
        #: Value of the timer registers, see :mod:`timers`.
        self.time = 0
        #: Warnings, with the index of the instruction.
        self.warnings: list[tuple[int, Violation]] = []
        self._warned: set[int] = set()
        self.faults = FaultLog(launch.most_faults)
        self.printed = PrintLog()
        self.order = MemoryOrder(self)
        memory.order = self.order if launch.checks else None

    def reset(self, ctas: Array) -> None:
        """Start these CTAs, [CTA, 3]. Registers and shared memory are filled with ones: NaN in any
        float."""
        self.coordinates: list[Index3] = [(x, y, z) for x, y, z in ctas.tolist()]
        self.ctas = len(self.coordinates)
        self.registers[:] = [_garbage(type_) for type_ in self.kernel.registers.values()]
        thread = np.arange(self.warps * WARP, dtype=np.uint32).reshape(1, self.warps, WARP)
        self.exists = thread < self.launch.threads
        #: Lanes [CTA, warp, lane] that have exited, or are padding.
        self.exited: Array = np.broadcast_to(~self.exists, self.shape)
        self.clocks = Clocks(
            self.ctas,
            self.exists,
            self.order.graph,
            cluster=self.cluster,
            asynchronous=self.asynchronous,
        )
        #: Whether the threads of the cluster have met at the cluster barrier, [C].
        self.met = np.zeros(self.ctas, bool)
        self.shared = SharedMemory(self)
        self.copies = CopyQueue(self)
        self.order.start_chunk()
        self.local = LocalMemory(self, self.kernel.spaces.get("local", 0))
        self.special.clear()
        self.special.update(self._special_registers(thread))
        self.special.update(self._cluster_registers())
        self.in_vain = None
        self._looks.clear()
        for start in self.on_reset:
            start()

    def _special_registers(self, thread: Array) -> dict[str, Array]:
        """Return the special registers of threads and the grid (PTX ISA 10)."""
        x, y, _ = self.launch.block
        lane = thread % np.uint32(WARP)
        bit = np.uint32(1) << lane
        found = {
            "%laneid": lane,
            "%warpid": thread // np.uint32(WARP),
            "%nwarpid": uniform(self.warps, np.uint32),
            "%lanemask_eq": bit,
            "%lanemask_lt": bit - np.uint32(1),
            "%lanemask_le": bit | (bit - np.uint32(1)),
            "%lanemask_ge": ~(bit - np.uint32(1)),
            "%lanemask_gt": ~(bit | (bit - np.uint32(1))),
        }
        dynamic = self.launch.shared_bytes - self.kernel.dynamic_shared
        found["%dynamic_smem_size"] = uniform(dynamic, np.uint32)
        where = np.array(self.coordinates, np.uint32).reshape(-1, 3)
        tid = (thread % x, thread // x % y, thread // (x * y))
        for axis, letter in enumerate("xyz"):
            found[f"%tid.{letter}"] = tid[axis].astype(np.uint32)
            found[f"%ntid.{letter}"] = uniform(self.launch.block[axis], np.uint32)
            found[f"%nctaid.{letter}"] = uniform(self.launch.grid[axis], np.uint32)
            found[f"%ctaid.{letter}"] = where[:, axis].reshape(-1, 1, 1)
        return found

    def _cluster_registers(self) -> dict[str, Array]:
        """Return the special registers of clusters (PTX ISA 10.12 to 10.18). Ranks count x
        first."""
        rank = np.arange(self.ctas, dtype=np.uint32) % np.uint32(self.cluster)
        found = {
            "%cluster_ctarank": rank.reshape(-1, 1, 1),
            "%cluster_nctarank": uniform(self.cluster, np.uint32),
            "%is_explicit_cluster": uniform(self.cluster > 1, bool),
        }
        where = np.array(self.coordinates, np.uint32).reshape(-1, 3)
        for axis, letter in enumerate("xyz"):
            size = np.uint32(self.launch.cluster[axis])
            cta = where[:, axis].reshape(-1, 1, 1)
            found[f"%clusterid.{letter}"] = cta // size
            found[f"%cluster_ctaid.{letter}"] = cta % size
            found[f"%cluster_nctaid.{letter}"] = uniform(int(size), np.uint32)
            clusters = self.launch.grid[axis] // int(size)
            found[f"%nclusterid.{letter}"] = uniform(clusters, np.uint32)
        return found

    def when_stalled(self, rank: StallRank, finish: Callable[[], bool]) -> None:
        """Register a function that finishes asynchronous work when no thread can continue; it
        returns whether it did."""
        place = bisect_right(self._stall_ranks, rank)
        self._stall_ranks.insert(place, rank)
        self.on_stall.insert(place, finish)

    def line(self, pc: int) -> int:
        """Return the source line of an instruction."""
        return self.kernel.instructions[pc].line

    def warn(self, violation: Violation) -> None:
        """Add a warning about the current instruction, once per instruction."""
        if self.pc not in self._warned:
            self._warned.add(self.pc)
            self.warnings.append((self.pc, violation))

    def refuse(self, violation: Violation) -> None:
        """Record a fault of the current instruction. Raises EmulationFault if the limit on faults
        is reached."""
        self.faults.add(fault_of(self, violation, self.pc))

    def look(self, address: Array, value: Array) -> None:
        """Record a strong read, to detect loops that poll memory in vain."""
        last = self._looks.get(self.pc)
        same = last is not None and all(map(np.array_equal, last, (address, value)))
        self._looks[self.pc] = address, value
        self.in_vain = same and self.in_vain is not False

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.ctas, self.warps, WARP

    def everywhere(self, value: Array) -> Array:
        """Return a read-only view at the full shape [CTA, warp, lane]."""
        return np.broadcast_to(value, self.shape)

    @staticmethod
    def compact(value: Array) -> Array:
        """Return an array [C or 1, ...] with a first axis of 1 if all CTAs have equal values."""
        return value[:1] if len(value) > 1 and not np.count_nonzero(value != value[:1]) else value

    def active(self, mask: Mask) -> Array:
        """Return a mask as an array; it never contains padding lanes."""
        return self.exists if mask is None else mask

    def active_warps(self, mask: Mask) -> int:
        """Return the number of warps with an active lane."""
        if mask is None:
            return self.ctas * self.warps
        some = mask.any(axis=2)
        scale: int = (self.ctas // some.shape[0]) * (self.warps // some.shape[1])
        return int(np.count_nonzero(some)) * scale

    def active_lanes(self, mask: Mask) -> int:
        if mask is None:
            return self.ctas * self.launch.threads
        return int(np.count_nonzero(mask)) * (self.ctas * self.warps * WARP // mask.size)

    def parted_warps(self, some: Mask, others: Mask) -> int:
        """Return the number of warps with active lanes in both masks."""
        warps = [any_of(self.active(mask), 2, keepdims=True) for mask in (some, others)]
        return self.active_warps(warps[0] & warps[1])


@cache
def _garbage(type_: PtxType) -> Array:
    """Return the value of a register that is not written yet."""
    if type_.kind == "pred":
        return uniform(True, bool)
    return np.full((1, 1, 1, type_.size), 0xFF, np.uint8).view(type_.dtype)[..., 0]
