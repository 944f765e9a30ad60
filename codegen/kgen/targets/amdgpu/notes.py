"""Read a kernel's resource usage from the metadata note in its code object.

The note (name ``AMDGPU``, type 32) is a MessagePack map (AMDGPUUsage, "Code Object V5 Metadata").
The reader covers what LLVM writes: maps, arrays, strings, integers, booleans, nil and floats
(MessagePack specification, "Formats").
"""

from __future__ import annotations

import struct
from typing import Any

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen_runtime.manifest import Resources

NT_AMDGPU_METADATA = 32
REGISTER_BYTES = 4

#: Big-endian numbers, by first byte: float, double, uint8 to uint64, int8 to int64.
_NUMBERS = dict(zip(range(0xCA, 0xD4), (f">{c}" for c in "fdBHIQbhiq"), strict=True))
#: Lengths, by first byte: of strings (three sizes), arrays and maps (two each).
_LENGTHS = dict(zip(range(0xD9, 0xE0), (f">{c}" for c in "BHIHIHI"), strict=True))
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def metadata(code_object: bytes) -> dict[str, Any]:
    """Return the metadata map of a code object or object file. Raises AssembleError if it has
    none."""
    for section in elf.read(code_object).sections:
        if section.type == elf.SHT_NOTE:
            for note in elf.notes_in(section):
                if note.name == "AMDGPU" and note.type == NT_AMDGPU_METADATA:
                    decoded = unpack(note.description)
                    assert isinstance(decoded, dict)
                    return decoded
    raise AssembleError("the code object has no AMDGPU metadata note")


def resources(code_object: bytes) -> Resources:
    """Return registers per lane, spilled bytes per lane, LDS bytes per workgroup and code bytes.
    Each number but the last is that of the kernel that needs most."""
    kernels = metadata(code_object)["amdhsa.kernels"]

    def most(*names: str) -> int:
        return max(sum(int(kernel.get(name, 0)) for name in names) for kernel in kernels)

    return Resources(
        # `.vgpr_count` is the whole unified file on CDNA, accumulators included.
        registers=most(".vgpr_count"),
        accumulator_registers=most(".agpr_count"),
        scalar_registers=most(".sgpr_count"),
        spills=REGISTER_BYTES * most(".vgpr_spill_count", ".sgpr_spill_count"),
        stack=most(".private_segment_fixed_size"),
        shared_memory=most(".group_segment_fixed_size"),
        code_bytes=elf.read(code_object).section(".text").size,
    )


def unpack(data: bytes) -> Any:
    """Return the MessagePack value in `data`. Raises AssembleError for a format not listed
    above."""
    value, _ = _value(data, 0)
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """Return a value and the position after it."""
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    if first in _NUMBERS:
        return _number(_NUMBERS[first], data, at)
    if first < 0x90:
        return _map(data, at, first & 0x0F)
    if first < 0xA0:
        return _array(data, at, first & 0x0F)
    if first < 0xC0:
        return _string(data, at, first & 0x1F)
    if first not in _LENGTHS:
        raise AssembleError(f"MessagePack format {first:#x} in the metadata note is not supported")
    length, at = _number(_LENGTHS[first], data, at)
    container = _string if first <= 0xDB else _array if first <= 0xDD else _map
    return container(data, at, length)


def _number(layout: str, data: bytes, at: int) -> tuple[Any, int]:
    return struct.unpack_from(layout, data, at)[0], at + struct.calcsize(layout)


def _string(data: bytes, at: int, length: int) -> tuple[str, int]:
    return data[at : at + length].decode(), at + length


def _array(data: bytes, at: int, length: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(length):
        value, at = _value(data, at)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, length: int) -> tuple[dict[Any, Any], int]:
    values = {}
    for _ in range(length):
        key, at = _value(data, at)
        values[key], at = _value(data, at)
    return values, at
