"""Reading 64-bit little-endian ELF files, and the few writers that our linkers share.

It understands only the contents of LLVM objects without debug information. The records are those
of the System V ABI's ELF chapter (gABI 4.1 and the 64-bit ELF object file format 1.5).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from kgen.errors import AssembleError
from kgen_runtime.values import frozen

ET_REL, ET_DYN = 1, 3
SHN_UNDEF = 0
SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 2, 3, 4
SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 5, 6, 7, 8, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_FUNC = 2
STV_HIDDEN = 2
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR = 1, 2, 4, 6
PT_GNU_STACK = 0x6474E551
PF_X, PF_W, PF_R = 1, 2, 4
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT = 0, 4, 5, 6, 10, 11

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")
DYNAMIC = struct.Struct("<QQ")


@frozen
class Section:
    """Section header and its bytes; the `size` zeros of SHT_NOBITS are not stored."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int
    data: bytes

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)


@frozen
class ElfSymbol:
    """Entry of a symbol table; `section` is a section's index or SHN_UNDEF."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def binding(self) -> int:
        return self.info >> 4

    @property
    def is_function(self) -> bool:
        """Whether the symbol is code and defined in this file."""
        return self.info & 15 == STT_FUNC and self.section != SHN_UNDEF

    @property
    def visibility(self) -> int:
        return self.other & 3

    @property
    def exported(self) -> bool:
        """Whether the symbol is defined in this file and visible to a loader."""
        return (
            self.binding in (STB_GLOBAL, STB_WEAK)
            and self.section != SHN_UNDEF
            and self.visibility != STV_HIDDEN
        )


@frozen
class Relocation:
    """Patch `offset` bytes into section `section` with a value made of `symbol` + `addend`."""

    section: int
    offset: int
    type: int
    symbol: ElfSymbol
    addend: int


@frozen
class ElfFile:
    """Decoded file: `type` is ET_REL or ET_DYN; `machine`, `flags` and `abi` as in its header."""

    type: int
    machine: int
    flags: int
    ident: bytes
    sections: tuple[Section, ...]
    symbols: tuple[ElfSymbol, ...]
    relocations: tuple[Relocation, ...]

    def section(self, name: str) -> Section:
        """Return the only section of this name. Raises AssembleError if there is none."""
        for section in self.sections:
            if section.name == name:
                return section
        raise AssembleError(f"section {name} is missing in the object file")


@frozen
class Note:
    """Entry of a note section."""

    name: str
    type: int
    description: bytes


def read(data: bytes) -> ElfFile:
    """Decode a file. Raises AssembleError if it is not a 64-bit little-endian ELF file."""
    if len(data) < HEADER.size or data[:6] != b"\x7fELF\x02\x01":
        raise AssembleError("the code generator's output is not a 64-bit little-endian ELF file")
    ident, kind, machine, _, _, _, start, flags, _, _, _, size, count, names = HEADER.unpack_from(
        data
    )
    headers = [SECTION.unpack_from(data, start + i * size) for i in range(count)]
    name_table = _bytes_of(data, headers[names])
    sections = tuple(
        Section(
            index=i,
            name=string_at(name_table, header[0]),
            type=header[1],
            flags=header[2],
            address=header[3],
            offset=header[4],
            size=header[5],
            link=header[6],
            info=header[7],
            alignment=max(header[8], 1),
            entry_size=header[9],
            data=_bytes_of(data, header),
        )
        for i, header in enumerate(headers)
    )
    symbols = tuple(
        symbol
        for table in sections
        if table.type == SHT_SYMTAB
        for symbol in symbols_in(table, sections)
    )
    return ElfFile(
        type=kind,
        machine=machine,
        flags=flags,
        ident=ident,
        sections=sections,
        symbols=symbols,
        relocations=tuple(_relocations(sections, symbols)),
    )


def symbols_in(table: Section, sections: Sequence[Section]) -> tuple[ElfSymbol, ...]:
    """Return the entries of a symbol table section, the null symbol first."""
    names = sections[table.link].data
    return tuple(
        ElfSymbol(
            name=string_at(names, name),
            info=info,
            other=other,
            section=index,
            value=value,
            size=size,
        )
        for name, info, other, index, value, size in SYMBOL.iter_unpack(table.data)
    )


def notes_in(section: Section) -> Iterator[Note]:
    """Return the entries of a note section; names and descriptions are padded to 4 bytes."""
    data, at = section.data, 0
    while at < len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        name, at = data[at + 12 : at + 12 + name_size], at + 12 + align(name_size, 4)
        yield Note(name=name.rstrip(b"\0").decode(), type=kind, description=data[at : at + size])
        at += align(size, 4)


def string_at(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()


def align(value: int, alignment: int) -> int:
    """Return the least multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def sysv_hash(name: str) -> int:
    """Return the hash of a name in a DT_HASH table (gABI, "Hash Table")."""
    h = 0
    for byte in name.encode():
        h = (h << 4) + byte
        high = h & 0xF0000000
        h = (h ^ (high >> 24)) & ~high
    return h


def hash_table(names: Sequence[str]) -> bytes:
    """Return a DT_HASH section for dynamic symbols 1 to n with these names."""
    count = max(1, len(names))
    buckets, chain = [0] * count, [0] * (1 + len(names))
    for i, name in enumerate(names, 1):
        bucket = sysv_hash(name) % count
        chain[i], buckets[bucket] = buckets[bucket], i
    return struct.pack(f"<{2 + count + len(chain)}I", count, len(chain), *buckets, *chain)


class StringTable:
    """String table under construction; `add` returns the offset of a name."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, name: str) -> int:
        offset = len(self.data)
        self.data += name.encode() + b"\0"
        return offset


def _bytes_of(data: bytes, header: tuple[int, ...]) -> bytes:
    _, kind, _, _, offset, size, *_ = header
    return b"" if kind == SHT_NOBITS else data[offset : offset + size]


def _relocations(sections: Sequence[Section], symbols: Sequence[ElfSymbol]) -> Iterator[Relocation]:
    for table in sections:
        if table.type == SHT_RELA:
            for offset, info, addend in RELA.iter_unpack(table.data):
                yield Relocation(
                    section=table.info,
                    offset=offset,
                    type=info & 0xFFFFFFFF,
                    symbol=symbols[info >> 32],
                    addend=addend,
                )
