"""Where a kernel can be executed here, and executing it there on raw buffers."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from kgen.check.tensors import Bytes
from kgen.errors import DeviceError, VerificationError
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.manifest import ArtifactEntry, Extent3, KernelEntry, Manifest
from kgen_runtime.select import backend_class

On = Literal["auto", "device", "emulator"]

#: Bytes before and after every buffer on a device that a kernel must leave alone.
GUARD = 4096
GUARD_BYTE = 0xA5
#: The runtime's backend for each family's code.
BACKEND_OF = {"cuda": "cuda", "amdgpu": "hip", "vulkan": "vulkan", "cpu": "cpu"}
#: Text formats that the emulator runs, by its word for the language.
LANGUAGES: dict[str, Literal["ptx", "llvm"]] = {"ptx": "ptx", "llvm-ir": "llvm"}


class Reader(Protocol):
    """An open bundle: on disk (:class:`kgen_runtime.bundle.BundleFile`) or in memory."""

    @property
    def manifest(self) -> Manifest: ...

    def read(self, artifact: ArtifactEntry) -> bytes: ...


class Unavailable(Exception):
    """The kernel cannot be executed here; the message says why."""


class Executor(ABC):
    """One way to run one kernel. `on` and `form` are the report's executed_on, executed_form."""

    on: str
    form: str
    #: Whether a sample of the workgroups can be run.
    samples: bool = False

    @abstractmethod
    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        """Run the kernel in place on buffers by parameter name.

        `workgroups` are those of each launch, None for all. Raises VerificationError or
        EmulationError if the kernel touches memory that is not its own.
        """

    def close(self) -> None:
        """Give back what the kernel holds; by default nothing."""
        return


@dataclass(kw_only=True)
class Devices:
    """Open devices, kept from one kernel to the next. Use it as a context manager."""

    _open: dict[str, Backend | DeviceError] = field(default_factory=dict)

    def __enter__(self) -> Devices:
        return self

    def __exit__(self, *_: object) -> None:
        for backend in self._open.values():
            if isinstance(backend, Backend):
                backend.close()
        self._open.clear()

    def find(self, name: str) -> Backend:
        """The first device of a backend; Unavailable if there is none."""
        if name not in self._open:
            try:
                self._open[name] = backend_class(name)()
            except DeviceError as error:
                self._open[name] = error
        found = self._open[name]
        if isinstance(found, DeviceError):
            raise Unavailable(str(found))
        return found


def executor(reader: Reader, entry: KernelEntry, on: On, devices: Devices) -> Executor:
    """The best way to execute a kernel here; Unavailable, with every reason, if there is none."""
    reasons = []
    ways = {"device": (_device,), "emulator": (_qemu, _emulator)}
    for way in ways.get(on, (_device, _qemu, _emulator)):
        try:
            return way(reader, entry, devices)
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable("; ".join(dict.fromkeys(reasons)))


def _device(reader: Reader, entry: KernelEntry, devices: Devices) -> Executor:
    backend = devices.find(BACKEND_OF[entry.target.family])
    chosen, refusal = choose_code(backend, entry)
    if not chosen:
        raise Unavailable(refusal)
    code = {
        module: Code(artifact=artifact, data=reader.read(artifact))
        for module, artifact in chosen.items()
    }
    return DeviceExecutor(backend, entry, code)


def _emulator(reader: Reader, entry: KernelEntry, devices: Devices) -> Executor:
    for artifact in entry.artifacts:
        if artifact.format in LANGUAGES:
            return EmulatorExecutor(entry, artifact.format, reader.read(artifact).decode())
    raise Unavailable(f"{entry.target.name} code has no emulator")


def _qemu(reader: Reader, entry: KernelEntry, devices: Devices) -> Executor:
    for artifact in entry.artifacts:
        if artifact.format == "elf-aarch64":
            if shutil.which("qemu-aarch64") is None:
                raise Unavailable("qemu-aarch64 is not installed; apt install qemu-user")
            return QemuExecutor(entry, reader.read(artifact))
    raise Unavailable(f"{entry.target.name} code is not for qemu-aarch64")


