"""A folder of files that can be made again: safe to share, to lose, to break and to be denied.

Processes may read and write one file at the same time: it is written under another name, then
renamed. A file that was damaged, or that another user may have written, is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path

from kgen.files import replacing

#: Generations of files that are kept, so that checkouts and versions side by side do not remove
#: one another's.
GENERATIONS = 8
#: In front of each file's data.
DIGEST_BYTES = hashlib.sha256().digest_size


class FileCache:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """A file's data as it was written; None if there is no such file, or no sound one."""
        try:
            with (self._folder / name).open("rb") as file:
                found = os.fstat(file.fileno())
                content = file.read() if _is_own(found) else b""
        except OSError:
            return None
        digest, data = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        return data if digest == hashlib.sha256(data).digest() else None

    def write(self, name: str, data: bytes) -> None:
        """Keep a file's data. A folder that cannot be written keeps nothing, which is no error."""
        with contextlib.suppress(OSError):
            if not self._folder.is_dir():
                self._make_folder()
            if self.read(name) is None:
                # A file that is not ours would hand on its mode.
                (self._folder / name).unlink(missing_ok=True)
            with replacing(self._folder / name) as file:
                file.write(hashlib.sha256(data).digest() + data)

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class Generation(FileCache):
    """The files of one generation, which `key` names: all that their content depends on."""

    def __init__(self, folder: Path, key: str) -> None:
        super().__init__(folder / key)
        self._all = folder

    def _make_folder(self) -> None:
        super()._make_folder()
        self._remove_old()

    def _remove_old(self) -> None:
        """Remove the generations written longest ago. One that is in use is made again."""
        generations = sorted(self._all.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for folder in generations[GENERATIONS:]:
            shutil.rmtree(folder, ignore_errors=True)


def _is_own(found: os.stat_result) -> bool:
    """Whether no other user can have written a file."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
