"""A folder of files that can be made again: safe to share, to lose, to break and to be denied.

Processes may read and write one file at the same time: it is written under another name, then
renamed. A file that was damaged, that was written under another name, or that another user may have
written, is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from kgen_runtime.files import is_own, open_plain, replacing

#: In front of each file's data.
DIGEST_BYTES = hashlib.sha256().digest_size


class FileCache:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """A file's data as it was written under this name; None if there is no such file, or no
        sound one."""
        try:
            with open_plain(str(self._folder / name)) as file:
                content = file.read() if is_own(os.fstat(file.fileno())) else b""
        except OSError:
            return None
        digest, data = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        return data if digest == _digest(name, data) else None

    def write(self, name: str, data: bytes) -> None:
        """Keep a file's data. A folder that cannot be written keeps nothing, which is no error."""
        with contextlib.suppress(OSError):
            if not self._folder.is_dir():
                self._make_folder()
            if self.read(name) is None:
                # A file that is not ours would hand on its mode.
                (self._folder / name).unlink(missing_ok=True)
            with replacing(self._folder / name, mode=0o600, is_durable=False) as file:
                file.write(_digest(name, data) + data)

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()
