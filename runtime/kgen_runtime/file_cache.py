"""On-disk cache of one folder, safe with concurrent processes, damaged files and missing
permissions.

A file is written under a temporary name and then renamed, so that processes may read and write it
at the same time. A digest of name and data precedes the data. A file counts as missing if the
digest does not match or if another user may have written it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from kgen_runtime.files import is_own, open_plain, replacing

#: Bytes of the digest that precedes each file's data.
DIGEST_BYTES = hashlib.sha256().digest_size


class FileCache:
    """Cached files of one folder, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """Return the data written under this name; None if the file is missing or not valid."""
        try:
            with open_plain(str(self._folder / name)) as file:
                content = file.read() if is_own(os.fstat(file.fileno())) else b""
        except OSError:
            return None
        digest, data = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        return data if digest == _digest(name, data) else None

    def write(self, name: str, data: bytes) -> None:
        """Write a file's data. Do nothing if the folder cannot be written."""
        with contextlib.suppress(OSError):
            if not self._folder.is_dir():
                self._make_folder()
            if self.read(name) is None:
                # The new file would get the mode of an old one that another user owns.
                (self._folder / name).unlink(missing_ok=True)
            with replacing(self._folder / name, mode=0o600, is_durable=False) as file:
                file.write(_digest(name, data) + data)

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()
