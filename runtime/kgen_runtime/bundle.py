"""Reading a bundle: an uncompressed zip with manifest.json first; every digest is checked."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kgen_runtime.archive import DAMAGE, NO_BUNDLE, Archive, Source, map_file, open_plain
from kgen_runtime.digests import Digests
from kgen_runtime.errors import BundleError, IntegrityError, OutOfMemory
from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Manifest, StoredTensor
from kgen_runtime.schema.json_text import parse
from kgen_runtime.schema.limits import check_bytes, check_text
from kgen_runtime.schema.manifest_json import from_json
from kgen_runtime.schema.program import Weight
from kgen_runtime.values import cached

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes

    Stored = ArtifactEntry | StoredTensor | Weight

MANIFEST = "manifest.json"


class BundleFile:
    """An open bundle: of a path, of bytes, or in an open file. Use it as a context manager, or call
    `close`; a file that was open before stays so. Weights of a path are mapped, or with `map` false
    read into memory.

    Raises BundleError if it cannot be read or is no bundle, VersionError for an unknown schema;
    `read` raises IntegrityError if an artifact's bytes do not match its digest.
    """

    def __init__(self, source: Source, *, map: bool = True) -> None:
        self._archive = Archive(source, map=map)
        self._maps = map
        self.name = self._archive.name
        self._digests = Digests()
        #: Bytes and digests of the files that several kernels name.
        self._shared: dict[str, tuple[bytes, str]] = {}
        try:
            self.manifest: Manifest = self._manifest()
            self._archive.check_names({MANIFEST, *_files(self.manifest)})
        except BaseException:
            self.close()
            raise

    def _manifest(self) -> Manifest:
        try:
            return from_json(self._parsed())
        except BundleError as error:
            raise type(error)(f"{self.name}: {error}") from None

    def _parsed(self) -> Any:
        """The manifest's JSON, counted before it is parsed."""
        try:
            check_bytes(self._archive.size(MANIFEST))
            text = self._archive.read(MANIFEST)
        except OSError as error:
            raise BundleError(f"cannot read: {error.strerror or error}") from None
        except DAMAGE:
            raise BundleError(NO_BUNDLE) from None
        check_text(text)
        return parse(text)

    def __enter__(self) -> BundleFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._shared.clear()
        self._archive.close()

    def read(self, artifact: ArtifactEntry | StoredTensor) -> bytes:
        """The file's bytes, after their digest has been checked. A file that several kernels name
        is read and hashed once."""
        file = artifact.file
        if file in self._shared:
            data, digest = self._shared[file]
            self._check_size(artifact, len(data))
        else:
            try:
                data = self._archive.read(file)
            except (*DAMAGE, OSError):
                raise self._damaged(file) from None
            self._check_size(artifact, len(data))
            digest = self._digests.sha256(data)
            if self._times_named[file] > 1:
                self._shared[file] = data, digest
        self._check_digest(artifact, digest)
        return data

    @cached
    def _times_named(self) -> Counter[str]:
        """Files of kernels, and how many of them name each."""
        return Counter(one.file for kernel in self.manifest.kernels for one in kernel.files)

    def weight(self, weight: Weight) -> HostBytes:
        """A weight's bytes as they lie in the bundle or beside it, mapped where that is a file and
        files are mapped.
        Their number is checked, their digest is not: see `check_weight`."""
        try:
            if self._archive.has(weight.file):
                data = self._archive.mapped(weight.file)
            else:
                data = self._beside(weight.file)
        except (*DAMAGE, FileNotFoundError) as error:
            damaged = "" if isinstance(error, FileNotFoundError) else " or damaged"
            raise IntegrityError(
                f"{self.name}: {weight.file} is neither in the bundle nor beside it{damaged}; "
                "build or copy the bundle again, its weights with it"
            ) from None
        except OSError as error:
            kind = OutOfMemory if error.errno == errno.ENOMEM else BundleError
            raise kind(
                f"{self.name}: {weight.file} cannot be read: {error.strerror}; "
                "make the file readable, and load the bundle again"
            ) from None
        self._check_size(weight, len(data))
        return data

    def check_weight(self, weight: Weight) -> HostBytes:
        """A weight's bytes, as of `weight`. Raises IntegrityError unless they have its digest, and
        its checksum in the archive; it reads all of them."""
        data = self.weight(weight)
        self._check_digest(weight, self._digests.sha256(data.data))
        if self._archive.has(weight.file):
            try:
                self._archive.check(weight.file, data.data)
            except DAMAGE:
                raise self._damaged(weight.file) from None
        return data

    def _beside(self, file: str) -> HostBytes:
        import numpy as np

        folder = self._archive.folder
        if folder is None:
            raise KeyError(file)
        with open_plain(f"{folder}{os.sep}{file}") as opened:
            size = os.fstat(opened.fileno()).st_size
            if not self._maps or size == 0:  # no system maps an empty file
                return np.fromfile(opened, np.uint8, size)
            return np.frombuffer(map_file(opened), np.uint8)

    def _damaged(self, file: str) -> IntegrityError:
        return IntegrityError(
            f"{self.name}: {file} is missing or damaged; build or copy the bundle again"
        )

    def _check_size(self, entry: Stored, size: int) -> None:
        if size != entry.nbytes:
            raise IntegrityError(
                f"{self.name}: {entry.file} has {size} bytes, the manifest says "
                f"{entry.nbytes}; it was changed after it was built; "
                "build or copy the bundle again"
            )

    def _check_digest(self, entry: Stored, digest: str) -> None:
        if digest != entry.sha256:
            raise IntegrityError(
                f"{self.name}: {entry.file} has sha256 {digest[:12]}..., the manifest says "
                f"{entry.sha256[:12]}...; it was changed after it was built; "
                "build or copy the bundle again"
            )

    def source(self, kernel: KernelEntry) -> tuple[ArtifactEntry, str]:
        """The kernel's readable text: its source artifact, or the portable text it runs from."""
        for artifact in kernel.artifacts:
            if artifact.is_text:
                try:
                    return artifact, self.read(artifact).decode()
                except UnicodeDecodeError:
                    raise IntegrityError(
                        f"{self.name}: {artifact.file} is not UTF-8 text; build the bundle again"
                    ) from None
        raise BundleError(f"{self.name}: {kernel.name} has no source text; build the bundle again")


def _files(manifest: Manifest) -> Iterator[str]:
    """Every file that a manifest names."""
    for kernel in manifest.kernels:
        yield from (part.file for part in kernel.files)
    for program in manifest.programs:
        yield from (weight.file for weight in program.weights)
