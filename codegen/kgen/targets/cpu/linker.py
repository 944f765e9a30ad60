"""A relocatable object to a shared object that any ELF loader takes: one kernel, no dependencies.

The input is one self-contained object: code and constants, no writable data, no undefined symbol,
as LLVM makes for x86-64 and aarch64 with the small code model and position-independent code. The
output has no relocation left, so that loading is mapping. Relocation types and their calculations:
System V ABI, AMD64 supplement, table 4.9; ELF for the Arm 64-bit Architecture, 5.7.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import ElfFile, Relocation, Section, align

EM_X86_64, EM_AARCH64 = 62, 183
#: Segments with different rights lie on different pages; 64 KiB is aarch64's largest page.
PAGE = 0x10000
#: Frame descriptions serve debuggers and exceptions; a kernel raises none.
DROPPED = (".eh_frame", ".note.GNU-stack")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a section's bytes go: at `offset` of the file and `address` of the image."""

    section: Section
    offset: int
    address: int
    data: bytearray


def link(data: bytes) -> bytes:
    """The shared object. Raises AssembleError for anything but self-contained read-only code."""
    obj = elf.read(data)
    sections = [
        s for s in obj.sections if s.has(elf.SHF_ALLOC) and s.size and s.name not in DROPPED
    ]
    check(obj, sections)
    exported = [s for s in obj.symbols if s.exported]
    names = elf.StringTable()
    symbol_names = [names.add(s.name) for s in exported]

    constants = [s for s in sections if not s.has(elf.SHF_EXECINSTR)]
    code = [s for s in sections if s.has(elf.SHF_EXECINSTR)]
    segments = 5
    symbol_table = elf.HEADER.size + segments * elf.SEGMENT.size
    hash_table = symbol_table + elf.SYMBOL.size * (1 + len(exported))
    hash_data = elf.hash_table([s.name for s in exported])
    string_table = hash_table + len(hash_data)
    places, end = place(constants, string_table + len(names.data), base=0)
    code_start = align(end, 64)
    code_places, code_end = place(code, code_start, base=PAGE)
    places |= code_places
    dynamic = align(code_end, 16)

    for relocation in obj.relocations:
        if relocation.section in places:
            apply(obj.machine, relocation, places)

    dynamic_data = b"".join(
        elf.DYNAMIC.pack(tag, value)
        for tag, value in (
            (elf.DT_HASH, hash_table),
            (elf.DT_STRTAB, string_table),
            (elf.DT_SYMTAB, symbol_table),
            (elf.DT_STRSZ, len(names.data)),
            (elf.DT_SYMENT, elf.SYMBOL.size),
            (elf.DT_NULL, 0),
        )
    )
    out = bytearray(dynamic + len(dynamic_data))

    def write(offset: int, chunk: bytes) -> None:
        out[offset : offset + len(chunk)] = chunk

    write(0, header(obj, segments))
    rx, rw, r = elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W, elf.PF_R
    rows = (
        (elf.PT_LOAD, r, 0, 0, end, PAGE),
        (elf.PT_LOAD, rx, code_start, PAGE + code_start, code_end - code_start, PAGE),
        # Dynamic loaders store the addresses that they find into this segment.
        (elf.PT_LOAD, rw, dynamic, 2 * PAGE + dynamic, len(dynamic_data), PAGE),
        (elf.PT_DYNAMIC, rw, dynamic, 2 * PAGE + dynamic, len(dynamic_data), 8),
        (elf.PT_GNU_STACK, rw, 0, 0, 0, 16),
    )
    for i, (kind, flags, offset, address, size, alignment) in enumerate(rows):
        segment = elf.SEGMENT.pack(kind, flags, offset, address, address, size, size, alignment)
        write(elf.HEADER.size + i * elf.SEGMENT.size, segment)
    for i, (symbol, name) in enumerate(zip(exported, symbol_names, strict=True), 1):
        value = places[symbol.section].address + symbol.value
        entry = elf.SYMBOL.pack(name, symbol.info, symbol.other, 1, value, symbol.size)
        write(symbol_table + i * elf.SYMBOL.size, entry)
    write(hash_table, hash_data)
    write(string_table, names.data)
    for p in places.values():
        write(p.offset, bytes(p.data))
    write(dynamic, dynamic_data)
    return bytes(out)


def check(obj: ElfFile, sections: list[Section]) -> None:
    """Raise AssembleError unless the object is self-contained and read-only."""
    if obj.type != elf.ET_REL or obj.machine not in (EM_X86_64, EM_AARCH64):
        raise AssembleError("the linker takes relocatable objects for x86-64 and aarch64")
    undefined = [s.name for s in obj.symbols[1:] if s.section == elf.SHN_UNDEF]
    if undefined:
        raise AssembleError(
            f"the code calls {', '.join(undefined)}, which a kernel does not bring; "
            "report this as a bug of the template"
        )
    for section in sections:
        if section.has(elf.SHF_WRITE):
            raise AssembleError(
                f"the code has writable data ({section.name}); kernels keep no state; "
                "report this as a bug of the template"
            )


def place(sections: list[Section], start: int, base: int) -> tuple[dict[int, Place], int]:
    """Put sections one after the other from file offset `start`; also says where they end."""
    places, end = {}, start
    for section in sections:
        offset = align(end, section.alignment)
        places[section.index] = Place(
            section=section, offset=offset, address=base + offset, data=bytearray(section.data)
        )
        end = offset + section.size
    return places, end


def header(obj: ElfFile, segments: int) -> bytes:
    return elf.HEADER.pack(
        b"\x7fELF\x02\x01\x01" + bytes(9),
        elf.ET_DYN,
        obj.machine,
        1,
        0,
        elf.HEADER.size,
        0,
        obj.flags,
        elf.HEADER.size,
        elf.SEGMENT.size,
        segments,
        elf.SECTION.size,
        0,
        0,
    )


def apply(machine: int, relocation: Relocation, places: dict[int, Place]) -> None:
    """Patch the place: S + A is the target's address, P the place's own."""
    here = places[relocation.section]
    value = places[relocation.symbol.section].address + relocation.symbol.value + relocation.addend
    position = here.address + relocation.offset
    table = X86_64 if machine == EM_X86_64 else AARCH64
    patch = table.get(relocation.type)
    if patch is None:
        raise AssembleError(f"relocation type {relocation.type} of {here.section.name} is unknown")
    try:
        patch(here.data, relocation.offset, value, position)
    except struct.error:
        raise AssembleError(f"a jump in {here.section.name} is too far for its field") from None


Patch = Callable[[bytearray, int, int, int], None]


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
