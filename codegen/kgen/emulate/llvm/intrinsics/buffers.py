"""AMD buffer resources: range-checked loads and stores of global memory.

A resource holds a base address, a stride (only 0 is supported), and a size in bytes. The range
check covers each dword of an access, or the whole element if that is smaller: a part that does not
end within the size is out of range, loads 0, and is not stored (CDNA3 manual, "Buffer range
checking", raw buffers).

The sources disagree whether the checked offset includes soffset. By LLVM (IntrinsicsAMDGPU.td) it
does not; by the manuals soffset reduces the size. An access that is in range under one rule and out
of range under the other is a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode, encode, raw_dtype
from kgen.emulate.llvm.types import GLOBAL, Array, LlvmType, Pointer
from kgen_runtime.values import frozen

_BASE, _STRIDE, _BYTES, _FLAGS = range(4)
#: Bytes per range check.
_PART = 4
#: HSA enables unaligned access: a word may start at any byte.
_ALIGNMENT = 1


def _make(ins: LlvmInstruction) -> Callable[[Machine, Array, Array, Array, Array], Array]:
    def make(m: Machine, base: Array, stride: Array, count: Array, flags: Array) -> Array:
        if np.count_nonzero(stride):
            raise fault(m, "trap", "a buffer resource with a stride", ins, m.selected())
        words = (base, stride.astype(np.int64), count.astype(np.int64), flags.astype(np.int64))
        return np.stack(np.broadcast_arrays(*words), axis=-1)

    return make


def resource_of(value: Array, type_: LlvmType) -> Array:
    """Return a resource as :func:`_make` builds it: [..., 4] for base, stride, size and flags.

    The value is either such a resource already or the four dwords of the descriptor.
    """
    if isinstance(type_, Pointer):
        return value
    words = value.astype(np.int64)
    base = words[..., 0] | (words[..., 1] & 0xFFFF) << 32
    stride = words[..., 1] >> 16 & 0x3FFF
    return np.stack([base, stride, words[..., 2], words[..., 3]], axis=-1)


@frozen
class BufferAddress:
    """Resource and offsets of one buffer access."""

    resource: Array
    voffset: Array
    """Per-lane offset plus the instruction's constant offset; always part of the range check."""
    soffset: Array

    @property
    def address(self) -> Array:
        return np.asarray(self.resource[..., _BASE] + self.voffset + self.soffset)

    def inside(self, m: Machine, ins: LlvmInstruction, start: int, size: int) -> Array:
        """Return the lanes for which bytes ``start`` to ``start + size`` of the access are in
        range.

        Raises the fault of an access whose range check depends on soffset.
        """
        end, limit = self.voffset + start + size, self.resource[..., _BYTES]
        checked = end <= limit
        if np.count_nonzero(self.soffset):
            unclear = (checked != (end + self.soffset <= limit)) & m.selected()
            if np.count_nonzero(unclear):
                text = "whether this is in range depends on whether soffset counts"
                raise fault(m, "out-of-bounds", text, ins, unclear)
        return checked

    def pieces(
        self, m: Machine, ins: LlvmInstruction, size: int
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield (start, bytes, lanes) for the parts of an access that are in range.

        The first part is the whole access, for the lanes that have all of it in range. For other
        lanes the dwords follow one by one.
        """
        whole = self.inside(m, ins, 0, size)
        yield 0, size, whole
        part = min(size, _PART)
        if part < size and not whole.all():
            for start in range(0, size, part):
                yield start, part, ~whole & self.inside(m, ins, start, part)


def place_of(
    value: Array, type_: LlvmType, voffset: Array, soffset: Array, offset: int = 0
) -> BufferAddress:
    """Return the address that the operands of a buffer intrinsic describe."""
    return BufferAddress(
        resource=resource_of(value, type_),
        voffset=voffset.astype(np.int64) + offset,
        soffset=soffset.astype(np.int64),
    )


def load_in_range(m: Machine, ins: LlvmInstruction, place: BufferAddress, size: int) -> Array:
    """Return the loaded bytes [w, lane, byte], with zeros out of range."""
    address = place.address
    found: Array = np.zeros((*address.shape, size), np.uint8)
    for start, count, inside in place.pieces(m, ins, size):
        with m.narrowed(inside) as any_lane:
            if any_lane:
                raw = m.memory.load(m, ins, address + start, count, _ALIGNMENT, GLOBAL)
                parts = np.ascontiguousarray(raw)[..., None].view(np.uint8)
                lanes = np.broadcast_to(inside, address.shape)
                whole = np.broadcast_to(parts, (*address.shape, count))
                found[lanes, start : start + count] = whole[lanes]
    return found


def _load(ins: LlvmInstruction) -> Callable[[Machine, Array, Array, Array, Array], Any]:
    type_ = ins.type
    size, of_resource = type_.size, ins.operands[0].type
    immediate(ins.operands[3])

    def load(m: Machine, value: Array, voffset: Array, soffset: Array, _: Array) -> Any:
        place = place_of(value, of_resource, voffset, soffset)
        return decode(load_in_range(m, ins, place, size).view(raw_dtype(size))[..., 0], type_)

    return load


def _store(ins: LlvmInstruction) -> Callable[[Machine, Any, Array, Array, Array, Array], None]:
    type_ = ins.operands[0].type
    size, of_resource = type_.size, ins.operands[1].type
    immediate(ins.operands[4])

    def store(
        m: Machine, data: Any, value: Array, voffset: Array, soffset: Array, _: Array
    ) -> None:
        place = place_of(value, of_resource, voffset, soffset)
        address = place.address
        parts = np.ascontiguousarray(encode(data, type_))[..., None].view(np.uint8)
        for start, count, inside in place.pieces(m, ins, size):
            with m.narrowed(inside) as any_lane:
                if any_lane:
                    piece = np.ascontiguousarray(parts[..., start : start + count])
                    raw = piece.view(raw_dtype(count))[..., 0]
                    m.memory.store(m, ins, address + start, raw, _ALIGNMENT, GLOBAL)

    return store


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.make.buffer.rsrc": _make,
    "llvm.amdgcn.raw.ptr.buffer.load": _load,
    "llvm.amdgcn.raw.buffer.load": _load,
    "llvm.amdgcn.raw.ptr.buffer.store": _store,
    "llvm.amdgcn.raw.buffer.store": _store,
}
