"""Reading a bundle: an uncompressed zip with manifest.json first; every digest is checked."""

from __future__ import annotations

import hashlib
import json

from kgen_runtime.archive import DAMAGE, Archive, Source
from kgen_runtime.errors import BundleError, IntegrityError
from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Manifest, StoredTensor
from kgen_runtime.manifest_json import from_json

MANIFEST = "manifest.json"
#: Bytes of JSON: some twenty thousand kernels. What it becomes in memory is many times larger.
MAX_MANIFEST = 64 * 2**20


class BundleFile:
    """An open bundle: of a path, of bytes, or in an open file. Use it as a context manager, or call
    `close`; a file that was open before stays so.

    Raises BundleError if it cannot be read or is no bundle, VersionError for an unknown schema;
    `read` raises IntegrityError if an artifact's bytes do not match its digest.
    """

    def __init__(self, source: Source) -> None:
        self._archive = Archive(source)
        self.name = self._archive.name
        try:
            self.manifest: Manifest = self._manifest()
        except BaseException:
            self.close()
            raise

    def _manifest(self) -> Manifest:
        try:
            too_large = self._archive.size(MANIFEST) > MAX_MANIFEST
            text = b"" if too_large else self._archive.read(MANIFEST)
        except OSError as error:
            raise BundleError(f"{self.name}: cannot read: {error.strerror or error}") from None
        except DAMAGE:
            raise self._archive.no_manifest() from None
        if too_large:
            raise BundleError(f"{self.name}: {MANIFEST} has more than {MAX_MANIFEST} bytes")
        try:
            return from_json(json.loads(text))
        except BundleError as error:
            raise type(error)(f"{self.name}: {error}") from None
        except (ValueError, RecursionError):
            raise BundleError(f"{self.name}: {MANIFEST} is not JSON; build it again") from None

    def __enter__(self) -> BundleFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._archive.close()

    def read(self, artifact: ArtifactEntry | StoredTensor) -> bytes:
        """The file's bytes, after their digest has been checked."""
        try:
            data = self._archive.read(artifact.file)
        except (*DAMAGE, OSError):
            raise IntegrityError(
                f"{self.name}: {artifact.file} is missing or damaged; "
                "build or copy the bundle again"
            ) from None
        if len(data) != artifact.nbytes:
            raise IntegrityError(
                f"{self.name}: {artifact.file} has {len(data)} bytes, the manifest says "
                f"{artifact.nbytes}; it was changed after it was built; "
                "build or copy the bundle again"
            )
        digest = hashlib.sha256(data).hexdigest()
        if digest != artifact.sha256:
            raise IntegrityError(
                f"{self.name}: {artifact.file} has sha256 {digest[:12]}..., the manifest says "
                f"{artifact.sha256[:12]}...; it was changed after it was built; "
                "build or copy the bundle again"
            )
        return data

    def source(self, kernel: KernelEntry) -> tuple[ArtifactEntry, str]:
        """The kernel's readable text: its source artifact, or the portable text it runs from."""
        for artifact in kernel.artifacts:
            if artifact.is_text:
                try:
                    return artifact, self.read(artifact).decode()
                except UnicodeDecodeError:
                    raise IntegrityError(
                        f"{self.name}: {artifact.file} is no text; build the bundle again"
                    ) from None
        raise BundleError(f"{self.name}: {kernel.name} carries no source text")
