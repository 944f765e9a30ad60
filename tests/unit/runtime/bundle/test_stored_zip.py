"""Strict zip archives: the reader finds the files that the standard library finds, and refuses
all other archives."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable

import pytest

from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import BundleError
from tests.unit.runtime.bundle.zips import with_wide_records

FILES = {"manifest.json": b"{}", "weights/a.bin": bytes(range(256)), "a b+c": b"", "z": b"z"}


def _zip(wide: bool = False, method: int = zipfile.ZIP_STORED, **more: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that occurs twice
        for name, data in [*FILES.items(), *more.items()]:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            info.extra = struct.pack("<HH6x", 0xD935, 6)
            with archive.open(info, "w", force_zip64=wide) as file:
                file.write(data)
    written = bytearray(out.getvalue())
    if wide:  # Python before 3.11.4 writes the sizes into the header as well
        for name in (*FILES, *more):
            written[_sizes_at(written, name)] = b"\xff" * 8
    return bytes(written)


def _sizes_at(data: bytes | bytearray, name: str) -> slice:
    """Return the place of both sizes in the header of the first file of this name."""
    start = 0
    while data[start + 30 : start + 30 + len(name)] != name.encode():
        start = data.index(b"PK\3\4", start + 1)
    return slice(start + 18, start + 26)


def _refusal(data: bytes) -> str:
    """Return why an archive is refused; empty if only its contents are."""
    with pytest.raises(BundleError) as refused:
        BundleFile(data)
    return "" if "no schema_version" in str(refused.value) else str(refused.value)


@pytest.mark.parametrize(
    "data",
    [_zip(), _zip(wide=True), with_wide_records(_zip()), with_wide_records(_zip(), short=True)],
    ids=["plain", "wide entries", "wide directory", "wide directory of small numbers"],
)
def test_what_the_standard_library_reads(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
    assert _refusal(data) == ""


def _directory(data: bytes) -> int:
    return data.index(b"PK\1\2")


def _grown(data: bytes, at: int, more: bytes) -> bytes:
    """Return the archive with bytes before the directory or later, which the end record
    includes."""
    start = _directory(data) + len(more) * (at <= _directory(data))
    return data[:at] + more + data[at:-6] + struct.pack("<I", start) + data[-2:]


def _patched(data: bytes, at: int, form: str, value: int) -> bytes:
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


def _renamed(name: bytes) -> Callable[[bytes], bytes]:
    """Return the archive with another name of 13 bytes for the second file, in both places."""
    return lambda data: data.replace(b"weights/a.bin", name)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-1],
    "hole": lambda data: data[:40] + data[60:],
    "no entries": lambda data: data.replace(b"PK\1\2", b"PK\1\3"),
    "no header": lambda data: data.replace(b"PK\3\4", b"PK\3\5"),
    "checksum": lambda data: data.replace(b"{}", b"[]"),
    "no record": lambda data: with_wide_records(data).replace(b"PK\6\6", b"PK\6\5"),
    "no locator": lambda data: with_wide_records(data).replace(b"PK\6\7", b"PK\6\5"),
    "two sizes of a directory": lambda data: _patched(
        with_wide_records(data, short=True), -10, "<I", 1
    ),
    "prefix": lambda data: b"#!/bin/sh\n" + data,
    "prefix that the places know": lambda data: _grown(data, 0, b"#"),
    "comment": lambda data: data[:-2] + b"\5\0hello",
    "bytes behind": lambda data: data + b"\0",
    "bytes between files": lambda data: _grown(data, data.index(b"PK\3\4", 9), b"\0"),
    "bytes before the directory": lambda data: _grown(data, _directory(data), b"\0"),
    "bytes in the directory": lambda data: _patched(
        _grown(data, len(data) - 22, b"\0"), -10, "<I", len(data) - 22 - _directory(data) + 1
    ),
    "a file that is not listed": lambda data: _patched(
        _patched(data, -14, "<H", 3), -12, "<H", 3
    ),
    "another disk": lambda data: _patched(data, -18, "<H", 1),
    "a disk of an entry": lambda data: _patched(data, _directory(data) + 34, "<H", 1),
    "two files at one place": lambda data: _patched(
        data, data.index(b"PK\1\2", _directory(data) + 9) + 42, "<I", 0
    ),
    "another time": lambda data: _patched(data, 10, "<H", 1),
    "another checksum in the header": lambda data: _patched(data, 14, "<I", 1),
    "another size in the header": lambda data: _patched(data, 22, "<I", 1),
    "another name in the header": lambda data: data.replace(b"manifest.json", b"manifest.jsoN", 1),
    "flags": lambda data: _patched(
        _patched(data, 6, "<H", 8), _directory(data) + 8, "<H", 8
    ),
    "a name's end": lambda data: _patched(data, _directory(data) + 28, "<H", 0xFFFF),
    "a broken extra field": lambda data: _patched(data, 30 + 13 + 2, "<H", 7),
    "a newer version": lambda data: _patched(data, 4, "<H", 64),
    "root": _renamed(b"/eights/a.bin"),
    "above": _renamed(b"w/ights/../bi"),
    "only above": _renamed(b"../ghts/a.bin"),
    "here": _renamed(b"w/ights/./bin"),
    "no name": _renamed(b"weights//.bin"),
    "folder": _renamed(b"weights/a.bi/"),
    "backslash": _renamed(b"weights\\a.bin"),
    "control character": _renamed(b"weights/a\nbin"),
    "no ASCII": _renamed("weights/aébi".encode()),
    "NUL": _renamed(b"weights/a.b\0n"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_refused(damage: Callable[[bytes], bytes]) -> None:
    spoilt = damage(_zip())
    assert spoilt != _zip()
    assert "not a kgen bundle, or a truncated one" in _refusal(spoilt)


def test_a_name_is_refused_that_is_there_twice() -> None:
    out = io.BytesIO(_zip())
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("z", b"y")
    assert "'z' occurs twice" in _refusal(out.getvalue())


@pytest.mark.parametrize("wide", [False, True])
def test_one_64_bit_field_too_many(wide: bool) -> None:
    """An extra field of 64-bit numbers that is not needed, or a second one, is refused."""
    data = _zip(wide=wide)
    spoilt = data.replace(struct.pack("<HH6x", 0xD935, 6), struct.pack("<HH6x", 1, 6))
    assert "not a kgen bundle, or a truncated one" in _refusal(spoilt)


def test_what_is_compressed_is_refused() -> None:
    assert "'manifest.json' is compressed" in _refusal(_zip(method=zipfile.ZIP_DEFLATED))
