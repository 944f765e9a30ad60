"""Temporary folders that are removed even after their process was killed.

A process holds a lock on a file in each of its folders. The system releases the lock when the
process ends, even if it is killed. A process that makes a folder first removes those whose lock
nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

PREFIX, LOCK = "kgen-", "lock"
#: Name that a lock has until it is held.
NEW_LOCK = "lock-new"
_NAME = re.compile(PREFIX + "[a-z0-9_]{8}")


@contextmanager
def folder() -> Iterator[Path]:
    """Make an empty folder, and remove it when the block ends. Raises OSError."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    outer, lock = _locked_folder()
    try:
        with lock:
            inner = outer / "files"
            inner.mkdir()
            yield inner
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def _locked_folder() -> tuple[Path, BinaryIO]:
    """Return a new folder and the open file in it whose lock this process holds.

    Before the lock is held, another process may remove the folder as abandoned; then a new one is
    made.
    """
    while True:
        outer = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError), ExitStack() as opened:
            lock = opened.enter_context((outer / NEW_LOCK).open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            Path(lock.name).rename(outer / LOCK)
            opened.pop_all()
            return outer, lock
        with suppress(OSError):
            outer.rmdir()


@cache
def _remove_abandoned(place: Path) -> None:
    """Remove the folders of this user whose processes have ended; once per process."""
    with suppress(OSError), os.scandir(place) as found:
        for entry in found:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    """Remove a folder if its process has ended.

    Raises OSError for a folder whose lock is held, or that is not a temporary folder of kgen.
    """
    if path.stat(follow_symlinks=False).st_uid != os.geteuid():
        return
    if _NAME.fullmatch(path.name) and not (path / LOCK).exists():
        # Its process ended before it held the lock, or is about to hold it; then a call below
        # fails.
        (path / NEW_LOCK).unlink(missing_ok=True)
        path.rmdir()
        return
    handle = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)
