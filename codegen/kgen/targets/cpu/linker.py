"""Link one kernel's relocatable object into a shared object that any ELF loader accepts.

The input is self-contained: code and constants, no writable data, no undefined symbol. The output
has no relocations, so a loader only maps it.

The relocation types are those that LLVM emits for a self-contained module with the small code model
and position-independent code. Sources: System V ABI, AMD64 supplement, table 4.9; ELF for the Arm
64-bit Architecture, 5.7.
"""

from __future__ import annotations

import struct

from kgen.targets import elf_image
from kgen.targets.elf_image import FileLayout, Write, relative32, relative64

EM_X86_64, EM_AARCH64 = 62, 183
#: 64 KiB is aarch64's largest page.
LAYOUT = FileLayout(page=0x10000, alignment=16)
#: Frame descriptions serve debuggers and exceptions; a kernel raises none.
DROPPED = (".eh_frame", ".note.GNU-stack")


def link(data: bytes) -> bytes:
    """Return the shared object. Raises AssembleError for code that is not self-contained."""
    return elf_image.link(data, LAYOUT, WRITERS, DROPPED)


def branch26(data: bytearray, at: int, value: int, position: int) -> None:
    """Patch B or BL: a signed word offset in bits 0-25."""
    insert(data, at, ((value - position) >> 2) & 0x3FFFFFF)


def page21(data: bytearray, at: int, value: int, position: int) -> None:
    """Patch ADRP: a signed page offset, its low two bits in 29-30, the others in 5-23."""
    pages = (value >> 12) - (position >> 12)
    insert(data, at, (pages & 3) << 29 | ((pages >> 2) & 0x7FFFF) << 5)


def low12(shift: int) -> Write:
    """Return the function that patches ADD (`shift` 0) or a load or store of 2**shift bytes. Bits
    0-11 of the address, shifted right by `shift`, go to bits 10-21 of the instruction."""

    def patch(data: bytearray, at: int, value: int, position: int) -> None:
        insert(data, at, ((value & 0xFFF) >> shift) << 10)

    return patch


def insert(data: bytearray, at: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", data, at)
    struct.pack_into("<I", data, at, word | bits)


#: R_X86_64_PC32, PLT32, PC64.
X86_64: dict[int, Write] = {2: relative32, 4: relative32, 24: relative64}
#: R_AARCH64_PREL32, ADR_PREL_PG_HI21, ADD_ABS_LO12_NC, LDST8/16/32/64/128_ABS_LO12_NC, JUMP26,
#: CALL26.
AARCH64: dict[int, Write] = {
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

WRITERS = {EM_X86_64: X86_64, EM_AARCH64: AARCH64}
