"""From the object file of one kernel to the code object that the HIP runtime loads.

`ld.lld -shared` does the same: the test compares symbols, notes and code bytes. The ROCm loader
reads section headers, ``.symtab`` and the loadable segments (AMDGPUUsage, "Code Object").
Layout: the ELF and program headers, note, dynamic symbols and kernel descriptors (read-only), the
code, the dynamic section; each group starts on a page of its own in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import ElfFile, Relocation, Section, Symbol

EM_AMDGPU = 224
PAGE = 0x1000
#: Kernels start at multiples of 256 bytes, as their descriptors promise.
CODE_ALIGNMENT = 256

#: ELF relocations (AMDGPUUsage, "Relocation Records"): struct format and value from S + A and P.
R_REL32, R_REL64, R_REL32_LO, R_REL32_HI = 4, 5, 10, 11


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A section of the output: its bytes, and its place in the file and in memory."""

    name: str
    type: int
    flags: int
    offset: int
    address: int
    data: bytes
    alignment: int
    link: int = 0
    info: int = 0
    entry_size: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


def link(data: bytes) -> bytes:
    """The loadable code object (ET_DYN) of a relocatable object.

    Raises AssembleError for an object that is not self-contained: undefined symbols, writable data
    or a relocation that kernels do not need.
    """
    source = elf.read(data)
    _check(source)
    placed = [s for s in source.sections if s.has(elf.SHF_ALLOC) and s.size]
    notes = [s for s in placed if s.type == elf.SHT_NOTE]
    code = [s for s in placed if s.has(elf.SHF_EXECINSTR)]
    constants = [s for s in placed if s not in notes and s not in code]
    exported = [s for s in source.symbols if s.exported]
    return _Image(source, notes, constants, code, exported).build()


def _check(source: ElfFile) -> None:
    if source.type != elf.ET_REL or source.machine != EM_AMDGPU:
        raise AssembleError("the code generator's output is not an AMDGPU object file")
    for symbol in source.symbols[1:]:
        if symbol.section == elf.SHN_UNDEF:
            raise AssembleError(f"the kernel calls {symbol.name}, which no GPU library provides")
    for section in source.sections:
        if section.has(elf.SHF_WRITE) and section.size:
            raise AssembleError(
                f"the kernel has writable data in {section.name}; it must have none"
            )


