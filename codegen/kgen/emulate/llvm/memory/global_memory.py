"""Global memory: buffers in fixed windows of a 64-bit address space, shared by all workgroups."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kgen.emulate.llvm.chunk import Chunk, fault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array
from kgen.emulate.report import EmulationFault
from kgen.emulate.windows import WINDOW_BITS, window_start
from kgen_runtime.values import frozen

_HALF = 1 << (WINDOW_BITS - 1)


@frozen
class GlobalBuffer:
    name: str
    data: Array
    """Flat bytes (uint8)."""
    symbol: str = ""
    """Name of the parameter or global variable."""
    writable: bool = True


@dataclass(kw_only=True)
class GlobalMemory:
    """Global memory of a launch: buffer arguments and initialised global variables."""

    buffers: list[GlobalBuffer] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(len(buffer.data) for buffer in self.buffers)

    def add(self, buffer: GlobalBuffer) -> int:
        """Append a buffer and return the address of its first byte."""
        self.buffers.append(buffer)
        return window_start(len(self.buffers) - 1)

    def is_inside(self, pointer: Array) -> Array:
        """Return for each address whether a buffer contains it."""
        region = regions_of(pointer)
        sizes = np.array([0, *(len(buffer.data) for buffer in self.buffers), 0])
        offsets = pointer - (region << WINDOW_BITS)
        size = sizes[np.clip(region, 0, len(self.buffers) + 1)]
        return np.asarray((offsets >= 0) & (offsets < size))

    def locate(
        self,
        m: Chunk,
        ins: LlvmInstruction,
        pointer: Array,
        size: int,
        align: int,
        *,
        writing: bool = False,
    ) -> tuple[GlobalBuffer | None, Array]:
        """Return the buffer that contains every access and the offsets in it.

        If the addresses belong to several buffers, the buffer is None. Raises the fault of an
        access outside every buffer, of a misaligned one, or of a store to a constant buffer.
        """
        first = int(pointer.flat[0])
        region = (first + _HALF) >> WINDOW_BITS
        offsets = pointer - (region << WINDOW_BITS)
        low = high = bits = first - (region << WINDOW_BITS)
        if offsets.size > 1:
            low, high = int(offsets.min()), int(offsets.max())
            bits = int(np.bitwise_or.reduce(offsets, axis=None))
        if low < -_HALF or high >= _HALF:
            return None, offsets
        known = 1 <= region <= len(self.buffers)
        buffer = self.buffers[region - 1] if known else None
        if buffer is None or low < 0 or high > len(buffer.data) - size:
            raise self._outside(m, ins, pointer, size, buffer)
        if writing and not buffer.writable:
            raise fault(
                m,
                "out-of-bounds",
                f"store to {buffer.name}, which is constant",
                ins,
                m.selected(),
                first,
            )
        if m.checks and align > 1 and bits & (align - 1):
            bad = int(offsets[(offsets & (align - 1)) != 0].flat[0])
            raise fault(
                m,
                "misaligned",
                f"byte {bad} of {buffer.name} is not aligned to {align}",
                ins,
                _lanes_at(m, pointer, (region << WINDOW_BITS) + bad),
                bad,
            )
        return buffer, offsets

    def _outside(
        self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int, buffer: GlobalBuffer | None
    ) -> EmulationFault:
        if buffer is None:
            address = int(pointer.flat[0])
            where = _lanes_at(m, pointer, address)
            return fault(
                m, "out-of-bounds", f"address {address:#x} is in no buffer", ins, where, address
            )
        base = window_start(self.buffers.index(buffer))
        offsets = pointer - base
        bad = int(offsets[(offsets < 0) | (offsets > len(buffer.data) - size)].flat[0])
        return fault(
            m,
            "out-of-bounds",
            f"access of {size} bytes at byte {bad} of {buffer.name}, "
            f"which has {len(buffer.data)} bytes",
            ins,
            _lanes_at(m, pointer, base + bad),
            bad,
        )


def _lanes_at(m: Chunk, pointer: Array, address: int) -> Array:
    """Return the lanes whose pointer is ``address``; all active lanes if the pointers are not per
    lane.

    A store passes the pointers of its active lanes only, and a tile instruction one pointer per
    row.
    """
    here, selected = pointer == address, m.selected()
    if pointer.ndim == 2 and pointer.shape[1] in (1, m.lanes):
        return np.asarray(here & selected)
    if here.size != np.count_nonzero(selected):
        return selected
    where = np.zeros(selected.shape, np.bool_)
    where[selected] = here.reshape(-1)
    return where


def regions_of(pointer: Array) -> Array:
    """Return for each address the number, from 1, of the buffer it belongs to or slightly
    precedes."""
    regions: Array = (pointer + _HALF) >> WINDOW_BITS
    return regions
