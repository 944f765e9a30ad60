"""Archives of bundles for tests: with any manifest, and with unusual records."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

MANIFEST = "manifest.json"


def archive(manifest: Any, files: Mapping[str, bytes], **options: Any) -> bytes:
    """Return a bundle with this manifest (text or JSON), and the files that it names."""
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    named = {name: data for name, data in files.items() if json.dumps(name) in text}
    return zipped({MANIFEST: text.encode(), **named}, **options)


def zipped(files: Mapping[str, bytes], **options: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as new:
        for name, content in files.items():
            new.writestr(name, content)
    return out.getvalue()


def with_right_crc(data: bytes) -> bytes:
    """Return the archive with the checksum of its current manifest, in both places."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        info = old.getinfo(MANIFEST)
    start = info.header_offset + 30 + len(MANIFEST)
    crc = struct.pack("<I", zlib.crc32(data[start : start + info.file_size]))
    at = info.header_offset + 14
    data = data[:at] + crc + data[at + 4 :]
    at = data.index(b"PK\1\2") + 16
    return data[:at] + crc + data[at + 4 :]


def with_wide_records(data: bytes, *, short: bool = False) -> bytes:
    """Return the archive with a 64-bit end record. `short`: the 32-bit record keeps the numbers,
    as zipfile leaves it for archives of 2 to 4 GiB."""
    at = data.rindex(b"PK\5\6")
    count, size, offset = struct.unpack_from("<HII", data, at + 10)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return data[:at] + record + locator + (data[at:] if short else end)
