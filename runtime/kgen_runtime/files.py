"""Plain files: opened, and written all at once to a temporary name beside them, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

#: Flags of every file that is opened; each is absent on some system.
FLAGS = ("O_CLOEXEC", "O_BINARY")


def open_plain(path: str) -> IO[bytes]:
    """A plain file, open for reading. Raises OSError, for a pipe or a device at once: a pipe that
    nobody writes to would block, and neither can be sought in."""
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
    """A file to write, which takes the place of `path` at the end of the block.

    Whoever has the old file open or mapped keeps it. However the block fails, and if the system
    stops at any time, the old file stays as it was; a failed block leaves nothing beside it. The
    new file has the old one's mode, or `mode` less the process's umask. What can be made again and
    is checked when it is read need not be durable. Raises OSError, also for what is no plain file.
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
    """Raises OSError for a device, a pipe or a folder: renaming over /dev/null would replace it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, pipe or folder, not a plain file", str(path))


def is_own(found: os.stat_result) -> bool:
    """Whether no other user can have written a file. Windows does not tell: the modes there say
    nothing of other users."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Have the new name on disk. Some file systems cannot, and Windows opens no folders; both do it
    by themselves."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | _flags(*FLAGS))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _flags(*names: str) -> int:
    """Return the flags of these names that the system has."""
    found = 0
    for name in names:
        found |= getattr(os, name, 0)
    return found
