"""Local data share (LDS): one byte array per workgroup, with bounds and alignment checks."""

from __future__ import annotations

from functools import partial

import numpy as np

from kgen.emulate.lanes import settle
from kgen.emulate.llvm.chunk import Chunk, fault
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.memory.codec import POISON, gather, raw_dtype, scatter
from kgen.emulate.llvm.order.lds_races import LdsShadow
from kgen.emulate.llvm.types import Array

#: Row padding in bytes: the widest access, so that an aligned gather stays in one row.
_ROW_ALIGN = 64
#: Alignment in bytes of asynchronous copies, which move dwords.
_COPY_ALIGN = 4


class Lds:
    """LDS of a chunk: ``size`` bytes for each of ``workgroups``; no ``shadow`` if checks are
    off."""

    def __init__(self, size: int, workgroups: int, shadow: LdsShadow | None) -> None:
        self.size = size
        self.row = -(-size // _ROW_ALIGN) * _ROW_ALIGN
        self.data = np.full((workgroups, self.row), POISON, np.uint8)
        self.shadow = shadow

    def load(self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int) -> Array:
        """Return ``size`` raw bytes: [workgroup, lane], with the lane axis of ``offsets``."""
        if m.copies is not None:
            m.copies.land_what_is_read(m, offsets, size)
        offsets = self._accessed(m, ins, offsets, size, align, "load")
        if self.shadow is not None:
            self.shadow.read(m, ins, offsets, size)
        shift = size.bit_length() - 1
        if (
            offsets.shape[0] == 1
            and size == 1 << shift
            and not np.count_nonzero(offsets & (size - 1))
        ):
            view: Array = self.data.view(raw_dtype(size))
            return np.asarray(np.take(view, offsets[0] >> shift, axis=1))
        return gather(self.data.reshape(-1), offsets + self._rows(), size)

    def store(self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array, align: int) -> None:
        size = raw.dtype.itemsize
        settled = self._accessed(m, ins, offsets, size, align, "store")
        if self.shadow is not None:
            there = partial(gather, self.data.reshape(-1), settled + self._rows(), size)
            self.shadow.write(m, ins, offsets, raw, there)
        flat = offsets + self._rows()
        shape = np.broadcast_shapes(flat.shape, raw.shape)
        if m.mask is not None:
            selected = np.broadcast_to(m.mask, (m.workgroups, m.lanes))
            flat = np.broadcast_to(flat, selected.shape)[selected]
            raw = np.broadcast_to(raw, selected.shape)[selected]
        elif shape != flat.shape:
            flat = np.broadcast_to(flat, shape)
        scatter(self.data.reshape(-1), flat, raw)

    def begin_copy(self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array) -> None:
        """Start an asynchronous copy: the active lanes' destination bytes are poison until it
        completes."""
        size = raw.dtype.itemsize
        self._check(m, ins, _settled(m, offsets), size, _COPY_ALIGN)
        if m.traffic is not None:
            m.traffic.shared(m, ins, offsets, size, size, "store")
        if self.shadow is not None:
            self.shadow.begin_copy(m, ins, offsets, size)
        poison = np.full(size, POISON, np.uint8).view(raw.dtype)
        self._put(m.selected(), offsets, poison)

    def end_copy(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, raw: Array, lanes: Array
    ) -> None:
        """Complete an asynchronous copy for these lanes."""
        if self.shadow is not None:
            self.shadow.end_copy(m, ins, offsets, raw.dtype.itemsize, lanes)
        self._put(lanes, offsets, raw)

    def _put(self, lanes: Array, offsets: Array, raw: Array) -> None:
        flat = np.broadcast_to(offsets + self._rows(), lanes.shape)[lanes]
        scatter(self.data.reshape(-1), flat, np.broadcast_to(raw, lanes.shape)[lanes])

    def atomic_place(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int
    ) -> tuple[Array, Array]:
        """Return the flat bytes and the active lanes' offsets of an atomic; see
        :meth:`ChunkMemory.atomic_place`."""
        self._accessed(m, ins, offsets, size, size, "atomic")
        if self.shadow is not None:
            self.shadow.atomic(m, ins, offsets, size)
        flat = np.broadcast_to(offsets + self._rows(), (m.workgroups, m.lanes))
        return self.data.reshape(-1), flat[m.selected()]

    def _accessed(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int, kind: str
    ) -> Array:
        """Check and count an access; return its offsets, with those of inactive lanes moved into
        bounds."""
        settled = _settled(m, offsets)
        self._check(m, ins, settled, size, align)
        if m.traffic is not None:
            m.traffic.shared(m, ins, offsets, size, align, kind)
        return settled

    def _rows(self) -> Array:
        return np.arange(len(self.data), dtype=np.int64)[:, None] * self.row

    def _check(self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int) -> None:
        low, high = int(offsets.min()), int(offsets.max())
        if low < 0 or high > self.size - size:
            bad = (offsets < 0) | (offsets > self.size - size)
            address = int(offsets[bad].flat[0])
            raise fault(
                m,
                "out-of-bounds",
                f"access of {size} bytes at byte {address} of LDS, which has {self.size} bytes",
                ins,
                (offsets == address) & m.selected(),
                address,
            )
        if m.checks and align > 1:
            misaligned = (offsets & (align - 1)) != 0
            if np.count_nonzero(misaligned):
                address = int(offsets[misaligned].flat[0])
                raise fault(
                    m,
                    "misaligned",
                    f"byte {address} of LDS is not aligned to {align}",
                    ins,
                    (offsets == address) & m.selected(),
                    address,
                )


def _settled(m: Chunk, offsets: Array) -> Array:
    """Return the offsets, with those of inactive lanes replaced by an active lane's."""
    return settle(offsets, m.active(offsets.shape))
