"""Patching addresses into x86-64 and aarch64 code.

Types and calculations: System V ABI, AMD64 supplement, table 4.9; ELF for the Arm 64-bit
Architecture, 5.7. Only what LLVM makes with the small code model and position-independent code, in
a module that refers to nothing outside.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from kgen.errors import AssembleError

EM_X86_64, EM_AARCH64 = 62, 183

#: (data, offset, value S + A, position P)
Patch = Callable[[bytearray, int, int, int], None]


def relocate(
    machine: int, kind: int, data: bytearray, offset: int, value: int, position: int
) -> None:
    """Patch `data` at `offset`: `value` is the address that is meant, `position` the place's own.

    Raises AssembleError for a type that is not known and a distance that does not fit.
    """
    patch = (X86_64 if machine == EM_X86_64 else AARCH64).get(kind)
    if patch is None:
        raise AssembleError(f"the linker does not know relocation type {kind} of machine {machine}")
    try:
        patch(data, offset, value, position)
    except struct.error:
        raise AssembleError(f"a distance of {value - position} bytes is too far to link") from None


def relative32(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<i", data, at, value - position)


def relative64(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<q", data, at, value - position)


def branch26(data: bytearray, at: int, value: int, position: int) -> None:
    """B and BL: a signed word offset in bits 0-25."""
    insert(data, at, ((value - position) >> 2) & 0x3FFFFFF)


def page21(data: bytearray, at: int, value: int, position: int) -> None:
    """ADRP: a signed page offset, its low two bits in 29-30, the others in 5-23."""
    pages = (value >> 12) - (position >> 12)
    insert(data, at, (pages & 3) << 29 | ((pages >> 2) & 0x7FFFF) << 5)


def low12(shift: int) -> Patch:
    """ADD and loads of 2**shift bytes: the low 12 bits of the address, scaled, in bits 10-21."""

    def patch(data: bytearray, at: int, value: int, position: int) -> None:
        insert(data, at, ((value & 0xFFF) >> shift) << 10)

    return patch


def insert(data: bytearray, at: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", data, at)
    struct.pack_into("<I", data, at, word | bits)


#: R_X86_64_PC32, PLT32, PC64.
X86_64: dict[int, Patch] = {2: relative32, 4: relative32, 24: relative64}
#: R_AARCH64_PREL32, ADR_PREL_PG_HI21, ADD_ABS_LO12_NC, LDST8/16/32/64/128_ABS_LO12_NC, JUMP26,
#: CALL26.
AARCH64: dict[int, Patch] = {
    261: relative32,
    275: page21,
    277: low12(0),
    278: low12(0),
    284: low12(1),
    285: low12(2),
    286: low12(3),
    299: low12(4),
    282: branch26,
    283: branch26,
}
