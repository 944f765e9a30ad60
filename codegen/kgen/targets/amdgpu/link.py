"""Link the object file of one kernel into the code object that the HIP runtime loads.

The result equals that of `ld.lld -shared`: a test compares symbols, notes, constants and code. The
ROCm loader reads section headers, ``.symtab`` and the loadable segments (AMDGPUUsage, "Code
Object").
"""

from __future__ import annotations

import struct

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.amdgpu.image import EM_AMDGPU, Image, OutputSection
from kgen.targets.elf import ElfFile, ElfSymbol, Relocation

#: Alignment of kernels in bytes, which their descriptors promise.
CODE_ALIGNMENT = 256
#: Relocations (AMDGPUUsage, "Relocation Records"), all of them relative: S + A - P.
R_REL32, R_REL64, R_REL32_LO, R_REL32_HI = 4, 5, 10, 11


def link(data: bytes) -> bytes:
    """Return the loadable code object (ET_DYN) of a relocatable object.

    Raises AssembleError for an object that is not self-contained: undefined symbols, writable data
    or a relocation that kernels do not need.
    """
    source = elf.read(data)
    check(source)
    loaded = [s for s in source.sections if s.has(elf.SHF_ALLOC) and s.size]
    notes = [s for s in loaded if s.type == elf.SHT_NOTE]
    code = [s for s in loaded if s.has(elf.SHF_EXECINSTR)]
    constants = [s for s in loaded if s not in notes and s not in code]
    exported = [s for s in source.symbols if s.exported]

    image = Image(segments=6 + len(notes))
    image.keep(notes, alignment=4)
    symbols = add_dynamic_symbols(image, exported)
    image.keep(constants)
    image.next_page()
    image.keep(code, alignment=CODE_ALIGNMENT)
    image.next_page()
    add_dynamic_section(image)

    for section, output in image.kept.items():
        for relocation in source.relocations_of(source.sections[section]):
            patch(output.data, relocation, image.address(relocation.symbol), output.address)
    symbols.data[elf.SYMBOL.size :] = b"".join(
        elf.SYMBOL.pack(
            image.named(".dynstr").data.index(symbol.name.encode() + b"\0"),
            symbol.info,
            symbol.other,
            image.number(image.kept[symbol.section]),
            image.address(symbol),
            symbol.size,
        )
        for symbol in exported
    )
    return image.write(source)


def check(source: ElfFile) -> None:
    """Raise AssembleError unless the object is self-contained and read-only."""
    if source.type != elf.ET_REL or source.machine != EM_AMDGPU:
        raise AssembleError("the code generator's output is not an AMDGPU object file")
    for symbol in source.symbols[1:]:
        if symbol.section == elf.SHN_UNDEF:
            raise AssembleError(
                f"the kernel calls {symbol.name}, which it does not define; kernels are linked "
                "without libraries"
            )
    for section in source.sections:
        if section.has(elf.SHF_WRITE) and section.size:
            raise AssembleError(
                f"the kernel has writable data in {section.name}; kernels must be read-only"
            )


def add_dynamic_symbols(image: Image, exported: list[ElfSymbol]) -> OutputSection:
    """Add the symbol table (its addresses come later), the hash table and the names for the
    loader."""
    names = elf.StringTable()
    for symbol in exported:
        names.add(symbol.name)
    symbols = image.add(
        OutputSection(
            name=".dynsym",
            type=elf.SHT_DYNSYM,
            flags=elf.SHF_ALLOC,
            data=bytearray((1 + len(exported)) * elf.SYMBOL.size),
            alignment=8,
            link=".dynstr",
            info=1,  # index of the first symbol that is not local
            entry_size=elf.SYMBOL.size,
        )
    )
    image.add(
        OutputSection(
            name=".hash",
            type=elf.SHT_HASH,
            flags=elf.SHF_ALLOC,
            data=bytearray(elf.hash_table([s.name for s in exported])),
            alignment=4,
            link=".dynsym",
            entry_size=4,
        )
    )
    image.add(
        OutputSection(
            name=".dynstr",
            type=elf.SHT_STRTAB,
            flags=elf.SHF_ALLOC,
            data=bytearray(names.data),
        )
    )
    return symbols


def add_dynamic_section(image: Image) -> None:
    entries = (
        (elf.DT_SYMTAB, image.named(".dynsym").address),
        (elf.DT_SYMENT, elf.SYMBOL.size),
        (elf.DT_STRTAB, image.named(".dynstr").address),
        (elf.DT_STRSZ, len(image.named(".dynstr").data)),
        (elf.DT_HASH, image.named(".hash").address),
        (elf.DT_NULL, 0),
    )
    image.add(
        OutputSection(
            name=".dynamic",
            type=elf.SHT_DYNAMIC,
            flags=elf.SHF_ALLOC | elf.SHF_WRITE,
            data=bytearray(b"".join(elf.DYNAMIC.pack(*entry) for entry in entries)),
            alignment=8,
            link=".dynstr",
            entry_size=elf.DYNAMIC.size,
        )
    )


def patch(data: bytearray, relocation: Relocation, symbol: int, section: int) -> None:
    """Resolve a relocation in the bytes of a section at this address."""
    at = relocation.offset
    value = symbol + relocation.addend - (section + at)
    if relocation.type == R_REL64:
        struct.pack_into("<q", data, at, value)
    elif relocation.type == R_REL32:
        struct.pack_into("<i", data, at, value)
    elif relocation.type == R_REL32_LO:
        struct.pack_into("<I", data, at, value & 0xFFFFFFFF)
    elif relocation.type == R_REL32_HI:
        struct.pack_into("<I", data, at, value >> 32 & 0xFFFFFFFF)
    else:
        name = relocation.symbol.name
        raise AssembleError(f"relocation type {relocation.type} of {name} is not supported")
