"""Folders for temporary files, which are removed even after their process was killed.

A process holds a lock on a file in each of its folders, which the system gives up when the process
ends, however it does. A process that makes a folder first removes those whose lock nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIX, LOCK = "kgen-", "lock"


@contextmanager
def folder() -> Iterator[Path]:
    """A new, empty folder that ends with the block. Raises OSError."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    outer = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        # Nobody looks at the lock before it is held and has its name.
        with (outer / f"{LOCK}-new").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            Path(lock.name).rename(outer / LOCK)
            inner = outer / "files"
            inner.mkdir()
            yield inner
    finally:
        shutil.rmtree(outer, ignore_errors=True)


@cache
def _remove_abandoned(place: Path) -> None:
    """Remove the folders of this user whose processes have ended; once in a process."""
    with suppress(OSError), os.scandir(place) as found:
        for entry in found:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    """Raises OSError for a folder without a lock, or with one that is held."""
    if path.stat(follow_symlinks=False).st_uid != os.geteuid():
        return
    handle = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)
