"""State of a chunk of workgroups that runs in lockstep, which every instruction receives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kgen.emulate.counting.instructions import Events
from kgen.emulate.faults import FaultLog
from kgen.emulate.llvm.chunk import fault, waves_in
from kgen.emulate.llvm.counting.traffic import WaveTraffic
from kgen.emulate.llvm.frontend.module import LlvmInstruction, Module
from kgen.emulate.llvm.memory.copies import Copies
from kgen.emulate.llvm.memory.spaces import ChunkMemory
from kgen.emulate.llvm.order.clocks import Clocks
from kgen.emulate.llvm.order.global_races import GlobalShadow
from kgen.emulate.llvm.types import Array
from kgen.emulate.numerics import Numerics
from kgen.emulate.report import Fault, Index3


@dataclass(kw_only=True)
class Machine:
    """State of ``workgroups`` x ``lanes`` lanes; a workgroup is rounded up to whole waves."""

    module: Module
    entry: str
    wave: int
    block: Index3
    coordinates: Array
    """Coordinates of the chunk's workgroups: [workgroup, 3]."""
    memory: ChunkMemory
    checks: bool
    steps: int
    """Segments that one call may execute before it counts as endless."""
    events: Events
    waves_of: Counter[object]
    """Executions of each segment, counted by wave."""
    lanes_of: Counter[object]
    """Executions of each segment, counted by lane."""
    faults: FaultLog
    """Faults noted so far."""
    warnings: list[Fault]
    """Warnings: accesses that no rule forbids but that deserve a look."""
    random: np.random.Generator | None = None
    """Source of the turns of waves; None is lockstep."""
    seed: int = 0
    """Seed of `random`."""
    processor: str = ""
    """Name of the processor, as in gfx90a."""
    numerics: Numerics = field(default_factory=Numerics)
    """Numerics of matrix instructions."""
    races: GlobalShadow | None = None
    """The checks of global memory."""
    traffic: WaveTraffic | None = None
    """Counter of memory traffic for a profile."""
    mask: Array | None = None
    """The lanes that execute now, broadcastable to [workgroup, lane]; None is all of them."""
    call: Callable[[str, list[Any]], Any] = field(init=False)
    """Run another function of the module for the lanes of ``mask``."""
    copies: Copies | None = None
    """Loads to LDS; None before the first."""
    unfinished: Array | None = None
    """The lanes of the kernel that have not ended; None is all."""
    depth: int = 0
    """Depth of nested function calls."""
    barriers: Array = field(init=False)
    """Barriers that each workgroup has passed."""
    signalled: Array = field(init=False)
    """Waves that have signalled a split barrier: [workgroup | 1, wave, 1]."""
    state: dict[str, Any] = field(default_factory=dict)
    """State of one group of instructions, such as the AMX tiles."""

    def __post_init__(self) -> None:
        self.barriers = np.zeros(len(self.coordinates), np.int64)
        self.signalled = np.zeros((1, self.lanes // self.wave, 1), np.bool_)

    @property
    def workgroups(self) -> int:
        return len(self.coordinates)

    @cached_property
    def lanes(self) -> int:
        size = self.block[0] * self.block[1] * self.block[2]
        return -(-size // self.wave) * self.wave

    def warn(self, found: Fault) -> None:
        """Add a warning, once per source line."""
        if all((w.kind, w.line) != (found.kind, found.line) for w in self.warnings):
            self.warnings.append(found)

    def lane_numbers(self) -> Array:
        """Flat number of each lane in its workgroup: [1, lane]."""
        return np.arange(self.lanes, dtype=np.int64)[None, :]

    def selected(self) -> Array:
        """Return the active lanes at full shape: [workgroup, lane]."""
        mask = np.True_ if self.mask is None else self.mask
        return np.broadcast_to(mask, (self.workgroups, self.lanes))

    def waves(self, value: Array) -> Array:
        """Reshape [w, lane, ...] or [w, 1, ...] to [w, wave, lane of the wave, ...]."""
        whole = np.broadcast_to(value, (len(value), self.lanes, *value.shape[2:]))
        return whole.reshape(len(value), -1, self.wave, *value.shape[2:])

    def of_wave(self, value: Array) -> Array:
        """Repeat one value per wave for each of its lanes: [w, wave, ...] -> [w, lane, ...]"""
        repeated: Array = np.repeat(value, self.wave, axis=1)
        return repeated

    def count(self, segment: object) -> None:
        """Count the execution of a segment by the active lanes."""
        waves = self.workgroups * (self.lanes // self.wave)
        lanes = self.workgroups * self.lanes
        if self.mask is not None:
            active = self.waves(self.mask)
            alike = self.workgroups // len(active)
            waves = int(np.count_nonzero(active.any(axis=2))) * alike
            lanes = int(np.count_nonzero(active)) * alike
        self.waves_of[segment] += waves
        self.lanes_of[segment] += lanes

    @contextmanager
    def narrowed(self, condition: Array) -> Iterator[bool]:
        """Narrow the mask inside the context to lanes for which the condition holds; yield whether
        there are any."""
        before = self.mask
        mask = condition if before is None else before & condition
        self.mask = None if mask.all() else mask
        try:
            yield bool(np.count_nonzero(mask))
        finally:
            self.mask = before

    def finish(self) -> None:
        """Finish the chunk after all its workgroups have ended."""
        self.events.barriers = max(self.events.barriers, int(self.barriers.max()))

    def whole_waves(self, ins: LlvmInstruction) -> None:
        """Check that every wave that executes ``ins`` does so with all its lanes; else report a
        fault."""
        if self.mask is None or not self.checks:
            return
        waves = self.waves(self.mask)
        missing = waves.any(axis=2, keepdims=True) & ~waves
        if np.count_nonzero(missing):
            raise fault(
                self,
                "divergent-warp-instruction",
                "the whole wave must execute this; these lanes are inactive",
                ins,
                missing.reshape(len(self.mask), self.lanes),
            )

    # -- synchronisation ------------------------------------------------------------------------

    def fence(
        self,
        ins: LlvmInstruction,
        *,
        release: bool = False,
        acquire: bool = False,
        device: bool = False,
    ) -> None:
        """Order the active lanes' accesses in the memories of the fence, as in :class:`Clocks`. A
        release for LDS waits for the wave's copies to it."""
        if release and self.copies is not None and self.module.synchronizes(ins, "local"):
            self.copies.land(self)
        for name, clocks in self._clocks():
            if self.module.synchronizes(ins, name):
                clocks.fence(self, release=release, acquire=acquire, device=device)

    def signal(self) -> None:
        """Let the active waves arrive at a split barrier."""
        self.signalled = self.signalled | waves_in(self, self.mask)
        for _, clocks in self._clocks():
            clocks.signal(self)

    def _clocks(self) -> Iterator[tuple[str, Clocks]]:
        if self.memory.lds.shadow is not None:
            yield "local", self.memory.lds.shadow
        if self.races is not None:
            yield "global", self.races.clocks

    def arrive(self, ins: LlvmInstruction) -> None:
        """Let the active waves reach a barrier, or the wait of a split barrier after its signal."""
        if not ins.callee.endswith(".wait"):
            return
        waves = waves_in(self, self.mask)
        if np.count_nonzero(waves & ~self.signalled):
            raise fault(
                self,
                "deadlock",
                "a wave waits at a split barrier that it has not signalled",
                ins,
                self.of_wave((waves & ~self.signalled)[..., 0]),
            )
        self.signalled = self.signalled & ~waves

    def pass_barrier(self, released: Array | None) -> None:
        """Let the lanes in ``released`` (None: all) leave a barrier."""
        self.barriers += 1 if released is None else released.any(axis=1)
        for _, clocks in self._clocks():
            clocks.barrier(self, released)

    # -- masks ----------------------------------------------------------------------------------

    def active(self, shape: tuple[int, ...]) -> Array | None:
        """Return the mask at the shape of a value that is uniform along its axes of length 1."""
        if self.mask is None:
            return None
        mask: Array = self.mask
        if shape[0] == 1 and mask.shape[0] != 1:
            mask = np.asarray(mask.any(axis=0, keepdims=True))
        if shape[1] == 1 and mask.shape[1] != 1:
            mask = np.asarray(mask.any(axis=1, keepdims=True))
        return None if mask.all() else mask


def merge(mask: Array, new: Any, old: Any) -> Any:
    """Return ``new`` in the lanes of ``mask`` and ``old`` in the others; tuples are merged field by
    field."""
    if isinstance(new, tuple):
        return tuple(merge(mask, n, o) for n, o in zip(new, old, strict=True))
    if new.ndim > mask.ndim:
        mask = mask[..., None]
    return np.where(mask, new, old)
