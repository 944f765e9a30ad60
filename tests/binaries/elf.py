"""Reader of 64-bit little-endian ELF shared libraries: what they need and export."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MACHINES = {62: "x86_64", 183: "aarch64"}
ET_DYN = 3
PT_LOAD, PT_DYNAMIC, PT_GNU_STACK = 1, 2, 0x6474E551
EXECUTE, WRITE = 1, 2
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
DT_FLAGS, DF_SYMBOLIC = 30, 2
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SHN_UNDEF = 0


@dataclass
class Elf:
    arch: str
    name: str = ""
    libraries: list[str] = field(default_factory=list)
    #: Folders that the library itself says to search (RPATH, RUNPATH).
    search: list[str] = field(default_factory=list)
    #: Versions of each needed library's symbols, such as GLIBC_2.17.
    versions: dict[str, list[str]] = field(default_factory=dict)
    exports: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    #: Flags of each segment that is mapped, and of the stack: 1 executes, 2 writes, 4 reads.
    protections: list[int] = field(default_factory=list)
    #: Whether a symbol table for debuggers is there.
    has_symbols: bool = False
    #: Whether calls of the library's own functions reach them, even if another library of the
    #: process exports the same names.
    binds_own_names: bool = False


def read(data: bytes) -> Elf:
    """Read a 64-bit little-endian shared library. Raises AssertionError for other files."""
    assert data[:6] == b"\x7fELF\x02\x01"
    kind, machine = struct.unpack_from("<2H", data, 16)
    assert kind == ET_DYN
    found = Elf(MACHINES[machine])
    segments, sections = struct.unpack_from("<2Q", data, 32)
    _, count, section_bytes, section_count = struct.unpack_from("<4H", data, 54)
    loads, dynamic = [], b""
    for i in range(count):
        kind, flags, at, address, _, nbytes = struct.unpack_from("<2I4Q", data, segments + 56 * i)
        if kind in (PT_LOAD, PT_GNU_STACK):
            found.protections.append(flags)
        if kind == PT_LOAD:
            loads.append((address, nbytes, at))
        elif kind == PT_DYNAMIC:
            dynamic = data[at : at + nbytes]

    def place(address: int) -> int:
        """Return the offset in the file of an address."""
        (offset,) = (at + address - first for first, n, at in loads if first <= address < first + n)
        return int(offset)

    entries = list(struct.iter_unpack("<2Q", dynamic))
    single = dict(entries)
    strings = place(single[DT_STRTAB])

    def name(at: int) -> str:
        return text(data, strings + at)

    found.libraries = [name(value) for tag, value in entries if tag == DT_NEEDED]
    found.search = [name(value) for tag, value in entries if tag in (DT_RPATH, DT_RUNPATH)]
    found.name = name(single[DT_SONAME]) if DT_SONAME in single else ""
    found.binds_own_names = bool(single.get(DT_FLAGS, 0) & DF_SYMBOLIC)
    if DT_VERNEED in single:
        at = place(single[DT_VERNEED])
        for _ in range(single[DT_VERNEEDNUM]):
            _, versions, file, first, step = struct.unpack_from("<2H3I", data, at)
            listed = found.versions.setdefault(name(file), [])
            version = at + first
            for _ in range(versions):
                _, _, _, called, following = struct.unpack_from("<I2H2I", data, version)
                listed.append(name(called))
                version += following
            at += step
    for i in range(section_count):
        header = struct.unpack_from("<2I4Q2I2Q", data, sections + section_bytes * i)
        found.has_symbols |= header[1] == SHT_SYMTAB
        if header[1] == SHT_DYNSYM:
            for at in range(header[4] + 24, header[4] + header[5], 24):  # the first one is none
                called, _, _, section = struct.unpack_from("<I2BH", data, at)
                names = found.imports if section == SHN_UNDEF else found.exports
                names.append(name(called))
    return found


def text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
