"""Writing bundles: archives of kernels, programs and weights.

A bundle is deterministic, uncompressed and aligned, and is written completely or not at all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kgen import render, targets
from kgen.errors import BundleError, ScheduleError
from kgen.spec import Spec
from kgen.spec.keys import unique_keys
from kgen.targets.contraction.implicit_gemm import bundled_launches, bundled_maps
from kgen_runtime.bundle import MANIFEST
from kgen_runtime.files import replacing
from kgen_runtime.launch_limits import kernel_refusal, limits_of
from kgen_runtime.manifest import (
    ArtifactEntry,
    KernelEntry,
    Manifest,
    StoredTensor,
    TargetEntry,
    TensorParam,
)
from kgen_runtime.schema import manifest_json
from kgen_runtime.schema.program import PAGE, WEIGHTS, Program
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.constants import Array
    from kgen.targets.base import BuiltKernel
    from kgen_runtime.backend import HostBytes

#: Alignment of files in a bundle, in bytes; weights start at pages, so that loaders can map them.
ALIGNMENT = 64
#: The earliest time of the zip format, so that a bundle's bytes depend on its content only.
EPOCH = (1980, 1, 1, 0, 0, 0)


@frozen
class Bundle:
    """Manifest and the files that it names, in memory."""

    manifest: Manifest
    files: Mapping[str, bytes]
    kernels: tuple[BuiltKernel, ...] = ()
    #: Files of programs' weights, as arrays of bytes.
    weights: Mapping[str, HostBytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Bundle: {', '.join(entry.name for entry in self.manifest.kernels)}>"

    def save(self, path: str | os.PathLike[str], *, external_weights: bool = False) -> Path:
        """Write the bundle to a temporary file, which is then renamed.

        With `external_weights` the weights of programs are files in a folder `weights` beside the
        bundle, which bundles may share. Raises BundleError if a file cannot be written; nothing is
        left behind then.
        """
        target = check_output(path)
        inside: dict[str, bytes | memoryview] = dict(self.files)
        with _refusals(target), ExitStack() as undone:
            if external_weights:
                self._save_weights(target.parent, undone)
            else:
                inside |= {name: data.data for name, data in self.weights.items()}
            with replacing(target) as out:
                self._write_archive(out, inside)
            undone.pop_all()  # everything is written, so nothing is undone
        return target

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes, weights included, for `kgen_runtime.load`."""
        out = io.BytesIO()
        self._write_archive(out, {**self.files, **{n: w.data for n, w in self.weights.items()}})
        return out.getvalue()

    def _write_archive(self, out: BinaryIO, inside: Mapping[str, bytes | memoryview]) -> None:
        with zipfile.ZipFile(out, "w") as archive:
            _write(archive, MANIFEST, _manifest_bytes(self.manifest))
            for name in sorted(inside):
                _write(archive, name, inside[name])

    def _save_weights(self, folder: Path, undone: ExitStack) -> None:
        """Write each weight under its digest, unless a file of that name and size exists.

        `undone` removes the new files if the bundle cannot be written.
        """
        for name, data in self.weights.items():
            place = folder / name
            if not place.parent.exists():
                place.parent.mkdir(exist_ok=True)
                undone.callback(_remove_empty, place.parent)
            is_new = not place.exists()
            if is_new or place.stat().st_size != len(data):
                with replacing(place) as out:
                    out.write(data.data)
            if is_new:
                undone.callback(place.unlink, missing_ok=True)


@contextmanager
def writing(target: Path) -> Iterator[BinaryIO]:
    """Open the file of `-o` for writing; it appears when complete. Raises BundleError."""
    with _refusals(target), replacing(target) as file:
        yield file


