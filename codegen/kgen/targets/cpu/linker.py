"""A relocatable object to a shared object that any ELF loader takes: one kernel, no dependencies.

The input is self-contained: code and constants, no writable data, no undefined symbol. The output
has no relocation left, so that loading it is mapping it. It is laid out as the System V ABI's ELF
chapter (gABI 4.1) asks, with section headers and the names of all functions for disassemblers,
debuggers and profilers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.cpu.relocations import EM_AARCH64, EM_X86_64, relocate
from kgen.targets.elf import ElfFile, ElfSymbol, Section

#: Parts with different rights lie on different pages; 64 KiB is aarch64's largest page. The file
#: has no gaps: a part's addresses run ahead of its offsets by whole pages.
PAGE = 0x10000
#: Frame descriptions serve debuggers and exceptions; a kernel raises none.
DROPPED = (".eh_frame", ".note.GNU-stack")
SEGMENTS = 5


@dataclass(kw_only=True)
class Output:
    """A section of the shared object; `place` gives it its offset and address."""

    name: str
    type: int
    flags: int
    data: bytearray
    alignment: int
    link: int = 0
    info: int = 0
    entry_size: int = 0
    offset: int = 0
    address: int = 0


def link(data: bytes) -> bytes:
    """The shared object. Raises AssembleError for anything but self-contained read-only code."""
    obj = elf.read(data)
    inputs = [s for s in obj.sections if s.has(elf.SHF_ALLOC) and s.size and s.name not in DROPPED]
    check(obj, inputs)
    exported = [s for s in obj.symbols if s.exported]
    names = elf.StringTable()
    name_offsets = [names.add(s.name) for s in exported]
    functions = sorted((s for s in obj.symbols if s.is_function), key=lambda s: s.binding)
    all_names = elf.StringTable()
    function_names = [all_names.add(s.name) for s in functions]

    copies = {s.index: copy_of(s) for s in inputs}
    constants = [copies[s.index] for s in inputs if not s.has(elf.SHF_EXECINSTR)]
    code = [copies[s.index] for s in inputs if s.has(elf.SHF_EXECINSTR)]
    symbol_table = table(".dynsym", elf.SHT_DYNSYM, bytes(elf.SYMBOL.size * (1 + len(exported))))
    symbol_table.link, symbol_table.info, symbol_table.entry_size = 3, 1, elf.SYMBOL.size
    hashes = table(".hash", elf.SHT_HASH, elf.hash_table([s.name for s in exported]))
    hashes.link = 1
    strings = table(".dynstr", elf.SHT_STRTAB, names.data)
    dynamic = table(".dynamic", elf.SHT_DYNAMIC, bytes(elf.DYNAMIC.size * 6))
    dynamic.link, dynamic.flags = 3, elf.SHF_ALLOC | elf.SHF_WRITE
    readable = [symbol_table, hashes, strings, *constants]
    function_table = table(".symtab", elf.SHT_SYMTAB, bytes(elf.SYMBOL.size * (1 + len(functions))))
    function_table.entry_size = elf.SYMBOL.size
    function_table.info = 1 + sum(s.binding == elf.STB_LOCAL for s in functions)
    unloaded = [function_table, table(".strtab", elf.SHT_STRTAB, all_names.data)]

    start = elf.HEADER.size + SEGMENTS * elf.SEGMENT.size
    readable_end = place(readable, start, base=0)
    code_end = place(code, readable_end, base=PAGE)
    end = place([dynamic], code_end, base=2 * PAGE)
    file_end = place(unloaded, end, base=0)
    for part in unloaded:
        part.flags, part.address = 0, 0

    sections = [*readable, *code, dynamic, *unloaded]
    function_table.link = len(sections)
    homes = {index: (1 + sections.index(home), home) for index, home in copies.items()}
    fill(symbol_table, zip(exported, name_offsets, strict=True), homes)
    fill(function_table, zip(functions, function_names, strict=True), homes)
    entries = (
        (elf.DT_HASH, hashes.address),
        (elf.DT_STRTAB, strings.address),
        (elf.DT_SYMTAB, symbol_table.address),
        (elf.DT_STRSZ, len(strings.data)),
        (elf.DT_SYMENT, elf.SYMBOL.size),
        (elf.DT_NULL, 0),
    )
    dynamic.data[:] = b"".join(elf.DYNAMIC.pack(*entry) for entry in entries)
    apply_relocations(obj, copies)

    read, execute, write = elf.PF_R, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W
    segments = b"".join(
        (
            segment(elf.PT_LOAD, read, 0, 0, readable_end),
            segment(elf.PT_LOAD, execute, code[0].offset, code[0].address, code_end),
            # Dynamic loaders store the addresses that they find into this one.
            segment(elf.PT_LOAD, write, dynamic.offset, dynamic.address, end),
            segment(elf.PT_DYNAMIC, write, dynamic.offset, dynamic.address, end, alignment=16),
            segment(elf.PT_GNU_STACK, write, 0, 0, 0, alignment=16),
        )
    )
    return write_file(obj, segments, sections, file_end)


def fill(
    symbols: Output, names: Iterable[tuple[ElfSymbol, int]], homes: dict[int, tuple[int, Output]]
) -> None:
    """Write a symbol table: symbols with the offsets of their names; `homes` are their sections'
    new numbers and places."""
    for i, (symbol, name) in enumerate(names, 1):
        number, home = homes[symbol.section]
        at = i * elf.SYMBOL.size
        address = home.address + symbol.value
        elf.SYMBOL.pack_into(
            symbols.data, at, name, symbol.info, symbol.other, number, address, symbol.size
        )


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


def copy_of(section: Section) -> Output:
    return Output(
        name=section.name,
        type=section.type,
        flags=section.flags & (elf.SHF_ALLOC | elf.SHF_EXECINSTR),
        data=bytearray(section.data),
        alignment=section.alignment,
    )


def table(name: str, kind: int, data: bytes) -> Output:
    return Output(name=name, type=kind, flags=elf.SHF_ALLOC, data=bytearray(data), alignment=16)


def place(sections: list[Output], start: int, base: int) -> int:
    """Lay sections one after the other from file offset `start` on; says where they end."""
    end = start
    for section in sections:
        section.offset = elf.align(end, max(section.alignment, 16))
        section.address = base + section.offset
        end = section.offset + len(section.data)
    return end


def apply_relocations(obj: ElfFile, copies: dict[int, Output]) -> None:
    for relocation in obj.relocations:
        here = copies.get(relocation.section)
        if here is None:
            continue
        symbol: ElfSymbol = relocation.symbol
        value = copies[symbol.section].address + symbol.value + relocation.addend
        position = here.address + relocation.offset
        relocate(obj.machine, relocation.type, here.data, relocation.offset, value, position)


def segment(
    kind: int, flags: int, offset: int, address: int, end: int, alignment: int = PAGE
) -> bytes:
    """A program header for the file's bytes [offset, end)."""
    size = end - offset
    return elf.SEGMENT.pack(kind, flags, offset, address, address, size, size, alignment)


