"""The directory of a zip whose files are stored as they are, which is what a bundle is.

PKWARE's APPNOTE, with its 64-bit records. The standard library's zipfile does far more and takes
half as long to import as a model to load. Nothing that a directory claims is believed: places are
held against the archive's size, and what is compressed or encrypted is no file of ours.
"""

from __future__ import annotations

import os
import struct
from typing import IO
from zlib import crc32

from kgen_runtime.values import frozen

#: Sections 4.3.16, 4.3.15, 4.3.14, 4.3.12 and 4.3.7, as far as they are used: signatures, sizes,
#: counts and offsets.
_END = struct.Struct("<4s4xHHIIH")
_LOCATOR_64 = struct.Struct("<4s4xQ4x")
_END_64 = struct.Struct("<4s20xQQQQ")
_ENTRY = struct.Struct("<4s2xHHH4xIIIHHH8xI")
_LOCAL = struct.Struct("<4s22xHH")
#: Bytes of the longest comment behind the end record.
_COMMENT = 0xFFFF
#: Stands where a 64-bit number is elsewhere: in the record of 64 bits, or in the extra field 1.
_ELSEWHERE, _EXTRA_64 = 0xFFFFFFFF, 1
_ENCRYPTED, _UTF8 = 1, 1 << 11
_STORED = 0
#: The version of the format that is read here, times ten, and the last byte that a file may have.
_VERSION, MAX_OFFSET = 63, 2**62


class NotAZip(ValueError):
    """What is none, is damaged, or has a file that is not stored as it is."""


@frozen
class Entry:
    """A file of the archive: `header` is where its own header starts."""

    name: str
    header: int
    size: int
    crc: int
    #: Whether its bytes are stored as they are.
    is_plain: bool


def entries(file: IO[bytes]) -> list[Entry]:
    """What the archive's directory has. Raises NotAZip, or OSError if it cannot be read."""
    try:
        return _entries(file)
    except (struct.error, UnicodeDecodeError):
        raise NotAZip from None


def data_start(file: IO[bytes], entry: Entry) -> int:
    """Where its bytes start. Raises NotAZip, or OSError."""
    file.seek(entry.header)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size:
        raise NotAZip
    magic, name, extra = _LOCAL.unpack(header)
    if magic != b"PK\3\4" or not entry.is_plain:
        raise NotAZip
    return int(entry.header + _LOCAL.size + name + extra)


def read(file: IO[bytes], entry: Entry) -> bytes:
    """Its bytes, whose checksum is right. Raises NotAZip, or OSError."""
    file.seek(data_start(file, entry))
    data = file.read(entry.size)
    if len(data) != entry.size or crc32(data) != entry.crc:
        raise NotAZip
    return data


def _entries(file: IO[bytes]) -> list[Entry]:
    total = file.seek(0, os.SEEK_END)
    start = max(0, total - _END.size - _COMMENT)
    file.seek(start)
    last = file.read(total - start)
    at = last.rfind(b"PK\5\6")
    _, _, count, size, offset, comment = _END.unpack_from(last, max(at, 0))
    if at < 0 or at + _END.size + comment != len(last):
        raise NotAZip
    end = start + at
    if _ELSEWHERE in (size, offset) or count == _ELSEWHERE & 0xFFFF:
        end, count, size, offset = _end_64(file, end)
    # What is in front of the archive moves all places in it.
    before = end - size - offset
    if before < 0:
        raise NotAZip
    file.seek(before + offset)
    directory = file.read(size)
    if len(directory) != size:
        raise NotAZip
    found = []
    at = 0
    for _ in range(count):
        entry, at = _entry(directory, at, before)
        found.append(entry)
    return found


def _end_64(file: IO[bytes], end: int) -> tuple[int, int, int, int]:
    """Where the record of 64 bits starts, and its count, size and offset of the directory."""
    file.seek(max(0, end - _LOCATOR_64.size))
    magic, at = _LOCATOR_64.unpack(file.read(_LOCATOR_64.size))
    if magic != b"PK\6\7" or at + _END_64.size > end:
        raise NotAZip
    file.seek(at)
    magic, _, count, size, offset = _END_64.unpack(file.read(_END_64.size))
    if magic != b"PK\6\6" or size > end or offset > end:
        raise NotAZip
    return at, count, size, offset


def _entry(directory: bytes, at: int, before: int) -> tuple[Entry, int]:
    """An entry of the directory, and where the next one starts."""
    magic, version, flags, method, crc, packed, size, name, extra, comment, offset = (
        _ENTRY.unpack_from(directory, at)
    )
    if magic != b"PK\1\2" or version > _VERSION:
        raise NotAZip
    at += _ENTRY.size
    text = directory[at : at + name].decode("utf-8" if flags & _UTF8 else "ascii")
    at += name
    if _ELSEWHERE in (size, packed, offset):
        size, packed, offset = _wide(directory[at : at + extra], size, packed, offset)
    if offset > MAX_OFFSET:
        raise NotAZip
    is_plain = method == _STORED and packed == size and not flags & _ENCRYPTED
    entry = Entry(name=text, header=before + offset, size=size, crc=crc, is_plain=is_plain)
    return entry, at + extra + comment


def _wide(extra: bytes, *numbers: int) -> list[int]:
    """The numbers, of which those that do not fit 32 bits are in the extra field."""
    at = 0
    while True:
        kind, size = struct.unpack_from("<HH", extra, at)
        at += 4
        if kind == _EXTRA_64:
            break
        at += size
    found = []
    for number in numbers:
        if number == _ELSEWHERE:
            (number,) = struct.unpack_from("<Q", extra, at)
            at += 8
        found.append(number)
    return found
