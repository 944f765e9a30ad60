"""Cache of built kernels, each under the digest of everything that it is built from.

If the cache exceeds its limit, the least recently used kernels are removed. A damaged file counts
as missing, and is replaced when its kernel is next built.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kgen import render, settings, targets
from kgen.errors import BundleError, SpecError
from kgen.schedule import Schedule
from kgen.spec import Spec
from kgen.targets.base import Artifact, Assembled, Source, Target
from kgen_runtime.file_cache import FileCache
from kgen_runtime.files import replacing
from kgen_runtime.manifest import Resources
from kgen_runtime.schema import manifest_json
from kgen_runtime.values import frozen

#: Default limit of the cache in bytes.
LIMIT = 2**30
#: File with another limit.
LIMIT_FILE = "limit"
#: Fraction of the limit that stays when kernels are removed, so that not every build removes some.
LEFT = 0.9
#: Age in seconds from which a temporary file counts as left behind by a killed process.
ABANDONED = 3600.0
#: Folders of kgen on which a kernel depends; a test checks that a build imports no others.
ROOMS = ("cache", "ops", "schedule", "spec", "targets")
#: Folders of the runtime on which a kernel depends. The others load and call kernels.
RUNTIME_ROOMS = ("expressions", "memory", "schema")


@frozen
class CacheUsage:
    """Entries and bytes of the cache."""

    path: Path
    entries: int
    nbytes: int
    limit: int


class KernelCache:
    """Kernels in one folder, which any number of processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = FileCache(folder)

    def get(self, key: str) -> tuple[Source, Assembled] | None:
        """Return the kernel of a key; None if it is missing or damaged."""
        data = self._files.read(key)
        if data is None:
            return None
        try:
            found = _decoded(data)
        except (ValueError, KeyError, TypeError):
            return None
        with contextlib.suppress(OSError):
            os.utime(self.folder / key)  # the time of its last use
        return found

    def put(self, key: str, source: Source, assembled: Assembled) -> None:
        self._files.write(key, _encoded(source, assembled))

    def trim(self) -> None:
        """Remove the least recently used kernels if the cache exceeds its limit."""
        limit = self.limit
        kept = sorted(self._entries(), key=lambda entry: entry[2])
        nbytes = sum(size for _, size, _ in kept)
        if nbytes <= limit:
            return
        for path, size, _ in kept:
            if nbytes <= LEFT * limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            nbytes -= size

    def clear(self) -> CacheUsage:
        """Remove all kernels; return what was removed."""
        found = self.usage()
        for path, _, _ in self._entries():
            with contextlib.suppress(OSError):
                path.unlink()
        return found

    def usage(self) -> CacheUsage:
        sizes = [size for _, size, _ in self._entries()]
        return CacheUsage(path=self.folder, entries=len(sizes), nbytes=sum(sizes), limit=self.limit)

    @property
    def limit(self) -> int:
        try:
            return int((self.folder / LIMIT_FILE).read_text())
        except (OSError, ValueError):
            return LIMIT

    def set_limit(self, nbytes: int) -> None:
        """Set the limit in bytes. Raises BundleError."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self.folder / LIMIT_FILE) as file:
                file.write(f"{nbytes}\n".encode())
        except OSError as error:
            raise BundleError(
                f"{self.folder} cannot be written: {error.strerror}; set {settings.CACHE_DIR} to "
                "another folder"
            ) from None
        self.trim()

    def _entries(self) -> Iterator[tuple[Path, int, float]]:
        """Yield each kernel's file, bytes and last use; remove abandoned temporary files."""
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(self.folder) as files,
        ):
            for file in files:
                with contextlib.suppress(FileNotFoundError):  # another process removes, too
                    status = file.stat(follow_symlinks=False)
                    if _is_key(file.name):
                        yield Path(file.path), status.st_size, status.st_mtime
                    elif _is_key(file.name[1:65]) and status.st_mtime < time.time() - ABANDONED:
                        Path(file.path).unlink()


def opened() -> KernelCache | None:
    """Return the cache of this user; None if the environment disables it."""
    folder = settings.cache_folder() if settings.keeps_kernels() else None
    return None if folder is None else KernelCache(folder / "kernels")


def key(spec: Spec, target: Target, schedule: Schedule) -> str:
    """Return the digest of everything that a kernel is built from. The target contains the features
    and caches of the CPU, so `native` differs from machine to machine."""
    made_from = {
        "spec": spec.to_json(),
        "target": vars(target) | {"features": sorted(target.features)},
        "schedule": schedule.to_json(),
        "tools": _tools(target.family),
    }
    text = json.dumps(manifest_json.to_json(made_from), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _tools(family: str) -> list[str]:
    """Return the versions of templates, kgen, Python and assembler."""
    tools = [tool.version for tool in targets.family(family).toolchain()]
    return [render.template_digest(), code_digest(), sys.version, *tools]


@cache
def code_digest() -> str:
    """Return the SHA-256 of the code that builds kernels."""
    import kgen_runtime

    digest = hashlib.sha256()
    here, runtime = Path(__file__).parents[1], Path(kgen_runtime.__file__).parent
    for root, rooms in ((here, ROOMS), (runtime, RUNTIME_ROOMS)):
        inside = [path for room in rooms for path in (root / room).rglob("*.py")]
        for path in sorted([*root.glob("*.py"), *inside]):
            digest.update(f"{root.name}/{path.relative_to(root)}\0".encode())
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def size(text: str) -> int:
    """Return the bytes that a text such as 500MiB means; only 0 needs no unit. Raises SpecError."""
    units = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
    number = text.rstrip("KkMmGgTtIiBb")
    unit = text[len(number) :].lower()
    if not number.isdecimal() or not number.isascii() or len(number) > 15:
        raise SpecError(f"limit={text} is not a size; give one such as 500MiB or 2GiB")
    if unit not in units and int(number):
        raise SpecError(
            f"limit={text} has {f'the unknown unit {unit}' if unit else 'no unit'}; "
            f"give {number}MiB, {number}GiB or {number}B (bytes)"
        )
    return int(number) * units.get(unit, 0)


def _is_key(name: str) -> bool:
    return len(name) == 64 and set(name) <= set("0123456789abcdef")


def _encoded(source: Source, assembled: Assembled) -> bytes:
    """Return the content of a file: a line of JSON, the source, and the artifacts' bytes."""
    blobs = [source.text.encode(), *(a.data for a in assembled.artifacts)]
    artifacts = [
        {name: value for name, value in vars(a).items() if name != "data"}
        for a in assembled.artifacts
    ]
    head = {
        "source": {"extension": source.extension, "entry_point": source.entry_point},
        "artifacts": artifacts,
        "resources": assembled.resources,
        "sizes": [len(blob) for blob in blobs],
    }
    return b"\n".join([json.dumps(manifest_json.to_json(head)).encode(), b"".join(blobs)])


def _decoded(data: bytes) -> tuple[Source, Assembled]:
    """Invert `_encoded`. Raises ValueError, KeyError or TypeError for other content."""
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    blobs, start = [], 0
    for nbytes in head["sizes"]:
        blobs.append(rest[start : start + nbytes])
        start += nbytes
    if start != len(rest):
        raise ValueError(f"{len(rest)} bytes where {start} are expected")
    resources = head["resources"]
    if "findings" in resources:
        resources["findings"] = tuple(resources["findings"])
    text, *parts = blobs
    return Source(text=text.decode(), **head["source"]), Assembled(
        artifacts=tuple(
            Artifact(data=blob, **fields)
            for blob, fields in zip(parts, head["artifacts"], strict=True)
        ),
        resources=Resources(**resources),
    )
