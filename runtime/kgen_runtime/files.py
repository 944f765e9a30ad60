"""Plain files: opening without blocking on pipes, and atomic replacement by rename."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

#: Flags for every file that is opened. Some systems lack one of them.
FLAGS = ("O_CLOEXEC", "O_BINARY")


def open_plain(path: str) -> IO[bytes]:
    """Open a plain file for reading. Raises OSError immediately for a pipe or a device: opening a
    pipe without a writer would block, and neither can seek."""
    handle = os.open(path, os.O_RDONLY | _flags(*FLAGS, "O_NONBLOCK"))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "it is a pipe or device, not a plain file", path)
    return os.fdopen(handle, "rb")


@contextmanager
def replacing(path: Path, *, mode: int = 0o666, is_durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` at the end of the block.

    A process that has the old file open or mapped keeps the old content. If the block fails or the
    system stops, the old file is unchanged; a failed block leaves no temporary file. The new file
    gets the mode of the old one, or `mode` minus the umask. Data that can be recomputed and is
    checked when it is read need not be durable (`is_durable`). Raises OSError, also if `path` is
    not a plain file.
    """
    check_plain(path)
    old = _mode(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | _flags(*FLAGS), old or mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if old is not None and hasattr(os, "fchmod"):
                os.fchmod(handle, old)
            yield file
            file.flush()
            if is_durable:
                os.fsync(handle)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if is_durable:
        _sync_folder(path.parent)


def check_plain(path: Path) -> None:
    """Raise OSError for a device, a pipe or a folder: a rename over /dev/null would replace it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, pipe or folder, not a plain file", str(path))


def is_own(found: os.stat_result) -> bool:
    """Return whether no other user can have written a file. Always true on Windows, whose file
    modes do not describe other users."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Flush the folder entry of a new name to disk. Ignore file systems that do not support it, and
    Windows, which cannot open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | _flags(*FLAGS))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _flags(*names: str) -> int:
    """Return the union of the flags that this system defines."""
    found = 0
    for name in names:
        found |= getattr(os, name, 0)
    return found
