"""Buffer resources: range-checked access to global memory.

A resource has a base, a stride of 0 here, and a number of bytes. Each dword of an access (or the
element, if that is smaller) whose offset is not wholly below the number of bytes is out of range:
it loads as 0 and is not stored (CDNA3 manual, "Buffer range checking", raw buffers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import Instruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode, encode, raw_dtype
from kgen.emulate.llvm.types import GLOBAL, Array, Pointer, Type

_BASE, _STRIDE, _BYTES, _FLAGS = range(4)
#: The unit in which ranges are checked.
_PART = 4


def _make(ins: Instruction) -> Callable[[Machine, Array, Array, Array, Array], Array]:
    def make(m: Machine, base: Array, stride: Array, count: Array, flags: Array) -> Array:
        if stride.any():
            raise fault(m, "trap", "a buffer resource with a stride", ins, m.selected())
        words = (base, stride.astype(np.int64), count.astype(np.int64), flags.astype(np.int64))
        return np.stack(np.broadcast_arrays(*words), axis=-1)

    return make


def resource_of(value: Array, type_: Type) -> Array:
    """A resource as :func:`_make` makes it, from that or from its four dwords."""
    if isinstance(type_, Pointer):
        return value
    words = value.astype(np.int64)
    base = words[..., 0] | (words[..., 1] & 0xFFFF) << 32
    stride = words[..., 1] >> 16 & 0x3FFF
    return np.stack([base, stride, words[..., 2], words[..., 3]], axis=-1)


def _pieces(resource: Array, offset: Array, size: int) -> Iterator[tuple[int, int, Array]]:
    """(start, bytes, lanes): what is in range of an access, of most lanes in one piece."""
    limit = resource[..., _BYTES]
    whole = offset + size <= limit
    yield 0, size, whole
    part = min(size, _PART)
    if part < size and not whole.all():
        for start in range(0, size, part):
            yield start, part, ~whole & (offset + start + part <= limit)


def in_range(
    value: Array, type_: Type, offsets: tuple[Array, ...], size: int
) -> tuple[Array, Array]:
    """(address, whether it is in range) of ``size`` bytes at voffset plus soffset."""
    resource = resource_of(value, type_)
    offset = offsets[0].astype(np.int64) + offsets[1]
    return resource[..., _BASE] + offset, offset + size <= resource[..., _BYTES]


def load_in_range(m: Machine, ins: Instruction, resource: Array, offset: Array, size: int) -> Array:
    """The bytes at the offset, zeros where it is out of range: [w, lane, byte]."""
    address = resource[..., _BASE] + offset
    found: Array = np.zeros((*address.shape, size), np.uint8)
    for start, count, inside in _pieces(resource, offset, size):
        with m.narrowed(inside) as any_lane:
            if any_lane:
                align = min(count, _PART)
                raw = m.memory.load(m, ins, address + start, count, align, GLOBAL)
                parts = np.ascontiguousarray(raw)[..., None].view(np.uint8)
                whole = np.broadcast_to(parts, (*inside.shape, count))
                found[inside, start : start + count] = whole[inside]
    return found


def _load(ins: Instruction) -> Callable[[Machine, Array, Array, Array, Array], Any]:
    type_ = ins.type
    size, of_resource = type_.size, ins.operands[0].type
    immediate(ins.operands[3])

    def load(m: Machine, value: Array, voffset: Array, soffset: Array, _: Array) -> Any:
        resource = resource_of(value, of_resource)
        found = load_in_range(m, ins, resource, voffset.astype(np.int64) + soffset, size)
        return decode(found.view(raw_dtype(size))[..., 0], type_)

    return load


def _store(ins: Instruction) -> Callable[[Machine, Any, Array, Array, Array, Array], None]:
    type_ = ins.operands[0].type
    size, of_resource = type_.size, ins.operands[1].type
    immediate(ins.operands[4])

    def store(
        m: Machine, data: Any, value: Array, voffset: Array, soffset: Array, _: Array
    ) -> None:
        resource = resource_of(value, of_resource)
        offset = voffset.astype(np.int64) + soffset
        address = resource[..., _BASE] + offset
        parts = np.ascontiguousarray(encode(data, type_))[..., None].view(np.uint8)
        for start, count, inside in _pieces(resource, offset, size):
            with m.narrowed(inside) as any_lane:
                if any_lane:
                    piece = np.ascontiguousarray(parts[..., start : start + count])
                    raw = piece.view(raw_dtype(count))[..., 0]
                    align = min(count, _PART)
                    m.memory.store(m, ins, address + start, raw, align, GLOBAL)

    return store


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.make.buffer.rsrc": _make,
    "llvm.amdgcn.raw.ptr.buffer.load": _load,
    "llvm.amdgcn.raw.buffer.load": _load,
    "llvm.amdgcn.raw.ptr.buffer.store": _store,
    "llvm.amdgcn.raw.buffer.store": _store,
}