class DeviceExecutor(Executor):
    """A real device, through the runtime; every buffer lies between two guard bands."""

    def __init__(self, backend: Backend, entry: KernelEntry, code: Mapping[str, Code]) -> None:
        artifact = code[entry.launches[0].module].artifact
        self.on = backend.info.name
        self.form = artifact.format if artifact.format in ("ptx", "spirv") else "machine-code"
        self._backend = backend
        self._entry = entry
        self._kernel = backend.load(entry, code)

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        assert workgroups is None
        backend = self._backend
        host = dict(buffers) | workspaces(self._entry)
        raw: dict[str, Any] = {}
        try:
            views = {}
            for name, data in host.items():
                raw[name] = backend.alloc(data.nbytes + 2 * GUARD)
                backend.copy_to_device(raw[name], guarded(data))
                views[name] = backend.view(raw[name], GUARD, data.nbytes)
            backend.launch(self._kernel, views)
            backend.synchronize()
            for name, data in host.items():
                after = np.empty(data.nbytes + 2 * GUARD, np.uint8)
                backend.copy_from_device(after, raw[name])
                check_guards(name, after)
                data[:] = after[GUARD:-GUARD]
        finally:
            for buffer in raw.values():
                backend.free(buffer)

    def close(self) -> None:
        self._backend.unload(self._kernel)


def guarded(data: Bytes) -> Bytes:
    """The data between two guard bands."""
    full = np.full(data.nbytes + 2 * GUARD, GUARD_BYTE, np.uint8)
    full[GUARD:-GUARD] = data
    return full


def check_guards(name: str, after: Bytes) -> None:
    """Raise VerificationError if a guard band was written to."""
    nbytes = after.size - 2 * GUARD
    before = np.flatnonzero(after[:GUARD] != GUARD_BYTE) - GUARD
    behind = np.flatnonzero(after[-GUARD:] != GUARD_BYTE) + nbytes
    changed = [*before.tolist(), *behind.tolist()]
    if changed:
        raise VerificationError(
            f"{name}: {len(changed)} bytes outside the buffer were written, the first at byte "
            f"{changed[0]} of a buffer of {nbytes} bytes"
        )


def workspaces(entry: KernelEntry) -> dict[str, Bytes]:
    """Scratch memory as the runtime gives it: zero where the manifest says so, else poison."""
    return {
        w.name: np.full(w.nbytes, 0 if w.initial == "zero" else GUARD_BYTE, np.uint8)
        for w in entry.workspaces
    }


def typed(entry: KernelEntry, buffers: Mapping[str, Bytes]) -> dict[str, np.ndarray[Any, Any]]:
    """Buffers as arrays of their storage types, which is what the emulators take."""
    storage = {p.name: p.dtype.storage for p in entry.parameters}
    return {name: data.view(storage.get(name, np.uint8)) for name, data in buffers.items()}


class EmulatorExecutor(Executor):
    """The kernel's text, executed by :mod:`kgen.emulate`; any access outside a buffer is a fault.

    CPU code gets the range of its tasks as two more arguments, as the runtime passes them.
    """

    on = "emulator"
    samples = True

    def __init__(self, entry: KernelEntry, form: str, source: str) -> None:
        self.form = form
        self._entry = entry
        self._source = source

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        from kgen import emulate

        arrays = typed(self._entry, dict(buffers) | workspaces(self._entry))
        on_cpu = self._entry.target.family == "cpu"
        for i, launch in enumerate(self._entry.launches):
            arguments: list[Any] = [arrays[name] for name in launch.arguments]
            common: dict[str, Any] = {
                "language": LANGUAGES[self.form],
                "entry": launch.entry_point,
                "block": launch.block,
            }
            chosen = None if workgroups is None else list(workgroups[i])
            if not on_cpu:
                emulate.run(
                    self._source,
                    grid=launch.grid,
                    arguments=arguments,
                    dynamic_shared=launch.dynamic_shared_memory,
                    workgroups=chosen,
                    **common,
                )
                continue
            tasks = range(launch.grid[0]) if chosen is None else [x for x, _, _ in chosen]
            for begin, end in ranges(tasks):
                bounds = [np.int64(begin), np.int64(end)]
                emulate.run(self._source, grid=(1, 1, 1), arguments=arguments + bounds, **common)


def ranges(tasks: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending task numbers as half-open ranges."""
    found: list[tuple[int, int]] = []
    for task in tasks:
        if found and found[-1][1] == task:
            found[-1] = (found[-1][0], task + 1)
        else:
            found.append((task, task + 1))
    return found


class QemuExecutor(Executor):
    """aarch64 machine code under user-mode qemu."""

    on = "qemu-aarch64"
    form = "machine-code"

    def __init__(self, entry: KernelEntry, code: bytes) -> None:
        self._entry = entry
        self._code = code

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        from kgen.check.qemu import run_aarch64

        host = dict(buffers) | workspaces(self._entry)
        for launch in self._entry.launches:
            arguments = [host[name] for name in launch.arguments]
            run_aarch64(self._code, launch.entry_point, arguments, launch.grid[0])
