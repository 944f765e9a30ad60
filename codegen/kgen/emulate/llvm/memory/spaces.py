"""Loads and stores of many lanes at once, dispatched by address space.

Global addresses are those of :mod:`~kgen.emulate.llvm.memory.global_memory`. Addresses in LDS and
private memory are offsets; a flat pointer reaches each through its aperture.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kgen.emulate.lanes import settle
from kgen.emulate.llvm.chunk import Chunk, fault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.memory import flat
from kgen.emulate.llvm.memory.codec import POISON, gather, raw_dtype, scatter
from kgen.emulate.llvm.memory.global_memory import GlobalBuffer, GlobalMemory, regions_of
from kgen.emulate.llvm.memory.lds import Lds
from kgen.emulate.llvm.order.global_races import GlobalShadow
from kgen.emulate.llvm.types import FLAT, LDS, PRIVATE, Array
from kgen.errors import EmulationError

#: Bytes of private memory per lane on a GPU, and of the stack on a CPU.
_PRIVATE_BYTES = 16 << 10
_STACK_BYTES = 1 << 20


class Accessing(Chunk, Protocol):
    """Chunk with the race checks of global memory and with temporary masks."""

    @property
    def races(self) -> GlobalShadow | None: ...

    def narrowed(self, condition: Array) -> AbstractContextManager[bool]:
        """Restrict execution to lanes for which the condition holds; yield whether there are
        any."""


@dataclass(kw_only=True)
class ChunkMemory:
    """Memory that a chunk of workgroups sees: global memory, LDS and private memory."""

    shared: GlobalMemory
    lds: Lds
    private: Array
    """Bytes of private memory: [workgroup * lane, byte]; empty until first use."""
    stack: int = 0
    """Address of the CPU lane's stack; 0 on a GPU."""
    stack_top: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    """Addresses of the launch's hidden arguments."""

    # -- loads and stores -----------------------------------------------------------------------

    def load(
        self, m: Accessing, ins: LlvmInstruction, pointer: Array, size: int, align: int, space: int
    ) -> Array:
        """Return ``size`` raw bytes per lane, at the shape of ``pointer`` ([workgroup, lane] for
        LDS).

        Inactive lanes get arbitrary bytes.
        """
        if space == LDS:
            return self.lds.load(m, ins, pointer, size, align)
        if space == PRIVATE:
            data, offsets = self._private(m, ins, pointer, size)
            return gather(data, offsets, size)
        if space == FLAT and (parts := self._parts(m, pointer)):
            if len(parts) == 1:
                return self.load(m, ins, parts[0][1], size, align, parts[0][0])
            found: Array = np.zeros(1, raw_dtype(size))
            for of_part, within, here in parts:
                with m.narrowed(here):
                    loaded = self.load(m, ins, within, size, align, of_part)
                found = np.where(here, loaded, found)
            return found
        if m.copies is not None:
            m.copies.count(m)
        if m.traffic is not None:
            m.traffic.loaded(m, ins, pointer, size)
        pointer = settle(pointer, m.active(pointer.shape))
        buffer, offsets = self.shared.locate(m, ins, pointer, size, align)
        if buffer is not None:
            if m.races is not None and m.races.tracks(int(pointer.flat[0])):
                m.races.read(m, ins, pointer, size)
            return gather(buffer.data, offsets, size)
        raw = np.zeros(pointer.shape, raw_dtype(size))
        for region in np.unique(regions_of(pointer)):
            here = regions_of(pointer) == region
            buffer, offsets = self.shared.locate(m, ins, pointer[here], size, align)
            assert buffer is not None
            raw[here] = gather(buffer.data, offsets, size)
        if m.races is not None:
            m.races.read(m, ins, pointer, size)
        return raw

    def store(
        self, m: Accessing, ins: LlvmInstruction, pointer: Array, raw: Array, align: int, space: int
    ) -> None:
        """Store raw bytes of the active lanes. If lanes have the same address, the last one
        wins."""
        size = raw.dtype.itemsize
        if space == LDS:
            self.lds.store(m, ins, pointer, raw, align)
            return
        if space == FLAT and (parts := self._parts(m, pointer)):
            for of_part, within, here in parts:
                with m.narrowed(here):
                    self.store(m, ins, within, raw, align, of_part)
            return
        if m.copies is not None and space != PRIVATE:
            m.copies.count(m)
        if m.traffic is not None and space != PRIVATE:
            m.traffic.stored(m, ins, pointer, size)
        shape = pointer.shape
        if raw.shape != shape:
            shape = np.broadcast_shapes(shape, raw.shape)
        if space == PRIVATE:
            data, pointer = self._private(m, ins, pointer, size)
            shape = np.broadcast_shapes(shape, pointer.shape)
        mask = m.active(shape)
        whole, whole_raw = pointer, raw
        if pointer.shape != shape:
            pointer = np.broadcast_to(pointer, shape)
        if mask is not None:
            selected = np.broadcast_to(mask, shape)
            pointer = pointer[selected]
            raw = np.broadcast_to(raw, shape)[selected]
        if space == PRIVATE:
            scatter(data, pointer, raw)
            return
        buffer, offsets = self.shared.locate(m, ins, pointer, size, align, writing=True)
        if buffer is not None:
            if m.races is not None and m.races.tracks(int(pointer.flat[0])):
                m.races.write(m, ins, whole, whole_raw)
            scatter(buffer.data, offsets, raw)
            return
        raw = np.broadcast_to(raw, pointer.shape)
        for region in np.unique(regions_of(pointer)):
            here = regions_of(pointer) == region
            buffer, offsets = self.shared.locate(m, ins, pointer[here], size, align, writing=True)
            assert buffer is not None
            scatter(buffer.data, offsets, raw[here])
        if m.races is not None:
            m.races.write(m, ins, whole, whole_raw)

    def atomic_place(
        self, m: Accessing, ins: LlvmInstruction, pointer: Array, size: int, space: int
    ) -> tuple[Array, Array]:
        """Return the flat bytes of the buffer that an atomic accesses, and the offsets in it:
        [active lane].

        Raises a fault if the active lanes point into several buffers or address spaces.
        """
        if space == FLAT and (parts := self._parts(m, pointer)):
            if len(parts) > 1:
                raise fault(m, "trap", "atomic on several memories at once", ins, m.selected())
            return self.atomic_place(m, ins, parts[0][1], size, parts[0][0])
        if space == LDS:
            return self.lds.atomic_place(m, ins, pointer, size)
        if m.traffic is not None:
            m.traffic.stored(m, ins, pointer, size)
        full = np.broadcast_to(pointer, (m.workgroups, m.lanes))
        addresses = full[m.selected()]
        buffer, offsets = self.shared.locate(m, ins, addresses, size, size, writing=True)
        if buffer is None:
            raise fault(m, "trap", "atomic on several buffers at once", ins, m.selected())
        if m.races is not None:
            m.races.atomic(m, ins, pointer, size)
        return buffer.data, offsets

    # -- addresses ------------------------------------------------------------------------------

    def _parts(self, m: Accessing, pointer: Array) -> list[tuple[int, Array, Array]]:
        return [] if self.stack else flat.parts(m, pointer)  # a CPU has a single address space

    def _private(
        self, m: Accessing, ins: LlvmInstruction, pointer: Array, size: int
    ) -> tuple[Array, Array]:
        """Return the private bytes of all lanes, flat, and the index of each lane's pointer in
        them."""
        outside = ((pointer < 0) | (pointer > self.stack_top - size)) & m.selected()
        if np.count_nonzero(outside):
            address = int(np.broadcast_to(pointer, outside.shape)[outside][0])
            raise fault(
                m,
                "out-of-bounds",
                f"access of {size} bytes at byte {address} of private memory, "
                f"of which {self.stack_top} bytes are allocated",
                ins,
                outside,
                address,
            )
        if not len(self.private):
            self.private = np.full((m.workgroups * m.lanes, _PRIVATE_BYTES), POISON, np.uint8)
        rows = np.arange(m.workgroups * m.lanes).reshape(m.workgroups, m.lanes)
        # lanes that do not execute may point anywhere
        inside = np.clip(pointer, 0, _PRIVATE_BYTES - size)
        return self.private.reshape(-1), inside + rows * _PRIVATE_BYTES

    # -- the stack ------------------------------------------------------------------------------

    def allocate(self, size: int, align: int, count: int) -> int:
        """Allocate ``count`` times ``size`` bytes in the current call's frame; return the address.

        Raises EmulationError if the stack overflows.
        """
        start = -(-self.stack_top // align) * align
        self.stack_top = start + size * count
        limit = _STACK_BYTES if self.stack else _PRIVATE_BYTES
        if self.stack_top > limit:
            raise EmulationError(
                f"allocas take {self.stack_top} bytes; the stack of the emulator has {limit}"
            )
        return self.stack + start


def stack_buffer() -> GlobalBuffer:
    return GlobalBuffer(name="the stack", data=np.full(_STACK_BYTES, POISON, np.uint8))
