"""Interface of a chunk of workgroups to the parts of the emulator: lanes, masks, faults.

Parts take a :class:`Chunk`, which does not expose memories or registers. The machine implements it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kgen.emulate.faults import FaultLog, fault_at
from kgen.emulate.llvm.frontend.module import LlvmInstruction, Module
from kgen.emulate.llvm.types import Array
from kgen.emulate.report import EmulationFault, Fault


class CopiesUnderWay(Protocol):
    """Asynchronous copies to LDS, which memories notify of other accesses."""

    def count(self, m: Chunk) -> None:
        """Note that the active waves begin an access to global memory."""

    def land_what_is_read(self, m: Chunk, offsets: Array, size: int) -> None:
        """Complete the active waves' own copies to the ``size`` bytes that they read now."""

    def line_of(self, workgroup: int, lane: int) -> int:
        """Return the source line of the lane's last unfinished copy."""


class MemoryTraffic(Protocol):
    """Counter of memory traffic for a profile."""

    def shared(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int, kind: str
    ) -> None:
        """Count an access of the active lanes to LDS."""

    def loaded(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """Count loads of the active lanes from global memory."""

    def stored(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """Count stores of the active lanes to global memory."""


class Chunk(Protocol):
    """Lanes [workgroup, lane] that execute now, and the reporting of their faults."""

    module: Module
    entry: str
    wave: int
    #: Coordinates of the workgroups: [workgroup, 3].
    coordinates: Array
    checks: bool
    #: Seed of the schedule of waves.
    seed: int
    #: Faults so far.
    faults: FaultLog
    #: Lanes that execute now, broadcastable to [workgroup, lane]; None for all.
    mask: Array | None

    @property
    def workgroups(self) -> int: ...

    @property
    def lanes(self) -> int: ...

    @property
    def copies(self) -> CopiesUnderWay | None: ...

    @property
    def traffic(self) -> MemoryTraffic | None: ...

    def warn(self, found: Fault) -> None:
        """Add a warning, once per source line."""

    def selected(self) -> Array:
        """Return the active lanes at full shape: [workgroup, lane]."""

    def waves(self, value: Array) -> Array:
        """Reshape [w, lane, ...] or [w, 1, ...] to [w, wave, lane of the wave, ...]."""

    def of_wave(self, value: Array) -> Array:
        """Repeat one value per wave for each of its lanes: [w, wave, ...] -> [w, lane, ...]"""

    def active(self, shape: tuple[int, ...]) -> Array | None:
        """Return the mask at the shape of a value that is uniform along its axes of length 1."""


def fault(
    m: Chunk,
    kind: str,
    message: str,
    instruction: LlvmInstruction,
    where: Array,
    address: int | None = None,
    array: str = "",
) -> EmulationFault:
    """Return the fault of the lanes in ``where``, broadcastable to [workgroup, lane]; ``array``
    names the array at the address."""
    found = fault_at(
        kind,
        message,
        np.broadcast_to(where, (m.workgroups, m.lanes)),
        entry=m.entry,
        instruction=m.module.text(instruction.line),
        line=instruction.line,
        coordinates=m.coordinates,
        seed=m.seed,
        address=address,
        array=lambda _: array,
    )
    return EmulationFault(found)


def waves_in(m: Chunk, lanes: Array | None) -> Array:
    """Return the waves that have at least one of the lanes: [row, wave, 1]."""
    if lanes is None:
        return np.ones((1, m.lanes // m.wave, 1), np.bool_)
    return np.asarray(m.waves(lanes).any(axis=2, keepdims=True))
