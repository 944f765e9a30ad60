"""Reader of PE32+ dynamic libraries (Windows, 64-bit): what they need and export."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MACHINES = {0x8664: "x86_64", 0xAA64: "arm64"}
IMAGE_FILE_DLL, PE32_PLUS = 0x2000, 0x20B
WRITE, EXECUTE = 0x80000000, 0x20000000
#: DllCharacteristics: 64-bit addresses at random, no executable data.
HARDENED = 0x20 | 0x40 | 0x100


@dataclass
class Pe:
    arch: str
    #: Bits of DllCharacteristics.
    characteristics: int
    #: Oldest Windows, major and minor.
    system: tuple[int, int]
    name: str = ""
    libraries: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    protections: dict[str, int] = field(default_factory=dict)


def read(data: bytes) -> Pe:
    """Read a 64-bit DLL. Raises AssertionError for other files."""
    (header,) = struct.unpack_from("<I", data, 0x3C)
    assert data[:2] == b"MZ" and data[header : header + 4] == b"PE\0\0"
    machine, count, _, _, _, optional_bytes, kind = struct.unpack_from("<2H3I2H", data, header + 4)
    assert kind & IMAGE_FILE_DLL
    optional = header + 24
    assert struct.unpack_from("<H", data, optional) == (PE32_PLUS,)
    (characteristics,) = struct.unpack_from("<H", data, optional + 70)
    major, minor = struct.unpack_from("<2H", data, optional + 48)
    found = Pe(MACHINES[machine], characteristics, (major, minor))
    sections = []
    for at in range(optional + optional_bytes, optional + optional_bytes + 40 * count, 40):
        size, address, nbytes, offset = struct.unpack_from("<4I", data, at + 8)
        sections.append((address, max(size, nbytes), offset))
        (flags,) = struct.unpack_from("<I", data, at + 36)
        found.protections[data[at : at + 8].rstrip(b"\0").decode()] = flags

    def place(address: int) -> int:
        """Return the offset in the file of an address relative to the image."""
        (offset,) = (
            at + address - first for first, n, at in sections if first <= address < first + n
        )
        return int(offset)

    exports, _, imports = struct.unpack_from("<III", data, optional + 112)
    at = place(exports)
    name, _, _, named, _, names = struct.unpack_from("<6I", data, at + 12)
    found.name = text(data, place(name))
    for (address,) in struct.iter_unpack("<I", data[place(names) : place(names) + 4 * named]):
        found.exports.append(text(data, place(address)))
    at = place(imports)
    while (called := struct.unpack_from("<5I", data, at)[3]) != 0:
        found.libraries.append(text(data, place(called)))
        at += 20
    return found


def text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
