"""A bundle's archive: a stored zip, read from a path, from bytes or from an open file."""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
from collections.abc import Container
from typing import IO, TYPE_CHECKING, Any, Protocol

from kgen_runtime import stored_zip
from kgen_runtime.errors import BundleError
from kgen_runtime.stored_zip import NotAZip

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes


class BinaryFile(Protocol):
    """An open file of bytes, such as `open(path, "rb")` gives."""

    def read(self, size: int = -1, /) -> bytes: ...


#: What a bundle is read from: a path, its bytes, or an open file.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile

#: What reading a file of a damaged archive raises, or of one that has none of this name.
DAMAGE = (NotAZip, KeyError)


def open_plain(path: str) -> IO[bytes]:
    """A plain file, open for reading. Raises OSError, for a pipe or a device at once: a pipe that
    nobody writes to would block, and neither can be sought in."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "it is a pipe or device, not a plain file", path)
    return os.fdopen(handle, "rb")


def map_file(file: IO[bytes]) -> mmap.mmap:
    """A file's bytes as they are on disk; they are read when they are first touched."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Archive:
    """An open archive; `name` is for messages. `map`: whether `mapped` maps the file of a path.

    Raises BundleError for what is no bundle's archive.
    """

    def __init__(self, source: Source, *, map: bool = True) -> None:
        self.name, file = _opened(source)
        #: Closed with the archive: a caller's own file stays open.
        self._own = file if isinstance(source, str | os.PathLike) else None
        self._map: mmap.mmap | None = None
        self._maps = map and self._own is not None
        self._file = file
        try:
            try:
                found = stored_zip.entries(file)
            except OSError as error:
                raise BundleError(f"{self.name}: cannot read: {error.strerror or error}") from None
            except NotAZip as error:
                raise BundleError(self._no_bundle(str(error))) from None
        except BaseException:
            self.close()
            raise
        self._entries = {entry.name: entry for entry in found}

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def size(self, file: str) -> int:
        """Bytes of a file. Raises KeyError if there is none of this name."""
        return self._entries[file].size

    def read(self, file: str) -> bytes:
        """A file's bytes. Raises one of DAMAGE, or OSError, if they cannot be read."""
        return stored_zip.read(self._file, self._entries[file])

    @property
    def folder(self) -> str | None:
        """Where it lies; None if it was not given by its path."""
        return None if self._own is None else os.path.dirname(self.name) or os.curdir  # noqa: PTH120

    def has(self, file: str) -> bool:
        return file in self._entries

    def check_names(self, wanted: Container[str]) -> None:
        """Raises BundleError for a file of the archive that is not `wanted`."""
        for name in self._entries:
            if name not in wanted:
                raise BundleError(self._no_bundle(f" ({name[:60]!r} is not in the manifest)"))

    def check(self, file: str, data: bytes | memoryview) -> None:
        """Raises one of DAMAGE unless these bytes of a file have its checksum."""
        stored_zip.check(self._entries[file], data)

    def mapped(self, file: str) -> HostBytes:
        """A file's bytes, read-only: mapped as they lie in the archive, if it is read from a path
        and `map` is true, else copied. Raises one of DAMAGE, or OSError."""
        import numpy as np

        entry = self._entries[file]
        if not self._maps:
            return np.frombuffer(stored_zip.read(self._file, entry), np.uint8)
        assert self._own is not None
        if self._map is None:
            self._map = map_file(self._own)
        if entry.start + entry.size > len(self._map):
            raise NotAZip
        return np.frombuffer(self._map, np.uint8, entry.size, entry.start)

    def _no_bundle(self, why: str) -> str:
        return f"{self.name}: {_no_bundle(why)}"


def _no_bundle(why: str = "") -> str:
    return f"not a kgen bundle, or a truncated one{why}; make one with kgen build -o"


#: Message for an archive without a manifest.
NO_BUNDLE = _no_bundle()


def _opened(source: Any) -> tuple[str, IO[bytes]]:
    """A name for messages, and the file to seek in."""
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return f"a bundle of {len(data)} bytes", io.BytesIO(data)
    if isinstance(source, str | os.PathLike):
        name = os.fsdecode(source)
        try:
            return name, open_plain(name)
        except OSError as error:
            raise BundleError(f"{name}: cannot read: {error.strerror or error}") from None
        except ValueError:  # a NUL
            raise BundleError(
                f"{name!a}: not a kgen bundle: the path has a NUL character"
            ) from None
    if isinstance(source, io.TextIOBase) or not hasattr(source, "read"):
        raise BundleError(
            f"path is of type {type(source).__name__}; give a bundle as a str or Path, as bytes, "
            "or as a file opened with 'rb'"
        )
    given = getattr(source, "name", None)
    name = given if isinstance(given, str) else "a bundle in an open file"
    try:
        if hasattr(source, "seek") and (not hasattr(source, "seekable") or source.seekable()):
            return name, source
        data = source.read()
    except (OSError, ValueError) as error:
        raise BundleError(f"{name}: cannot read: {error}") from None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise BundleError(
            f"{name}: read() returns {type(data).__name__}, not bytes; open the file with 'rb'"
        )
    return name, io.BytesIO(data)
