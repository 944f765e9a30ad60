"""From the object file of one kernel to the code object that the HIP runtime loads.

`ld.lld -shared` does the same: a test compares symbols, notes, constants and code. The ROCm loader
reads section headers, ``.symtab`` and the loadable segments (AMDGPUUsage, "Code Object").

The file holds, in this order: read-only data (headers, note, dynamic symbols, kernel descriptors),
code, the dynamic section, and tables that are not loaded. In memory each of the first three starts
on a page of its own: its addresses are its file offsets plus 0, 1 or 2 pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import ElfFile, Relocation, Section, Symbol

EM_AMDGPU = 224
PAGE = 0x1000
#: Kernels start at multiples of 256 bytes, as their descriptors promise.
CODE_ALIGNMENT = 256
#: Relocations (AMDGPUUsage, "Relocation Records"), all of them relative: S + A - P.
R_REL32, R_REL64, R_REL32_LO, R_REL32_HI = 4, 5, 10, 11


@dataclass(kw_only=True)
class Output:
    """A section of the output. `link` names the section that its header points at."""

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


def link(data: bytes) -> bytes:
    """The loadable code object (ET_DYN) of a relocatable object.

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
            raise AssembleError(f"the kernel calls {symbol.name}, which it does not bring along")
    for section in source.sections:
        if section.has(elf.SHF_WRITE) and section.size:
            raise AssembleError(f"the kernel has writable data in {section.name}; it may have none")


class Image:
    """The output under construction: sections get their place as they are added."""

    def __init__(self, segments: int) -> None:
        self.sections: list[Output] = []
        #: The output of each input section, by its index.
        self.kept: dict[int, Output] = {}
        self._end = elf.HEADER.size + segments * elf.SEGMENT.size
        self._page = 0

    def add(self, section: Output) -> Output:
        section.offset = elf.align(self._end, section.alignment)
        if section.flags & elf.SHF_ALLOC:
            section.address = section.offset + self._page
        self._end = section.end
        self.sections.append(section)
        return section

    def keep(self, sections: Iterable[Section], alignment: int = 1) -> None:
        """Copy input sections, aligned to at least `alignment`."""
        for s in sections:
            self.kept[s.index] = self.add(
                Output(
                    name=s.name,
                    type=s.type,
                    flags=s.flags,
                    data=bytearray(s.data),
                    alignment=max(alignment, s.alignment),
                )
            )

    def next_page(self) -> None:
        self._page += PAGE

    def named(self, name: str) -> Output:
        return next(s for s in self.sections if s.name == name)

    def number(self, section: Output) -> int:
        """Its index among the output's section headers; the null section is 0."""
        return 1 + next(i for i, s in enumerate(self.sections) if s is section)

    def address(self, symbol: Symbol) -> int:
        if symbol.section not in self.kept:
            raise AssembleError(f"the kernel refers to {symbol.name}, which is not loaded")
        return self.kept[symbol.section].address + symbol.value

    def write(self, source: ElfFile) -> bytes:
        """The file: loaded sections, then the full symbol table and the section headers."""
        segments = self._segments()
        symbols = self.named(".dynsym")
        self.add(
            Output(
                name=".symtab",
                type=elf.SHT_SYMTAB,
                data=symbols.data,
                alignment=8,
                link=".strtab",
                info=symbols.info,
                entry_size=elf.SYMBOL.size,
            )
        )
        self.add(Output(name=".strtab", type=elf.SHT_STRTAB, data=self.named(".dynstr").data))
        names = elf.StringTable()
        offsets = [names.add(name) for name in (*(s.name for s in self.sections), ".shstrtab")]
        self.add(Output(name=".shstrtab", type=elf.SHT_STRTAB, data=bytearray(names.data)))

        headers = elf.align(self._end, 8)
        count = 1 + len(self.sections)
        image = bytearray(headers + count * elf.SECTION.size)
        image[: elf.HEADER.size] = elf.HEADER.pack(
            source.ident,
            elf.ET_DYN,
            EM_AMDGPU,
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
        """Program headers of what has been added so far."""
        code = [s for s in self.sections if s.flags & elf.SHF_EXECINSTR]
        constant = [s for s in self.sections if s.flags == elf.SHF_ALLOC]
        table = (6 + sum(s.type == elf.SHT_NOTE for s in constant)) * elf.SEGMENT.size
        start, dynamic, rw = elf.HEADER.size, [self.named(".dynamic")], elf.PF_R | elf.PF_W
        return [
            (elf.PT_PHDR, elf.PF_R, start, start, start, table, table, 8),
            (elf.PT_LOAD, elf.PF_R, 0, 0, 0, constant[-1].end, constant[-1].end, PAGE),
            segment(elf.PT_LOAD, elf.PF_R | elf.PF_X, code, PAGE),
            segment(elf.PT_LOAD, rw, dynamic, PAGE),
            segment(elf.PT_DYNAMIC, rw, dynamic, 8),
            (elf.PT_GNU_STACK, rw, 0, 0, 0, 0, 0, 0),
            *(segment(elf.PT_NOTE, elf.PF_R, [s], 4) for s in constant if s.type == elf.SHT_NOTE),
        ]


def segment(kind: int, flags: int, sections: list[Output], alignment: int) -> tuple[int, ...]:
    """The program header of neighbouring sections."""
    first = sections[0]
    size = sections[-1].end - first.offset
    return (kind, flags, first.offset, first.address, first.address, size, size, alignment)


def add_dynamic_symbols(image: Image, exported: list[Symbol]) -> Output:
    """Symbol table (empty yet: the addresses come later), hash table and names for the loader."""
    names = elf.StringTable()
    for symbol in exported:
        names.add(symbol.name)
    symbols = image.add(
        Output(
            name=".dynsym",
            type=elf.SHT_DYNSYM,
            flags=elf.SHF_ALLOC,
            data=bytearray((1 + len(exported)) * elf.SYMBOL.size),
            alignment=8,
            link=".dynstr",
            info=1,  # the first symbol that is not local
            entry_size=elf.SYMBOL.size,
        )
    )
    image.add(
        Output(
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
        Output(
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
        Output(
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
        raise AssembleError(f"the relocation type {relocation.type} of {name} is unknown")
