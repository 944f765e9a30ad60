"""Finished kernels that are kept, each under the digest of all that it is made from.

The oldest by use are removed when all together are larger than the limit. A file that is damaged is
as good as none: the kernel is rebuilt.
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

#: Bytes that all kept kernels may take where nobody has said otherwise.
LIMIT = 2**30
#: The file that says otherwise.
LIMIT_FILE = "limit"
#: Part of the limit that is left when it was passed, so that not every build removes something.
LEFT = 0.9
#: Seconds after which a temporary file is one that its process, killed, has left behind.
ABANDONED = 3600.0
#: Folders of kgen that decide what a kernel is; a test holds that building one imports no other.
ROOMS = ("cache", "ops", "schedule", "spec", "targets")
#: And of the runtime; the other ones load and call.
RUNTIME_ROOMS = ("expressions", "memory", "schema")


@frozen
class CacheUsage:
    """Entries and bytes of the cache."""

    path: Path
    entries: int
    nbytes: int
    limit: int


class KernelCache:
    """The kernels in one folder, for as many processes at once as there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = FileCache(folder)

    def get(self, key: str) -> tuple[Source, Assembled] | None:
        """The kernel of this key as it was built; None if there is none, or no sound one."""
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
        """Remove the kernels used longest ago if all take more than the limit."""
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
        """Remove all kernels; what there was."""
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
        """Keep no more than this from now on. Raises BundleError."""
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
        """Every kernel's file, bytes and time of last use; files left half-written are removed."""
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
    """The cache of this user; None where the environment says that there is none."""
    folder = settings.cache_folder() if settings.keeps_kernels() else None
    return None if folder is None else KernelCache(folder / "kernels")


def key(spec: Spec, target: Target, schedule: Schedule) -> str:
    """The digest of all that a kernel is made from. `native` stands for the features and caches
    of the CPU, which the target has."""
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
    """Versions of what makes machine code of a plan: templates, kgen itself, Python, assembler."""
    tools = [tool.version for tool in targets.family(family).toolchain()]
    return [render.template_digest(), code_digest(), sys.version, *tools]


@cache
def code_digest() -> str:
    """SHA-256 over the code that makes kernels."""
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
    """Bytes of a text such as 500MiB or 2GiB; only 0 needs no unit. Raises SpecError."""
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
    """A line of JSON, then the source and the artifacts' bytes."""
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
    """Raises ValueError, KeyError or TypeError for what `_encoded` has not written."""
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