@contextmanager
def _refusals(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # numpy raises OSErrors with a message instead of `strerror`.
        raise BundleError(
            f"output={target} cannot be written: {error.strerror or error}; choose another place "
            "with -o"
        ) from None


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # the folder has files of another process by now
        folder.rmdir()


def check_output(path: str | os.PathLike[str]) -> Path:
    """Return the path if a bundle can be written there; called before any work is done.

    Raises BundleError for other paths, including devices and pipes: renaming a file over /dev/null
    would replace it.
    """
    if not os.fspath(path):
        raise BundleError("output='' is not a file name; name the file to write")
    target = Path(path)
    try:
        folder = target.is_dir() or os.fspath(path).endswith(("/", os.sep))
        other = target.exists() and not target.is_file()
        has_parent = target.parent.is_dir()
    except OSError as error:
        raise BundleError(
            f"output={target} cannot be written: {error.strerror}; choose another with -o"
        ) from None
    if folder:
        raise BundleError(f"output={path} is a directory; give a file name")
    if other:
        raise BundleError(f"output={target} is a device or pipe, not a plain file; choose another")
    if not has_parent:
        raise BundleError(f"output={target}: {target.parent} is not a directory; make it first")
    if not os.access(target.parent, os.W_OK):
        raise BundleError(f"output={target}: {target.parent} is not writable; choose another place")
    return target


def pack(
    kernels: Sequence[BuiltKernel],
    constants: Mapping[str, Array] | None = None,
    *,
    programs: Sequence[Program] = (),
    weights: Mapping[str, bytes | Array] | None = None,
) -> Bundle:
    """Return the bundle of these kernels and programs.

    - `constants` are values of the kernels' constant operands by name.
    - `programs` have steps without `after`; the steps that each waits for are derived from what it
      reads and writes.
    - `weights` are the files of the programs' weights by file name.

    Raises BundleError for kernels of the same name, and for a program that the runtime would
    refuse. Raises ScheduleError for a kernel that no device of its target can launch.
    """
    if not kernels and not programs:
        raise BundleError("a bundle needs one kernel or more; give a spec and a target")
    files: dict[str, bytes] = {}
    keys = unique_keys(kernel.plan.operation for kernel in kernels)
    entries = [_entry(k, keys[k.plan.operation], files, constants or {}) for k in kernels]
    check_names([entry.name for entry in entries])
    held: Mapping[str, HostBytes] = {}
    if programs:
        from kgen.program import finished

        programs, held = finished(programs, entries, weights or {})
    used = {k.plan.target.family for k in kernels}
    tools = {t.name: t.version for name in sorted(used) for t in targets.family(name).toolchain()}
    provenance = {"kgen": _version(), "templates": render.template_digest()} | tools
    manifest = Manifest(kernels=tuple(entries), programs=tuple(programs), provenance=provenance)
    _manifest_bytes(manifest)  # raises for a manifest that no reader accepts
    return Bundle(
        manifest=manifest,
        files=files,
        kernels=tuple(kernels),
        weights=held,
    )


def check_names(names: Sequence[str]) -> None:
    """Raise BundleError if a kernel's name occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise BundleError(f"{name} is requested twice; name each kernel and target once")


def _in_kernel_form(spec: Spec, constant: Array) -> Array:
    from kgen.constants import ahead  # numpy is imported only for constants

    return ahead(spec, constant)


def _entry(
    kernel: BuiltKernel, key: str, files: dict[str, bytes], constants: Mapping[str, Array]
) -> KernelEntry:
    plan, spec, target = kernel.plan, kernel.plan.operation, kernel.plan.target
    family = targets.family(target.family)
    artifacts = []
    for artifact in kernel.assembled.artifacts:
        name = f"{target.name}/{key}.{artifact.extension}"
        files[name] = artifact.data
        artifacts.append(
            ArtifactEntry(
                file=name,
                format=artifact.format,
                role=artifact.role,
                sha256=hashlib.sha256(artifact.data).hexdigest(),
                nbytes=len(artifact.data),
                requires=artifact.requires,
            )
        )
    entry = KernelEntry(
        key=key,
        op=spec.call_name,
        spec=spec.to_json(),
        target=TargetEntry(name=target.name, family=target.family, arch=target.arch),
        schedule=plan.schedule.to_json(),
        parameters=plan.parameters,
        workspaces=plan.workspaces,
        tensor_maps=bundled_maps(plan.spec, plan.tensor_maps),
        launches=bundled_launches(plan.spec, plan.launches),
        artifacts=tuple(artifacts),
        constants=tuple(
            _stored(param, _in_kernel_form(spec, constants[param.name]), files)
            for param in plan.parameters
            if param.name in constants and param.name in spec.constants
        ),
        resources=kernel.assembled.resources,
        tolerance=family.tolerance(spec, target, plan.schedule),
    )
    if (beyond := kernel_refusal(entry, limits_of(entry))) is not None:
        raise ScheduleError(f"{entry.name}: {beyond}")
    return entry


def _stored(param: TensorParam, array: Array, files: dict[str, bytes]) -> StoredTensor:
    """Add a constant to the bundle's files; kernels that take equal bytes share a file."""
    from kgen.constants import stored

    data = stored(param, array)
    digest = hashlib.sha256(data).hexdigest()
    name = f"constants/{digest[:16]}.bin"
    files[name] = data
    return StoredTensor(parameter=param.name, file=name, sha256=digest, nbytes=len(data))


def _manifest_bytes(value: Manifest) -> bytes:
    from kgen.repeated_steps import with_repeats

    made = dataclasses.replace(value, programs=tuple(map(with_repeats, value.programs)))
    data = manifest_json.to_json(made)
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    manifest_json.check(text)
    return text


def _write(archive: zipfile.ZipFile, name: str, data: bytes | memoryview) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.external_attr = 0o644 << 16
    assert archive.fp is not None
    # The local header is 30 bytes and the name; an extra field pads it to the alignment.
    start = archive.fp.tell() + 30 + len(name.encode())
    alignment = PAGE if name.startswith(f"{WEIGHTS}/") else ALIGNMENT
    padding = -(start + 4) % alignment
    # Android's zipalign uses the header 0xD935 for its padding.
    info.extra = b"\x35\xd9" + padding.to_bytes(2, "little") + bytes(padding)
    archive.writestr(info, data)


def _version() -> str:
    from kgen_runtime import __version__

    return __version__
