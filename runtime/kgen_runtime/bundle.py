"""Bundle reader: libkgen checks the archive, the manifest and the digests of files."""

from __future__ import annotations

import ctypes
import io
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from kgen_runtime import libkgen
from kgen_runtime.errors import BundleError, IntegrityError
from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Manifest, StoredTensor
from kgen_runtime.memory.host import copied_bytes
from kgen_runtime.schema.manifest_json import from_text
from kgen_runtime.schema.program import Weight
from kgen_runtime.values import cached

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes

    Stored = ArtifactEntry | StoredTensor | Weight


class BinaryFile(Protocol):
    """Binary file that is open for reading, such as the result of `open(path, "rb")`."""

    def read(self, size: int = -1, /) -> bytes: ...


#: Source of a bundle: a path, its bytes, or an open file.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile

MANIFEST = "manifest.json"


class BundleFile:
    """Open bundle, read from a path, from bytes, or from an open file.

    Use it as a context manager, or call `close`; a file that the caller opened stays open. The file
    of a path is mapped, or read into memory if `map` is false. Raises BundleError if the file
    cannot be read or is not a bundle, VersionError for an unknown schema. `read` raises
    IntegrityError if an artifact's bytes do not match its digest.
    """

    def __init__(self, source: Source, *, map: bool = True) -> None:
        self.name, path, data = _found(source)
        #: None after `close`.
        self._opened: OpenBundle | None = OpenBundle(path, data, self.name, map)
        #: Bytes of the files that several kernels name.
        self._shared: dict[str, bytes] = {}
        self.manifest: Manifest = from_text(self._opened.manifest_text())

    def __enter__(self) -> BundleFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._shared.clear()
        self._opened = None  # Weights and programs keep the bundle open.

    def read(self, artifact: ArtifactEntry | StoredTensor) -> bytes:
        """Copy a file's bytes and check their digest. A file that several kernels name is copied
        and hashed once."""
        found = self._shared.get(artifact.file)
        data = self._data(artifact, check=found is not None)
        if found is None:
            found = copied_bytes(data, artifact.nbytes)
            self.opened.check_copy(artifact, found)
            if self._times_named[artifact.file] > 1:
                self._shared[artifact.file] = found
        return found

    @cached
    def _times_named(self) -> Counter[str]:
        """Number of times that kernels name each file."""
        return Counter(one.file for kernel in self.manifest.kernels for one in kernel.files)

    def weight(self, weight: Weight, *, check: bool = False) -> HostBytes:
        """Return a read-only view of a weight's bytes, in the bundle or in a file beside it. Their
        number is checked. `check` reads all bytes and checks their digest and the archive's
        checksum as well. Raises IntegrityError."""
        import numpy as np

        data = self._data(weight, check=check)
        held = (ctypes.c_char * weight.nbytes).from_address(data)
        held.opened = self._opened  # type: ignore[attr-defined]
        return np.frombuffer(memoryview(held).toreadonly(), np.uint8)

    def _data(self, entry: Stored, *, check: bool) -> int:
        """Return the address of a file's bytes."""
        is_weight = isinstance(entry, Weight)
        return self.opened.data(entry, is_weight, entry.sha256 if check else None)

    @property
    def opened(self) -> OpenBundle:
        """Handle of libkgen, which stays open while something refers to it. Raises BundleError
        after `close`."""
        if self._opened is None:
            raise BundleError(f"{self.name} is closed; open it again")
        return self._opened

    def source(self, kernel: KernelEntry) -> tuple[ArtifactEntry, str]:
        """Return the kernel's first text artifact and its text: the source, or the portable form
        that a driver compiles."""
        for artifact in kernel.artifacts:
            if artifact.is_text:
                try:
                    return artifact, self.read(artifact).decode()
                except UnicodeDecodeError:
                    raise IntegrityError(
                        f"{self.name}: {artifact.file} is not UTF-8 text; build the bundle again"
                    ) from None
        raise BundleError(f"{self.name}: {kernel.name} has no source text; build the bundle again")


class OpenBundle:
    """Bundle that libkgen holds open until neither it nor its files are in use."""

    def __init__(self, path: bytes | None, data: bytes | None, name: str, maps: bool) -> None:
        self._handle = ctypes.c_void_p()
        self._library = libkgen.library()
        self._bytes = data  # libkgen reads the bytes in place.
        shown = name.encode("utf-8", "replace")
        status = self._library.kgen_read(
            path, data, len(data or b""), shown, bool(maps), ctypes.byref(self._handle)
        )
        if status == libkgen.NOT_FOUND:
            raise BundleError(libkgen.last_error())
        libkgen.check(status)

    def __del__(self) -> None:
        if self._handle:
            self._library.kgen_close(self._handle)

    @property
    def address(self) -> int:
        """Address of the kgen_bundle."""
        return self._handle.value or 0

    def manifest_text(self) -> bytes:
        size = ctypes.c_size_t()
        return ctypes.string_at(
            self._library.kgen_manifest_text(self._handle, ctypes.byref(size)), size.value
        )

    def check_copy(self, entry: Stored, copy: bytes) -> None:
        file, digest = entry.file.encode(), entry.sha256.encode()
        libkgen.check(self._library.kgen_copy_check(self._handle, file, copy, len(copy), digest))

    def data(self, entry: Stored, may_be_beside: bool, sha256: str | None) -> int:
        found = ctypes.c_void_p()
        digest = None if sha256 is None else sha256.encode()
        file = entry.file.encode()
        libkgen.check(
            self._library.kgen_file_data(
                self._handle, file, entry.nbytes, digest, may_be_beside, ctypes.byref(found)
            )
        )
        return found.value or 0


def _found(source: Any) -> tuple[str, bytes | None, bytes | None]:
    """Return a name for messages, and the path or the bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return f"a bundle of {len(data)} bytes", None, data
    if isinstance(source, str | os.PathLike):
        name = os.fsdecode(source)
        if "\0" in name:
            raise BundleError(
                f"{name!a}: not a kgen bundle: the path has a NUL character; correct it"
            )
        try:
            path = name.encode() if sys.platform == "win32" else os.fsencode(name)
        except UnicodeEncodeError:
            raise BundleError(
                f"{name!a}: not a kgen bundle: no file has this name; correct it"
            ) from None
        return name, path, None
    if isinstance(source, io.TextIOBase) or not hasattr(source, "read"):
        raise BundleError(
            f"path is of type {type(source).__name__}; give a bundle as a str or Path, as bytes, "
            "or as a file opened with 'rb'"
        )
    given = getattr(source, "name", None)
    name = given if isinstance(given, str) else "a bundle in an open file"
    try:
        if hasattr(source, "seek") and (not hasattr(source, "seekable") or source.seekable()):
            source.seek(0)
        data = source.read()
    except (OSError, ValueError) as error:
        raise BundleError(f"{name}: cannot read: {error}; give a file that can be read") from None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise BundleError(
            f"{name}: read() returns {type(data).__name__}, not bytes; open the file with 'rb'"
        )
    return name, None, bytes(data)