def write_file(obj: ElfFile, segments: bytes, sections: list[Output], end: int) -> bytes:
    """ELF header, program headers, sections, their names, and the section headers."""
    names = elf.StringTable()
    name_offsets = [names.add(s.name) for s in sections]
    own_name = names.add(".shstrtab")
    headers_at = elf.align(end + len(names.data), 8)
    out = bytearray(headers_at)
    out[: elf.HEADER.size] = elf.HEADER.pack(
        b"\x7fELF\x02\x01\x01" + bytes(9),
        elf.ET_DYN,
        obj.machine,
        1,
        0,
        elf.HEADER.size,
        headers_at,
        obj.flags,
        elf.HEADER.size,
        elf.SEGMENT.size,
        SEGMENTS,
        elf.SECTION.size,
        len(sections) + 2,
        len(sections) + 1,
    )
    out[elf.HEADER.size : elf.HEADER.size + len(segments)] = segments
    out += bytes(elf.SECTION.size)
    for section, name in zip(sections, name_offsets, strict=True):
        out[section.offset : section.offset + len(section.data)] = section.data
        out += elf.SECTION.pack(
            name,
            section.type,
            section.flags,
            section.address,
            section.offset,
            len(section.data),
            section.link,
            section.info,
            section.alignment,
            section.entry_size,
        )
    out[end : end + len(names.data)] = names.data
    size = len(names.data)
    out += elf.SECTION.pack(own_name, elf.SHT_STRTAB, 0, 0, end, size, 0, 0, 1, 0)
    return bytes(out)
