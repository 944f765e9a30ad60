"""The address spaces of one launch, and loads and stores for many lanes at once.

Global buffers lie far apart in a 64-bit space: buffer k starts at ``(k + 1) << 40``, so that an
address beyond either end of a buffer belongs to no other one. Addresses in LDS and in private
memory are offsets; a flat pointer reaches them through an aperture of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.llvm import flat
from kgen.emulate.llvm.codec import POISON, gather, raw_dtype, scatter
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.types import FLAT, LDS, PRIVATE, Array
from kgen.emulate.report import EmulationFault
from kgen.errors import EmulationError

if TYPE_CHECKING:
    from kgen.emulate.llvm.lds import Lds
    from kgen.emulate.llvm.machine import Machine

REGION_SHIFT = 40
_HALF = 1 << (REGION_SHIFT - 1)
#: Bytes of private memory per lane, and of the stack on a CPU.
_PRIVATE_BYTES = 16 << 10
_STACK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Buffer:
    name: str
    data: Array
    """Flat uint8."""
    symbol: str = ""
    """Of the parameter or global that it is."""
    writable: bool = True


@dataclass(kw_only=True)
class GlobalMemory:
    """What outlives a workgroup: arguments and initialised globals."""

    buffers: list[Buffer] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(len(buffer.data) for buffer in self.buffers)

    def add(self, buffer: Buffer) -> int:
        """The address of the first byte."""
        self.buffers.append(buffer)
        return len(self.buffers) << REGION_SHIFT


@dataclass(kw_only=True)
class Memory:
    """The memory that a chunk of workgroups sees."""

    shared: GlobalMemory
    lds: Lds
    private: Array
    """[workgroup * lane, bytes]"""
    stack: int = 0
    """Address of the stack of the one lane of a CPU, 0 on a GPU."""
    stack_top: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    """The addresses of what tells of the launch."""

    # -- loads and stores -----------------------------------------------------------------------

    def load(
        self, m: Machine, ins: Instruction, pointer: Array, size: int, align: int, space: int
    ) -> Array:
        """``size`` raw bytes for each lane, at the shape of ``pointer`` (LDS: per workgroup).

        What inactive lanes get is arbitrary.
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
        mask = m.active(pointer.shape)
        if mask is not None:
            pointer = np.where(mask, pointer, _first(pointer, mask))
        buffer, offsets = self._locate(m, ins, pointer, size, align)
        if buffer is not None:
            if m.races is not None and m.races.tracks(int(pointer.flat[0])):
                m.races.read(m, ins, pointer, size)
            return gather(buffer.data, offsets, size)
        raw = np.zeros(pointer.shape, raw_dtype(size))
        for region in np.unique(regions_of(pointer)):
            here = regions_of(pointer) == region
            buffer, offsets = self._locate(m, ins, pointer[here], size, align)
            assert buffer is not None
            raw[here] = gather(buffer.data, offsets, size)
        if m.races is not None:
            m.races.read(m, ins, pointer, size)
        return raw

    def store(
        self, m: Machine, ins: Instruction, pointer: Array, raw: Array, align: int, space: int
    ) -> None:
        """Store raw bytes of the active lanes; of lanes at the same address the last one wins."""
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
        shape = np.broadcast_shapes(pointer.shape, raw.shape)
        if space == PRIVATE:
            data, pointer = self._private(m, ins, pointer, size)
            shape = np.broadcast_shapes(shape, pointer.shape)
        mask = m.active(shape)
        whole, whole_raw = pointer, raw
        pointer = np.broadcast_to(pointer, shape)
        if mask is not None:
            selected = np.broadcast_to(mask, shape)
            pointer = pointer[selected]
            raw = np.broadcast_to(raw, shape)[selected]
        if space == PRIVATE:
            scatter(data, pointer, raw)
            return
        buffer, offsets = self._locate(m, ins, pointer, size, align, writing=True)
        if buffer is not None:
            if m.races is not None and m.races.tracks(int(pointer.flat[0])):
                m.races.write(m, ins, whole, whole_raw)
            scatter(buffer.data, offsets, raw)
            return
        raw = np.broadcast_to(raw, pointer.shape)
        for region in np.unique(regions_of(pointer)):
            here = regions_of(pointer) == region
            buffer, offsets = self._locate(m, ins, pointer[here], size, align, writing=True)
            assert buffer is not None
            scatter(buffer.data, offsets, raw[here])
        if m.races is not None:
            m.races.write(m, ins, whole, whole_raw)

    def atomic_place(
        self, m: Machine, ins: Instruction, pointer: Array, size: int, space: int
    ) -> tuple[Array, Array]:
        """The flat bytes that hold the one buffer all active lanes point into, and their offsets
        in it: [active lane]."""
        if space == FLAT and (parts := self._parts(m, pointer)):
            if len(parts) > 1:
                raise m.fault("trap", "atomic on several memories at once", ins, m.selected())
            return self.atomic_place(m, ins, parts[0][1], size, parts[0][0])
        if space == LDS:
            return self.lds.atomic_place(m, ins, pointer, size)
        if m.traffic is not None:
            m.traffic.stored(m, ins, pointer, size)
        full = np.broadcast_to(pointer, (m.workgroups, m.lanes))
        addresses = full[m.selected()]
        buffer, offsets = self._locate(m, ins, addresses, size, size, writing=True)
        if buffer is None:
            raise m.fault("trap", "atomic on several buffers at once", ins, m.selected())
        if m.races is not None:
            m.races.atomic(m, ins, pointer, size)
        return buffer.data, offsets

    # -- addresses ------------------------------------------------------------------------------

    def _parts(self, m: Machine, pointer: Array) -> list[tuple[int, Array, Array]]:
        return [] if self.stack else flat.parts(m, pointer)  # a CPU has one space

    def _private(
        self, m: Machine, ins: Instruction, pointer: Array, size: int
    ) -> tuple[Array, Array]:
        """All lanes' private bytes, flat, and where each lane's pointer is in them."""
        outside = ((pointer < 0) | (pointer > self.stack_top - size)) & m.selected()
        if outside.any():
            address = int(np.broadcast_to(pointer, outside.shape)[outside][0])
            raise m.fault(
                "out-of-bounds",
                f"{size} bytes at byte {address} of private memory, of which {self.stack_top} "
                "bytes are allocated",
                ins,
                outside,
                address,
            )
        if not len(self.private):
            self.private = np.full((m.workgroups * m.lanes, _PRIVATE_BYTES), POISON, np.uint8)
        rows = np.arange(m.workgroups * m.lanes).reshape(m.workgroups, m.lanes)
        inside = np.clip(pointer, 0, _PRIVATE_BYTES - size)  # of lanes that do not execute
        return self.private.reshape(-1), inside + rows * _PRIVATE_BYTES

    def _locate(
        self,
        m: Machine,
        ins: Instruction,
        pointer: Array,
        size: int,
        align: int,
        *,
        writing: bool = False,
    ) -> tuple[Buffer | None, Array]:
        """The buffer that holds every address, and the offsets into it; None for several buffers.

        Raises the fault of an address that is in none.
        """
        first = int(pointer.flat[0])
        region = (first + _HALF) >> REGION_SHIFT
        offsets = pointer - (region << REGION_SHIFT)
        low = high = first - (region << REGION_SHIFT)
        if offsets.size > 1:
            low, high = int(offsets.min()), int(offsets.max())
        if low < -_HALF or high >= _HALF:
            return None, offsets
        known = 1 <= region <= len(self.shared.buffers)
        buffer = self.shared.buffers[region - 1] if known else None
        if buffer is None or low < 0 or high > len(buffer.data) - size:
            raise self._outside(m, ins, pointer, size, buffer)
        if writing and not buffer.writable:
            raise m.fault(
                "out-of-bounds",
                f"store to {buffer.name}, which is constant",
                ins,
                m.selected(),
                first,
            )
        if m.checks and align > 1 and int(np.bitwise_or.reduce(offsets, axis=None)) & (align - 1):
            bad = int(offsets[(offsets & (align - 1)) != 0].flat[0])
            raise m.fault(
                "misaligned",
                f"byte {bad} of {buffer.name} is not aligned to {align}",
                ins,
                self._lanes_at(m, pointer, (region << REGION_SHIFT) + bad),
                bad,
            )
        return buffer, offsets

    def _outside(
        self, m: Machine, ins: Instruction, pointer: Array, size: int, buffer: Buffer | None
    ) -> EmulationFault:
        if buffer is None:
            address = int(pointer.flat[0])
            where = self._lanes_at(m, pointer, address)
            return m.fault(
                "out-of-bounds", f"address {address:#x} is in no buffer", ins, where, address
            )
        base = (self.shared.buffers.index(buffer) + 1) << REGION_SHIFT
        offsets = pointer - base
        bad = int(offsets[(offsets < 0) | (offsets > len(buffer.data) - size)].flat[0])
        return m.fault(
            "out-of-bounds",
            f"{size} bytes at byte {bad} of {buffer.name}, which has {len(buffer.data)} bytes",
            ins,
            self._lanes_at(m, pointer, base + bad),
            bad,
        )

    @staticmethod
    def _lanes_at(m: Machine, pointer: Array, address: int) -> Array:
        """The lanes whose pointer is ``address``; all that are active if pointers are no lanes.

        A store passes the pointers of its active lanes only, a tile row by row.
        """
        here, selected = pointer == address, m.selected()
        if pointer.ndim == 2 and pointer.shape[1] in (1, m.lanes):
            return np.asarray(here & selected)
        if here.size != np.count_nonzero(selected):
            return selected
        where = np.zeros(selected.shape, np.bool_)
        where[selected] = here.reshape(-1)
        return where

    # -- the stack ------------------------------------------------------------------------------

    def allocate(self, size: int, align: int, count: int) -> int:
        """Address of ``count`` times ``size`` bytes of this call's frame."""
        start = -(-self.stack_top // align) * align
        self.stack_top = start + size * count
        limit = _STACK_BYTES if self.stack else _PRIVATE_BYTES
        if self.stack_top > limit:
            raise EmulationError(
                f"allocas of {self.stack_top} bytes; the emulator has a stack of {limit} bytes"
            )
        return self.stack + start


def stack_buffer() -> Buffer:
    return Buffer(name="the stack", data=np.full(_STACK_BYTES, POISON, np.uint8))


def regions_of(pointer: Array) -> Array:
    regions: Array = (pointer + _HALF) >> REGION_SHIFT
    return regions


def _first(pointer: Array, mask: Array) -> Array:
    """The pointer of the first active lane."""
    full = np.broadcast_to(mask, pointer.shape)
    first: Array = pointer.reshape(-1)[np.argmax(full)]
    return first
