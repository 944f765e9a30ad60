"""Code object under construction: its sections, and the file that holds them.

The file holds, in this order: read-only data (headers, note, dynamic symbols, kernel descriptors),
code, the dynamic section, and tables that are not loaded. In memory each of the first three starts
on a page of its own: its addresses are its file offsets plus 0, 1 or 2 pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import ElfFile, ElfSymbol, Section

EM_AMDGPU = 224
PAGE = 0x1000


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


class Image:
    """Output under construction. Sections get their place when they are added."""

    def __init__(self, segments: int) -> None:
        self.sections: list[OutputSection] = []
        #: Output section of each input section, by the input's index.
        self.kept: dict[int, OutputSection] = {}
        self._end = elf.HEADER.size + segments * elf.SEGMENT.size
        self._page = 0

    def add(self, section: OutputSection) -> OutputSection:
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
                OutputSection(
                    name=s.name,
                    type=s.type,
                    flags=s.flags,
                    data=bytearray(s.data),
                    alignment=max(alignment, s.alignment),
                )
            )

    def next_page(self) -> None:
        self._page += PAGE

    def named(self, name: str) -> OutputSection:
        return next(s for s in self.sections if s.name == name)

    def number(self, section: OutputSection) -> int:
        """Return the index of a section among the output's section headers; the null section is
        0."""
        return 1 + next(i for i, s in enumerate(self.sections) if s is section)

    def address(self, symbol: ElfSymbol) -> int:
        if symbol.section not in self.kept:
            raise AssembleError(
                f"the kernel refers to {symbol.name}, whose section is not loaded on the device"
            )
        return self.kept[symbol.section].address + symbol.value

    def write(self, source: ElfFile) -> bytes:
        """Return the file: loaded sections, then the full symbol table and the section headers."""
        segments = self._segments()
        symbols = self.named(".dynsym")
        self.add(
            OutputSection(
                name=".symtab",
                type=elf.SHT_SYMTAB,
                data=symbols.data,
                alignment=8,
                link=".strtab",
                info=symbols.info,
                entry_size=elf.SYMBOL.size,
            )
        )
        self.add(
            OutputSection(name=".strtab", type=elf.SHT_STRTAB, data=self.named(".dynstr").data)
        )
        names = elf.StringTable()
        offsets = [names.add(name) for name in (*(s.name for s in self.sections), ".shstrtab")]
        self.add(OutputSection(name=".shstrtab", type=elf.SHT_STRTAB, data=bytearray(names.data)))

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
        """Return the program headers of the sections added so far."""
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


def segment(
    kind: int, flags: int, sections: list[OutputSection], alignment: int
) -> tuple[int, ...]:
    """Return the program header of neighbouring sections."""
    first = sections[0]
    size = sections[-1].end - first.offset
    return (kind, flags, first.offset, first.address, first.address, size, size, alignment)