class _Image:
    """The output under construction: sections are placed in file order, then written."""

    def __init__(
        self,
        source: ElfFile,
        notes: Sequence[Section],
        constants: Sequence[Section],
        code: Sequence[Section],
        exported: Sequence[Symbol],
    ) -> None:
        self.source, self.exported = source, exported
        self.pieces: list[Piece] = []
        #: Output section number of each input section that is kept.
        self.number: dict[int, int] = {}
        segments = 6 + bool(notes)
        self.end = elf.HEADER.size + segments * elf.SEGMENT.size

        for section in notes:
            self._keep(section, alignment=max(4, section.alignment))
        self._place_dynamic_symbols()
        for section in constants:
            self._keep(section, alignment=section.alignment)
        self.read_only_end = self.end
        self.page = PAGE
        for section in code:
            self._keep(section, alignment=max(CODE_ALIGNMENT, section.alignment))
        self.page = 2 * PAGE
        self._place_dynamic_section()

    def _place(
        self, name: str, kind: int, flags: int, data: bytes, alignment: int, **more: int
    ) -> Piece:
        """Put bytes at the end of the file; its address is its offset plus whole pages."""
        offset = elf.align(self.end, alignment)
        loaded = bool(flags & elf.SHF_ALLOC)
        piece = Piece(
            name=name,
            type=kind,
            flags=flags,
            offset=offset,
            address=offset + self.page if loaded else 0,
            data=data,
            alignment=alignment,
            **more,
        )
        self.pieces.append(piece)
        self.end = piece.end
        return piece

    page = 0

    def _keep(self, section: Section, alignment: int) -> None:
        self._place(section.name, section.type, section.flags, section.data, alignment)
        self.number[section.index] = len(self.pieces)

    def _place_dynamic_symbols(self) -> None:
        names = elf.StringTable()
        self.name_offsets = [names.add(s.name) for s in self.exported]
        count = 1 + len(self.exported)
        first = len(self.pieces) + 1
        alloc = elf.SHF_ALLOC
        # Symbol values need addresses that come later: the bytes are filled in by `build`.
        self.symbols = self._place(
            *(".dynsym", elf.SHT_DYNSYM, alloc, bytes(count * elf.SYMBOL.size), 8),
            link=first + 2,
            info=1,
            entry_size=elf.SYMBOL.size,
        )
        self.hash = self._place(
            *(".hash", elf.SHT_HASH, alloc, elf.hash_table([s.name for s in self.exported]), 4),
            link=first,
            entry_size=4,
        )
        self.names = self._place(".dynstr", elf.SHT_STRTAB, alloc, names.data, 1)

    def _place_dynamic_section(self) -> None:
        entries = (
            (elf.DT_SYMTAB, self.symbols.address),
            (elf.DT_SYMENT, elf.SYMBOL.size),
            (elf.DT_STRTAB, self.names.address),
            (elf.DT_STRSZ, len(self.names.data)),
            (elf.DT_HASH, self.hash.address),
            (elf.DT_NULL, 0),
        )
        self.dynamic = self._place(
            *(".dynamic", elf.SHT_DYNAMIC, elf.SHF_ALLOC | elf.SHF_WRITE),
            *(b"".join(elf.DYNAMIC.pack(*entry) for entry in entries), 8),
            link=self.pieces.index(self.names) + 1,
            entry_size=elf.DYNAMIC.size,
        )

    def build(self) -> bytes:
        """Resolve symbols and relocations, add the tables for the loader, and lay out the file."""
        loaded = len(self.pieces)
        table = self._symbol_table()
        contents = [self._relocated(i) for i in range(loaded)]
        contents[self.pieces.index(self.symbols)] = table
        strings = elf.StringTable()
        headers_end = len(self.pieces)
        self._place(
            *(".symtab", elf.SHT_SYMTAB, 0, table, 8),
            link=headers_end + 2,
            info=1,
            entry_size=elf.SYMBOL.size,
        )
        self._place(".strtab", elf.SHT_STRTAB, 0, self.names.data, 1)
        name_offsets = [strings.add(p.name) for p in self.pieces] + [strings.add(".shstrtab")]
        self._place(".shstrtab", elf.SHT_STRTAB, 0, strings.data, 1)
        contents += [p.data for p in self.pieces[loaded:]]

        section_table = elf.align(self.end, 8)
        image = bytearray(section_table + (len(self.pieces) + 1) * elf.SECTION.size)
        for piece, content in zip(self.pieces, contents, strict=True):
            image[piece.offset : piece.end] = content
        segments = self._segments(loaded)
        elf.HEADER.pack_into(
            *(image, 0, self.source.ident, elf.ET_DYN, EM_AMDGPU, 1, 0),
            *(elf.HEADER.size, section_table, self.source.flags, elf.HEADER.size),
            *(elf.SEGMENT.size, len(segments)),
            *(elf.SECTION.size, len(self.pieces) + 1, len(self.pieces)),
        )
        for i, segment in enumerate(segments):
            elf.SEGMENT.pack_into(image, elf.HEADER.size + i * elf.SEGMENT.size, *segment)
        for i, (piece, name) in enumerate(zip(self.pieces, name_offsets, strict=True), 1):
            elf.SECTION.pack_into(
                *(image, section_table + i * elf.SECTION.size, name, piece.type, piece.flags),
                *(piece.address, piece.offset, len(piece.data), piece.link, piece.info),
                *(piece.alignment, piece.entry_size),
            )
        return bytes(image)

    def _symbol_table(self) -> bytes:
        table = bytes(elf.SYMBOL.size)
        for name, symbol in zip(self.name_offsets, self.exported, strict=True):
            piece = self.number[symbol.section]
            address = self.pieces[piece - 1].address + symbol.value
            table += elf.SYMBOL.pack(name, symbol.info, symbol.other, piece, address, symbol.size)
        return table

    def _relocated(self, index: int) -> bytes:
        piece = self.pieces[index]
        data = bytearray(piece.data)
        sections = [s for s, number in self.number.items() if number == index + 1]
        for section in sections:
            for r in self.source.relocations_of(self.source.sections[section]):
                _patch(data, r, self._address(r.symbol), piece.address + r.offset)
        return bytes(data)

    def _address(self, symbol: Symbol) -> int:
        if symbol.section == elf.SHN_ABS:
            return symbol.value
        if symbol.section not in self.number:
            raise AssembleError(f"the kernel refers to {symbol.name}, which is not loaded")
        return self.pieces[self.number[symbol.section] - 1].address + symbol.value

    def _segments(self, loaded: int) -> list[tuple[int, ...]]:
        pieces = self.pieces[:loaded]
        headers = elf.HEADER.size
        code = [p for p in pieces if p.flags & elf.SHF_EXECINSTR]
        size = (6 + any(p.type == elf.SHT_NOTE for p in pieces)) * elf.SEGMENT.size
        segments = [
            (elf.PT_PHDR, elf.PF_R, headers, headers, headers, size, size, 8),
            (elf.PT_LOAD, elf.PF_R, 0, 0, 0, *[self.read_only_end] * 2, PAGE),
        ]
        if code:
            extent = code[-1].end - code[0].offset
            segments.append(_segment(elf.PT_LOAD, elf.PF_R | elf.PF_X, code[0], extent, PAGE))
        dynamic, flags = self.dynamic, elf.PF_R | elf.PF_W
        extent = len(dynamic.data)
        segments.append(_segment(elf.PT_LOAD, flags, dynamic, extent, PAGE))
        segments.append(_segment(elf.PT_DYNAMIC, flags, dynamic, extent, 8))
        segments.append((elf.PT_GNU_STACK, flags, 0, 0, 0, 0, 0, 0))
        for note in (p for p in pieces if p.type == elf.SHT_NOTE):
            segments.append(_segment(elf.PT_NOTE, elf.PF_R, note, len(note.data), 4))
        return segments


def _segment(kind: int, flags: int, first: Piece, size: int, alignment: int) -> tuple[int, ...]:
    return (kind, flags, first.offset, first.address, first.address, size, size, alignment)


def _patch(data: bytearray, relocation: Relocation, symbol: int, place: int) -> None:
    """Write S + A - P (the value relative to the place) as the relocation's type says."""
    relative = symbol + relocation.addend - place
    kind, at = relocation.type, relocation.offset
    if kind == R_REL64:
        struct.pack_into("<q", data, at, relative)
    elif kind == R_REL32:
        struct.pack_into("<i", data, at, relative)
    elif kind == R_REL32_LO:
        struct.pack_into("<I", data, at, relative & 0xFFFFFFFF)
    elif kind == R_REL32_HI:
        struct.pack_into("<I", data, at, relative >> 32 & 0xFFFFFFFF)
    else:
        raise AssembleError(f"relocation type {kind} against {relocation.symbol.name} is unknown")
