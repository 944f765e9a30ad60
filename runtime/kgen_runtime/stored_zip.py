"""Reader of stored zips, the archives that bundles are: one strict form of the zip format.

PKWARE's APPNOTE with its 64-bit records. Files follow one another from the first byte, the
directory follows the last of them in the same order, and the end record is the last 22 bytes. No
byte lies outside of them, no two files overlap or share a name, and a file's own header says what
the directory says. The rules are in docs/reference/bundle-format.md; runtime/c/zip.c accepts the
same archives. The standard library's zipfile accepts far more, and is slow to import.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import IO
from zlib import crc32

from kgen_runtime.values import frozen

#: Records of sections 4.3.16, 4.3.15, 4.3.14, 4.3.12 and 4.3.7. Disks are numbered from 0.
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR_64 = struct.Struct("<4sIQI")
_END_64 = struct.Struct("<4sQHHIIQQQQ")
_ENTRY = struct.Struct("<4s2xHHHIIIIHHHH6xI")
_LOCAL = struct.Struct("<4sHHHIIIIHH")
#: Stands for a 64-bit number, which is in the 64-bit end record or in the extra field 1.
_ELSEWHERE, _EXTRA_64 = 0xFFFFFFFF, 1
#: Flag of names in UTF-8; the only one that a stored file needs.
_UTF8 = 1 << 11
_STORED = 0
#: Newest version of the format that is read, times ten.
_VERSION = 63
#: Characters of a name: printable ASCII without the backslash.
_PRINTABLE = bytes(set(range(0x20, 0x7F)) - set(b"\\"))


class NotAZip(ValueError):
    """The archive breaks a rule of the format. The text says which, for a message."""


@frozen
class Entry:
    """File in an archive: `size` bytes from `start` on, with this checksum."""

    name: str
    start: int
    size: int
    crc: int


def entries(file: IO[bytes]) -> list[Entry]:
    """Files of an archive, in their order. Raises NotAZip, or OSError if it cannot be read."""
    try:
        return _entries(file)
    except struct.error:
        raise NotAZip from None


def read(file: IO[bytes], entry: Entry) -> bytes:
    """Bytes of a file, whose checksum is right. Raises NotAZip, or OSError."""
    data = _bytes(file, entry.start, entry.size)
    check(entry, data)
    return data


def check(entry: Entry, data: bytes | memoryview) -> None:
    """Raises NotAZip unless the bytes of a file have its checksum."""
    if crc32(data) != entry.crc:
        raise NotAZip(_about(entry.name, "has a wrong checksum"))


def _bytes(file: IO[bytes], start: int, size: int) -> bytes:
    file.seek(start)
    data = file.read(size)
    if len(data) != size:
        raise NotAZip
    return data


def _is_name(name: bytes) -> bool:
    """Whether a file may have this name: parts between slashes, none empty, `.` or `..`."""
    return not name.translate(None, _PRINTABLE) and not {b"", b".", b".."} & set(name.split(b"/"))


def _about(name: str, what: str) -> str:
    return f" ({name[:60]!r} {what})"


def _entries(file: IO[bytes]) -> list[Entry]:
    total = file.seek(0, os.SEEK_END)
    count, size, start = _directory(file, total)
    directory = _bytes(file, start, size)
    found: list[Entry] = []
    names: set[str] = set()
    at = end = 0
    for _ in range(count):
        entry, at, end = _entry(file, directory, at, end)
        if entry.name in names:
            raise NotAZip(_about(entry.name, "occurs twice"))
        names.add(entry.name)
        found.append(entry)
    if at != size or end != start:
        raise NotAZip(" (it has bytes that belong to no file)")
    return found


def _directory(file: IO[bytes], total: int) -> tuple[int, int, int]:
    """Number of files; bytes and place of the directory, which ends where the end records start."""
    end = total - _END.size
    if end < 0:
        raise NotAZip
    magic, disk, first, here, count, size, offset, comment = _END.unpack(
        _bytes(file, end, _END.size)
    )
    if magic != b"PK\5\6" or comment or disk or first or here != count:
        raise NotAZip
    at = end - _LOCATOR_64.size
    if at >= 0 and (locator := _bytes(file, at, _LOCATOR_64.size)).startswith(b"PK\6\7"):
        short = count, size, offset
        _, disk, place, disks = _LOCATOR_64.unpack(locator)
        end = at - _END_64.size
        if end < 0 or place != end or disk or disks != 1:
            raise NotAZip
        record = _END_64.unpack(_bytes(file, end, _END_64.size))
        magic, nbytes, _, version, disk, first, here, count, size, offset = record
        if magic != b"PK\6\6" or nbytes != _END_64.size - 12 or version > _VERSION:
            raise NotAZip
        if disk or first or here != count:
            raise NotAZip
        for value, wide, elsewhere in zip(
            short, (count, size, offset), (0xFFFF, _ELSEWHERE, _ELSEWHERE), strict=True
        ):
            if value not in (wide, elsewhere):
                raise NotAZip
    if offset + size != end or count > size // _ENTRY.size:
        raise NotAZip
    return count, size, offset


def _entry(file: IO[bytes], directory: bytes, at: int, header: int) -> tuple[Entry, int, int]:
    """The entry at `at` of the directory, whose file has its header at `header`; the places of the
    next entry and of the next header."""
    record = _ENTRY.unpack_from(directory, at)
    magic, version, flags, method, time, crc, packed, size, length, extra, comment, disk, offset = (
        record
    )
    if magic != b"PK\1\2" or version > _VERSION or comment or disk:
        raise NotAZip
    at += _ENTRY.size
    name = directory[at : at + length]
    if len(name) != length or not _is_name(name):
        raise NotAZip(f" ({ascii(name[:60])[1:]} is not a valid file name)")
    text = name.decode("ascii")
    at += length
    if len(directory) - at < extra:
        raise NotAZip
    size, packed, offset = _wide(directory[at : at + extra], size, packed, offset)
    at += extra
    if method != _STORED or packed != size or flags & ~_UTF8:
        raise NotAZip(_about(text, "is compressed"))
    if offset != header:
        raise NotAZip(_about(text, "does not start where the file before it ends"))
    own = _LOCAL.unpack(_bytes(file, header, _LOCAL.size))
    own_magic, own_version, *same, own_packed, own_size, own_length, own_extra = own
    header += _LOCAL.size
    behind = _bytes(file, header, own_length + own_extra)
    own_size, own_packed = _wide(behind[own_length:], own_size, own_packed)
    if (
        own_magic != b"PK\3\4"
        or own_version > _VERSION
        or same != [flags, method, time, crc]
        or (own_size, own_packed) != (size, packed)
        or behind[:own_length] != name
    ):
        raise NotAZip(_about(text, "has a header that differs from the directory"))
    header += own_length + own_extra
    return Entry(name=text, start=header, size=size, crc=crc), at, header + size


def _wide(extra: bytes, *numbers: int) -> Sequence[int]:
    """The numbers, of which those that do not fit 32 bits are in the extra field, and no others.
    Extra fields of other kinds say nothing here."""
    at, found = 0, None
    while at < len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        at += 4 + size
        if at > len(extra) or (kind == _EXTRA_64 and found is not None):
            raise NotAZip
        if kind == _EXTRA_64:
            found = extra[at - size : at]
    wanted = [i for i, number in enumerate(numbers) if number == _ELSEWHERE]
    if len(found or b"") != 8 * len(wanted) or (found is None) != (not wanted):
        raise NotAZip
    result = list(numbers)
    for i, number in zip(wanted, struct.iter_unpack("<Q", found or b""), strict=True):
        (result[i],) = number
    return result
