"""Reading a bundle: an uncompressed zip with manifest.json first; every digest is checked."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from pathlib import Path

from kgen_runtime.errors import BundleError, IntegrityError
from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Manifest, StoredTensor
from kgen_runtime.manifest_json import from_json

MANIFEST = "manifest.json"


#: What zipfile raises for an archive whose headers are damaged: a version, a way of compression or
#: an encryption that it does not know are RuntimeErrors.
DAMAGE = (
    zipfile.BadZipFile, KeyError, ValueError, RuntimeError, EOFError, struct.error, zlib.error
)  # fmt: skip


class BundleFile:
    """An open bundle. Use it as a context manager, or call `close`.

    Raises BundleError if the file cannot be read or is no bundle, VersionError for an unknown
    schema; `read` raises IntegrityError if an artifact's bytes do not match its digest.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise BundleError(
                f"path is of type {type(path).__name__}; give a bundle's path as a str or Path, "
                "such as Bundle.save returns"
            ) from None
        try:
            self._zip = zipfile.ZipFile(self.path)
            text = self._zip.read(MANIFEST)
        except OSError as error:
            raise BundleError(f"{self.path}: cannot read: {error.strerror or error}") from None
        except DAMAGE:  # ValueError: also a NUL in the path
            raise BundleError(
                f"{self.path}: not a kgen bundle, or not all of one; make one with "
                f"kgen build -o {self.path}"
            ) from None
        try:
            self.manifest: Manifest = from_json(json.loads(text))
        except BundleError as error:
            raise type(error)(f"{self.path}: {error}") from None
        except ValueError:
            raise BundleError(f"{self.path}: manifest.json is not JSON; build it again") from None

    def __enter__(self) -> BundleFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._zip.close()

    def read(self, artifact: ArtifactEntry | StoredTensor) -> bytes:
        """The file's bytes, after their digest has been checked."""
        try:
            data = self._zip.read(artifact.file)
        except (*DAMAGE, OSError):
            raise IntegrityError(
                f"{self.path}: {artifact.file} is missing or damaged; "
                "build or copy the bundle again"
            ) from None
        digest = hashlib.sha256(data).hexdigest()
        if digest != artifact.sha256:
            raise IntegrityError(
                f"{self.path}: {artifact.file} has sha256 {digest[:12]}..., the manifest says "
                f"{artifact.sha256[:12]}...; it was changed after it was built; "
                "build or copy the bundle again"
            )
        return data

    def source(self, kernel: KernelEntry) -> tuple[ArtifactEntry, str]:
        """The kernel's readable text: its source artifact, or the portable text it runs from."""
        for artifact in kernel.artifacts:
            if artifact.is_text:
                return artifact, self.read(artifact).decode()
        raise BundleError(f"{self.path}: {kernel.name} carries no source text")
