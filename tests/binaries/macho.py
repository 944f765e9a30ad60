"""Reader of Mach-O files (64-bit, little-endian): what a dynamic library needs and exports."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MAGIC = 0xFEEDFACF
CPU_TYPES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
KINDS = {2: "executable", 6: "dylib"}
LC_SYMTAB, LC_LOAD_DYLIB, LC_ID_DYLIB, LC_SEGMENT_64 = 0x2, 0xC, 0xD, 0x19
LC_CODE_SIGNATURE, LC_BUILD_VERSION, LC_RPATH = 0x1D, 0x32, 0x8000001C
PLATFORM_MACOS = 1
#: Types of a symbol (nlist_64): private to its library, defined in a section, external.
N_PEXT, N_TYPE, N_SECT, N_EXT = 0x10, 0x0E, 0x0E, 0x01
WRITE, EXECUTE = 2, 4


@dataclass
class MachO:
    arch: str
    kind: str
    name: str = ""
    #: Oldest macOS, major and minor.
    system: tuple[int, int] = (0, 0)
    #: Whether a signature is there, without which Apple silicon maps no code.
    is_signed: bool = False
    libraries: list[str] = field(default_factory=list)
    #: Folders that the library itself says to search (LC_RPATH).
    search: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    #: Bytes of each segment, without those up to the next page.
    segments: dict[str, int] = field(default_factory=dict)
    #: Protection of each segment: 1 reads, 2 writes, 4 executes.
    protections: dict[str, int] = field(default_factory=dict)


def read(data: bytes) -> MachO:
    """Read a 64-bit Mach-O file. Raises AssertionError for other files."""
    magic, cpu, _, kind, count, nbytes = struct.unpack_from("<6I", data)
    assert magic == MAGIC
    found = MachO(CPU_TYPES[cpu], KINDS[kind])
    at, end = 32, 32 + nbytes
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, at)
        assert size >= 8 and at + size <= end
        if command == LC_SEGMENT_64:
            name = data[at + 8 : at + 24].rstrip(b"\0").decode()
            (found.segments[name],) = struct.unpack_from("<Q", data, at + 48)
            found.protections[name] = struct.unpack_from("<I", data, at + 60)[0]
        elif command in (LC_LOAD_DYLIB, LC_ID_DYLIB, LC_RPATH):
            (offset,) = struct.unpack_from("<I", data, at + 8)
            name = text(data, at + offset)
            if command == LC_ID_DYLIB:
                found.name = name
            else:
                (found.search if command == LC_RPATH else found.libraries).append(name)
        elif command == LC_BUILD_VERSION:
            system, oldest = struct.unpack_from("<2I", data, at + 8)
            assert system == PLATFORM_MACOS
            found.system = (oldest >> 16, oldest >> 8 & 255)
        elif command == LC_CODE_SIGNATURE:
            found.is_signed = True
        elif command == LC_SYMTAB:
            read_symbols(data, struct.unpack_from("<4I", data, at + 8), found)
        at += size
    assert at == end
    return found


def read_symbols(data: bytes, table: tuple[int, ...], into: MachO) -> None:
    symbols, count, strings, _ = table
    for i in range(count):
        name, kind = struct.unpack_from("<IB", data, symbols + 16 * i)
        if kind & N_EXT and not kind & N_PEXT:
            names = into.exports if kind & N_TYPE == N_SECT else into.imports
            names.append(text(data, strings + name))


def text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
