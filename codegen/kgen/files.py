"""Writing a file all at once: to a temporary name beside it first, then renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path`, and its mode, at the end of the block.

    However the block fails, the old file stays as it was and nothing lies beside it. Raises
    OSError, also for what is no plain file.
    """
    check_plain(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def check_plain(path: Path) -> None:
    """Raises OSError for a device, a pipe or a folder: renaming over /dev/null would replace it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, pipe or folder, not a plain file", str(path))
