"""The runtime's reader of stored zips finds what the standard library's does, and nothing else."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from kgen_runtime import stored_zip
from kgen_runtime.stored_zip import NotAZip

FILES = {"manifest.json": b"{}", "weights/a.bin": bytes(range(256)), "ünïcode.txt": b"", "z": b"z"}


def _zip(wide: bool = False, comment: bytes = b"", method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.comment = comment
        for name, data in FILES.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with archive.open(info, "w", force_zip64=wide) as file:
                file.write(data)
    return out.getvalue()


def _read(data: bytes) -> dict[str, bytes]:
    file = io.BytesIO(data)
    return {entry.name: stored_zip.read(file, entry) for entry in stored_zip.entries(file)}


def _with_wide_records(data: bytes) -> bytes:
    """With the end record of 64 bits, as of an archive of more than 4 GB."""
    at = data.rindex(b"PK\5\6")
    count, size, offset = struct.unpack_from("<HII", data, at + 10)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return data[:at] + record + locator + end


@pytest.mark.parametrize(
    "data",
    [
        _zip(),
        _zip(comment=b"a comment, and PK in it"),
        _zip(wide=True),
        b"#!/bin/sh\n" + _zip(),
        _with_wide_records(_zip()),
    ],
    ids=["plain", "comment", "wide entries", "prefix", "wide directory"],
)
def test_what_the_standard_library_reads(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
    assert _read(data) == FILES


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40] + data[60:],
        lambda data: data.replace(b"PK\1\2", b"PK\1\3"),
        lambda data: data.replace(b"PK\3\4", b"PK\3\5"),
        lambda data: data.replace(bytes(range(256)), bytes(256)),
        lambda data: _with_wide_records(data).replace(b"PK\6\6", b"PK\6\5"),
        lambda data: _with_wide_records(data)[:-22].replace(b"PK\6\7", b"PK\6\5") + data[-22:],
    ],
    ids=[
        "empty", "cut", "hole", "no entries", "no header", "checksum", "no record", "no locator",
    ],
)  # fmt: skip
def test_damage_is_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(NotAZip):
        _read(damage(_zip()))


def test_what_is_compressed_is_not_read() -> None:
    file = io.BytesIO(_zip(method=zipfile.ZIP_DEFLATED))
    for entry in stored_zip.entries(file):
        assert not entry.is_plain
        with pytest.raises(NotAZip):
            stored_zip.read(file, entry)
