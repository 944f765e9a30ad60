"""Buffer resources: range-checked access to global memory.

A resource has a base, a stride of 0 here, and a number of bytes. Each dword of an access (or the
element, if that is smaller) whose offset is not wholly below the number of bytes is out of range:
it loads as 0 and is not stored (CDNA3 manual, "Buffer range checking", raw buffers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.codec import decode, encode, raw_dtype
from kgen.emulate.llvm.literals import immediate
from kgen.emulate.llvm.machine import Machine
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.program import Build
from kgen.emulate.llvm.types import GLOBAL, Array, Pointer, Type

_BASE, _STRIDE, _BYTES, _FLAGS = range(4)


def _make(ins: Instruction) -> Callable[[Machine, Array, Array, Array, Array], Array]:
    def make(m: Machine, base: Array, stride: Array, count: Array, flags: Array) -> Array:
        if stride.any():
            raise m.fault("trap", "a buffer resource with a stride", ins, m.selected())
        words = (base, stride.astype(np.int64), count.astype(np.int64), flags.astype(np.int64))
        return np.stack(np.broadcast_arrays(*words), axis=-1)

    return make


def _resource(value: Array, type_: Type) -> Array:
    """A resource as :func:`_make` makes it, from that or from its four dwords."""
    if isinstance(type_, Pointer):
        return value
    words = value.astype(np.int64)
    base = words[..., 0] | (words[..., 1] & 0xFFFF) << 32
    stride = words[..., 1] >> 16 & 0x3FFF
    return np.stack([base, stride, words[..., 2], words[..., 3]], axis=-1)


def _parts(size: int) -> tuple[int, int]:
    """How an access is checked: bytes of a part, and how many parts."""
    part = min(size, 4)
    return part, size // part


def _load(ins: Instruction) -> Callable[[Machine, Array, Array, Array, Array], Any]:
    type_ = ins.type
    of_resource = ins.operands[0].type
    part, count = _parts(type_.size)
    immediate(ins.operands[3])

    def load(m: Machine, value: Array, voffset: Array, soffset: Array, _: Array) -> Any:
        resource = _resource(value, of_resource)
        offset = voffset.astype(np.int64) + soffset
        parts = []
        for index in range(count):
            at = offset + index * part
            inside = at + part <= resource[..., _BYTES]
            with m.narrowed(inside) as any_lane:
                if not any_lane:
                    parts.append(np.zeros(inside.shape, raw_dtype(part)))
                    continue
                address = resource[..., _BASE] + at
                raw = m.memory.load(m, ins, address, part, part, GLOBAL)
            parts.append(np.where(inside, raw, raw.dtype.type(0)))
        whole = np.ascontiguousarray(np.stack(parts, axis=-1))
        return decode(whole.view(raw_dtype(type_.size))[..., 0], type_)

    return load


def _store(ins: Instruction) -> Callable[[Machine, Any, Array, Array, Array, Array], None]:
    type_ = ins.operands[0].type
    of_resource = ins.operands[1].type
    part, count = _parts(type_.size)
    immediate(ins.operands[4])

    def store(
        m: Machine, data: Any, value: Array, voffset: Array, soffset: Array, _: Array
    ) -> None:
        resource = _resource(value, of_resource)
        offset = voffset.astype(np.int64) + soffset
        raw = encode(data, type_)
        parts = np.ascontiguousarray(raw)[..., None].view(raw_dtype(part))
        for index in range(count):
            at = offset + index * part
            inside = at + part <= resource[..., _BYTES]
            with m.narrowed(inside) as any_lane:
                if any_lane:
                    address = resource[..., _BASE] + at
                    m.memory.store(m, ins, address, parts[..., index], part, GLOBAL)

    return store


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.make.buffer.rsrc": _make,
    "llvm.amdgcn.raw.ptr.buffer.load": _load,
    "llvm.amdgcn.raw.buffer.load": _load,
    "llvm.amdgcn.raw.ptr.buffer.store": _store,
    "llvm.amdgcn.raw.buffer.store": _store,
}
