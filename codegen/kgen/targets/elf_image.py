"""Shared object of one kernel for loaders of ELF files, linked from a relocatable one.

The file holds, in this order: read-only data (headers, notes, dynamic symbols, constants), code,
the dynamic section, and tables that are not loaded. In memory each of the first three starts on a
page of its own: its addresses are its file offsets plus 0, 1 or 2 pages. The System V ABI's ELF
chapter (gABI 4.1) describes the records. Section headers and the names of all functions serve
disassemblers, debuggers and profilers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import ElfFile, ElfSymbol, Relocation, Section
from kgen_runtime.values import frozen

#: Resolve a relocation in the bytes of its section: the relocation's offset, the address that it
#: means (S + A), and its own address (P).
Write = Callable[[bytearray, int, int, int], None]
#: Functions that resolve each type of relocation.
Writers = Mapping[int, Write]


@frozen
class FileLayout:
    """Page size and minimum alignments of a shared object, in bytes. `has_phdr`: the program
    headers describe themselves (PT_PHDR)."""

    page: int
    alignment: int = 1
    code_alignment: int = 1
    has_phdr: bool = False


@dataclass(kw_only=True)
class OutputSection:
    """Section of the output. `link` names the section to which its header refers."""

    name: str
    type: int
    flags: int = 0
    data: bytearray
    alignment: int = 1
    link: str = ""
    info: int = 0
    entry_size: int = 0
    offset: int = 0
    address: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


def relative32(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<i", data, at, value - position)


def relative64(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<q", data, at, value - position)


def link(
    data: bytes,
    layout: FileLayout,
    machines: Mapping[int, Writers],
    dropped: Collection[str] = (),
) -> bytes:
    """Return the shared object (ET_DYN) of a relocatable object for one of the `machines`, without
    the sections that are `dropped`.

    Raises AssembleError for an object that is not self-contained: undefined symbols, writable data
    or a relocation of another type.
    """
    source = elf.read(data)
    inputs = [s for s in source.sections if s.has(elf.SHF_ALLOC) and s.size]
    inputs = [s for s in inputs if s.name not in dropped]
    check(source, inputs, machines)
    notes = [s for s in inputs if s.type == elf.SHT_NOTE]
    code = [s for s in inputs if s.has(elf.SHF_EXECINSTR)]
    exported = [s for s in source.symbols if s.exported]
    image = Image(layout, notes=len(notes))
    image.keep(notes, alignment=4)
    image.add_dynamic_symbols(exported)
    image.keep(s for s in inputs if s not in notes and s not in code)
    image.next_page()
    image.keep(code, alignment=layout.code_alignment)
    image.next_page()
    image.add_dynamic_section()
    for relocation in source.relocations:
        if output := image.kept.get(relocation.section):
            value = image.address(relocation.symbol) + relocation.addend
            resolve(output, relocation, value, machines[source.machine])
    image.named(".dynsym").data[:] = image.symbol_table(exported)
    return image.write(source)


def check(source: ElfFile, inputs: Iterable[Section], machines: Collection[int]) -> None:
    """Raise AssembleError unless an object for one of the machines is self-contained, and its
    loaded sections are read-only."""
    if source.type != elf.ET_REL or source.machine not in machines:
        raise AssembleError("the code generator's output is not an object file for this target")
    undefined = [s.name for s in source.symbols[1:] if s.section == elf.SHN_UNDEF]
    if undefined:
        raise AssembleError(
            f"the code calls {', '.join(undefined)}, which it does not define; kernels are linked "
            "without libraries; report this as a bug of the template"
        )
    for section in inputs:
        if section.has(elf.SHF_WRITE):
            raise AssembleError(
                f"the code has writable data ({section.name}); kernels keep no state; "
                "report this as a bug of the template"
            )


def resolve(output: OutputSection, relocation: Relocation, value: int, writers: Writers) -> None:
    """Resolve a relocation, which means the address `value`, in the bytes of its section."""
    if (write := writers.get(relocation.type)) is None:
        name = relocation.symbol.name
        raise AssembleError(f"relocation type {relocation.type} of {name} is not supported")
    position = output.address + relocation.offset
    try:
        write(output.data, relocation.offset, value, position)
    except struct.error:
        far = value - position
        raise AssembleError(f"a distance of {far} bytes is too far to link") from None


class Image:
    """Output under construction. Sections get their place when they are added."""

    def __init__(self, layout: FileLayout, *, notes: int) -> None:
        self.layout = layout
        self.sections: list[OutputSection] = []
        #: Output section of each input section, by the input's index.
        self.kept: dict[int, OutputSection] = {}
        self._headers = (5 + layout.has_phdr + notes) * elf.SEGMENT.size
        self._end = elf.HEADER.size + self._headers
        self._page = 0

    def add(
        self, name: str, type: int, data: bytes, *, alignment: int = 1, **fields: Any
    ) -> OutputSection:
        """Add a section behind the others; `fields` are as of OutputSection."""
        section = OutputSection(name=name, type=type, data=bytearray(data), **fields)
        section.alignment = alignment
        section.offset = elf.align(self._end, max(alignment, self.layout.alignment))
        if section.flags & elf.SHF_ALLOC:
            section.address = section.offset + self._page
        self._end = section.end
        self.sections.append(section)
        return section

    def keep(self, sections: Iterable[Section], alignment: int = 1) -> None:
        """Copy input sections, aligned to at least `alignment`."""
        for s in sections:
            flags = s.flags & (elf.SHF_ALLOC | elf.SHF_EXECINSTR)
            least = max(alignment, s.alignment)
            self.kept[s.index] = self.add(s.name, s.type, s.data, flags=flags, alignment=least)

    def next_page(self) -> None:
        self._page += self.layout.page

    def named(self, name: str) -> OutputSection:
        return next(s for s in self.sections if s.name == name)

    def number(self, section: OutputSection) -> int:
        """Return the index of a section among the output's section headers; the null section is
        0."""
        return 1 + next(i for i, s in enumerate(self.sections) if s is section)

    def address(self, symbol: ElfSymbol) -> int:
        if symbol.section not in self.kept:
            raise AssembleError(f"the kernel refers to {symbol.name}, whose section is not loaded")
        return self.kept[symbol.section].address + symbol.value

    def symbol_table(self, symbols: Iterable[ElfSymbol]) -> bytes:
        """Return a symbol table; `names_of` the same symbols gives its string table."""
        names, entries = elf.StringTable(), bytes(elf.SYMBOL.size)
        for s in symbols:
            number = self.number(self.kept[s.section])
            address = self.address(s)
            entries += elf.SYMBOL.pack(names.add(s.name), s.info, s.other, number, address, s.size)
        return entries

    def add_dynamic_symbols(self, exported: Sequence[ElfSymbol]) -> None:
        """Add the symbol table (empty yet: addresses come later), hash table and names for a
        loader."""
        flags, entry = elf.SHF_ALLOC, elf.SYMBOL.size
        table, hashes = (
            bytes((1 + len(exported)) * entry),
            elf.hash_table([s.name for s in exported]),
        )
        # Symbol 1 is the first one that is not local.
        header: dict[str, Any] = {"flags": flags, "link": ".dynstr", "info": 1, "entry_size": entry}
        self.add(".dynsym", elf.SHT_DYNSYM, table, alignment=8, **header)
        header = {"flags": flags, "link": ".dynsym", "entry_size": 4}
        self.add(".hash", elf.SHT_HASH, hashes, alignment=4, **header)
        self.add(".dynstr", elf.SHT_STRTAB, names_of(exported), flags=flags)

    def add_dynamic_section(self) -> None:
        entries = (
            (elf.DT_SYMTAB, self.named(".dynsym").address),
            (elf.DT_SYMENT, elf.SYMBOL.size),
            (elf.DT_STRTAB, self.named(".dynstr").address),
            (elf.DT_STRSZ, len(self.named(".dynstr").data)),
            (elf.DT_HASH, self.named(".hash").address),
            (elf.DT_NULL, 0),
        )
        data = b"".join(elf.DYNAMIC.pack(*entry) for entry in entries)
        flags, entry = elf.SHF_ALLOC | elf.SHF_WRITE, elf.DYNAMIC.size
        header: dict[str, Any] = {"flags": flags, "link": ".dynstr", "entry_size": entry}
        self.add(".dynamic", elf.SHT_DYNAMIC, data, alignment=8, **header)

    def write(self, source: ElfFile) -> bytes:
        """Return the file: loaded sections, then the full symbol table and the section headers."""
        segments = self._segments()
        named = [s for s in source.symbols if s.exported or s.is_function]
        named.sort(key=lambda s: s.binding)
        local, entry = sum(s.binding == elf.STB_LOCAL for s in named), elf.SYMBOL.size
        header: dict[str, Any] = {"link": ".strtab", "info": 1 + local, "entry_size": entry}
        self.add(".symtab", elf.SHT_SYMTAB, self.symbol_table(named), alignment=8, **header)
        self.add(".strtab", elf.SHT_STRTAB, names_of(named))
        names = elf.StringTable()
        offsets = [names.add(name) for name in (*(s.name for s in self.sections), ".shstrtab")]
        self.add(".shstrtab", elf.SHT_STRTAB, names.data)

        headers = elf.align(self._end, 8)
        count = 1 + len(self.sections)
        image = bytearray(headers + count * elf.SECTION.size)
        image[: elf.HEADER.size] = elf.HEADER.pack(
            source.ident,
            elf.ET_DYN,
            source.machine,
            1,  # ELF version
            0,  # no entry point
            elf.HEADER.size,
            headers,
            source.flags,
            elf.HEADER.size,
            elf.SEGMENT.size,
            len(segments),
            elf.SECTION.size,
            count,
            count - 1,
        )
        for i, segment in enumerate(segments):
            elf.SEGMENT.pack_into(image, elf.HEADER.size + i * elf.SEGMENT.size, *segment)
        for i, (s, name) in enumerate(zip(self.sections, offsets, strict=True), 1):
            image[s.offset : s.end] = s.data
            elf.SECTION.pack_into(
                image,
                headers + i * elf.SECTION.size,
                name,
                s.type,
                s.flags,
                s.address,
                s.offset,
                len(s.data),
                self.number(self.named(s.link)) if s.link else 0,
                s.info,
                s.alignment,
                s.entry_size,
            )
        return bytes(image)

    def _segments(self) -> list[tuple[int, ...]]:
        """Return the program headers of the sections added so far."""
        code = [s for s in self.sections if s.flags & elf.SHF_EXECINSTR]
        constant = [s for s in self.sections if s.flags == elf.SHF_ALLOC]
        start, dynamic, rw = elf.HEADER.size, [self.named(".dynamic")], elf.PF_R | elf.PF_W
        size, page = self._headers, self.layout.page
        headers = (elf.PT_PHDR, elf.PF_R, start, start, start, size, size, 8)
        return [
            *([headers] if self.layout.has_phdr else []),
            (elf.PT_LOAD, elf.PF_R, 0, 0, 0, constant[-1].end, constant[-1].end, page),
            segment(elf.PT_LOAD, elf.PF_R | elf.PF_X, code, page),
            # Dynamic loaders store the addresses that they find into this one.
            segment(elf.PT_LOAD, rw, dynamic, page),
            segment(elf.PT_DYNAMIC, rw, dynamic, 8),
            (elf.PT_GNU_STACK, rw, 0, 0, 0, 0, 0, 0),
            *(segment(elf.PT_NOTE, elf.PF_R, [s], 4) for s in constant if s.type == elf.SHT_NOTE),
        ]


def names_of(symbols: Iterable[ElfSymbol]) -> bytes:
    """Return the string table of the symbols' names, in their order."""
    names = elf.StringTable()
    for symbol in symbols:
        names.add(symbol.name)
    return names.data


def segment(
    kind: int, flags: int, sections: list[OutputSection], alignment: int
) -> tuple[int, ...]:
    """Return the program header of neighbouring sections."""
    first = sections[0]
    size = sections[-1].end - first.offset
    return (kind, flags, first.offset, first.address, first.address, size, size, alignment)
