"""Interface of a chunk of workgroups to the parts of the emulator: lanes, masks, faults.

A part takes a :class:`Chunk`, which says nothing of memories or registers; the machine is one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kgen.emulate.faults import FaultLog, fault_at
from kgen.emulate.llvm.frontend.module import LlvmInstruction, Module
from kgen.emulate.llvm.types import Array
from kgen.emulate.report import EmulationFault, Fault


class CopiesUnderWay(Protocol):
    """Asynchronous copies to LDS, as the memories tell them of other accesses."""

    def count(self, m: Chunk) -> None:
        """The active waves begin an access to global memory."""

    def land_what_is_read(self, m: Chunk, offsets: Array, size: int) -> None:
        """The active waves' own copies to where they now read ``size`` bytes."""

    def line_of(self, workgroup: int, lane: int) -> int:
        """Return the source line of the lane's last copy under way."""


class MemoryTraffic(Protocol):
    """Counter of memory traffic for a profile."""

    def shared(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int, kind: str
    ) -> None:
        """The active lanes access LDS."""

    def loaded(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """The active lanes load from global memory."""

    def stored(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """The active lanes store to global memory."""


class Chunk(Protocol):
    """The lanes [workgroup, lane] that execute now, and how one of them is at fault."""

    module: Module
    entry: str
    wave: int
    #: Of the workgroups: [workgroup, 3].
    coordinates: Array
    checks: bool
    #: From which the turns of waves were dealt.
    seed: int
    #: What was wrong until now.
    faults: FaultLog
    #: The lanes that execute now, broadcastable to [workgroup, lane]; None is all of them.
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
        """Note what no rule forbids; once is enough for each line."""

    def selected(self) -> Array:
        """The active lanes in full: [workgroup, lane]."""

    def waves(self, value: Array) -> Array:
        """[w, lane, ...] or [w, 1, ...] -> [w, wave, lane of the wave, ...]"""

    def of_wave(self, value: Array) -> Array:
        """Repeat one value per wave for each of its lanes: [w, wave, ...] -> [w, lane, ...]"""

    def active(self, shape: tuple[int, ...]) -> Array | None:
        """The mask at the shape of a value that is uniform along its axes of length 1."""


def fault(
    m: Chunk,
    kind: str,
    message: str,
    instruction: LlvmInstruction,
    where: Array,
    address: int | None = None,
    array: str = "",
) -> EmulationFault:
    """The fault of the lanes in ``where``, broadcastable to [workgroup, lane]; ``array`` says what
    lies at the address."""
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
    """[row, wave, 1]: the waves that have one of the lanes."""
    if lanes is None:
        return np.ones((1, m.lanes // m.wave, 1), np.bool_)
    return np.asarray(m.waves(lanes).any(axis=2, keepdims=True))
