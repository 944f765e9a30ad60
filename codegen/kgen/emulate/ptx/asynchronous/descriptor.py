"""Tensor maps (TMA descriptors) as the 128 opaque bytes that a program may copy and modify.

PTX defines the fields of a tensor map, but not their offsets; the layout here is the emulator's
own. As on a GPU, a copy of the bytes is a valid tensor map.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from kgen.emulate.ptx.asynchronous.tensor_box import MappedTensor
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.tensor_map import TensorMap
from kgen.emulate.windows import WINDOW_BITS, window_start
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

MAP_BYTES = 128
#: Last byte of every tensor map.
MARK = 0x6B
_LAYOUT = struct.Struct("<Q5Q4Q5I5I4B3xB")
_MOST_DIMENSIONS, _ALIGNMENT = 5, 16

#: Element types by number (PTX ISA, tensormap.replace). Types that flush subnormals (such as 8 and
#: 12) are not supported.
ELEMENT_TYPES = {
    0: "u8", 1: "u16", 2: "u32", 3: "s32", 4: "u64", 5: "s64",
    6: "f16", 7: "f32", 9: "f64", 10: "bf16", 11: "tf32",
}  # fmt: skip
SWIZZLES = {0: 0, 1: 32, 2: 64, 3: 128}
FILLS = {0: "zero", 1: "nan"}


@frozen
class Field:
    """Location of a field: `count` values of `size` bytes, one per dimension."""

    offset: int
    size: int
    count: int = 1


FIELDS = {
    "global_address": Field(offset=0, size=8),
    "global_dim": Field(offset=8, size=8, count=5),
    "global_stride": Field(offset=48, size=8, count=4),
    "box_dim": Field(offset=80, size=4, count=5),
    "element_stride": Field(offset=100, size=4, count=5),
    "rank": Field(offset=120, size=1),
    "elemtype": Field(offset=121, size=1),
    "swizzle_mode": Field(offset=122, size=1),
    "fill_mode": Field(offset=123, size=1),
}


def encode(map_: TensorMap, base: int) -> bytes:
    """Encode a map whose tensor starts at a global address."""
    rank = map_.rank
    return _LAYOUT.pack(
        base,
        *_padded(map_.shape, 5, 1),
        *_padded(map_.byte_strides[1:], 4, 0),
        *_padded(map_.box, 5, 1),
        *_padded(map_.element_strides or (1,) * rank, 5, 1),
        rank - 1,
        _number(ELEMENT_TYPES, map_.dtype),
        _number(SWIZZLES, map_.swizzle),
        _number(FILLS, map_.fill),
        MARK,
    )


def decode(data: bytes, memory: GlobalMemory) -> MappedTensor | None:
    """Decode 128 bytes to a tensor map; None if they are not one.

    Raises EmulationError for a map that the driver would not encode.
    """
    base, *rest, rank, element, swizzle, fill, mark = _LAYOUT.unpack(data)
    if mark != MARK:
        return None
    rank += 1
    if rank > _MOST_DIMENSIONS:
        raise EmulationError(f"the tensor map has {rank} dimensions; it can have 1 to 5")
    number, offset = (base >> WINDOW_BITS) - 1, base & (window_start(0) - 1)
    inside = 0 <= number < len(memory.buffers) and offset < len(memory.buffers[number])
    if not inside or base % _ALIGNMENT:
        where = "not a multiple of 16" if inside else "in no buffer"
        raise EmulationError(f"the tensor map has the global address {base:#x}, which is {where}")
    if element not in ELEMENT_TYPES or swizzle not in SWIZZLES or fill not in FILLS:
        raise EmulationError("the tensor map is invalid: the kernel has stored over its bytes")
    map_ = TensorMap(
        buffer=memory.buffers[number][offset:],
        dtype=ELEMENT_TYPES[element],
        shape=rest[:rank],
        strides=rest[5 : 4 + rank],
        box=rest[9 : 9 + rank],
        element_strides=rest[14 : 14 + rank],
        swizzle=SWIZZLES[swizzle],
        fill=FILLS[fill],
    )
    return MappedTensor(map=map_, base=base)


def _padded(values: Sequence[int], count: int, value: int) -> list[int]:
    return [*values, *[value] * (count - len(values))]


def _number(table: Mapping[int, object], value: object) -> int:
    return next(number for number, name in table.items() if name == value)
