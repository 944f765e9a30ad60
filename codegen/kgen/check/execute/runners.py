"""Choice of an executor for a kernel: on a device, under qemu, or in an emulator."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from kgen import targets
from kgen.check.execute.executor import Executor, Unavailable, workspaces
from kgen.check.execute.isolate import IsolatedDevices
from kgen.check.tensors import Bytes
from kgen.emulate.schedules import SCHEDULES, once
from kgen.errors import IntegrityError
from kgen_runtime import manifest
from kgen_runtime.manifest import ArtifactEntry, Extent3, KernelEntry, Manifest
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.emulate import LaunchReport

On = Literal["auto", "device", "emulator"]

#: Text formats that the emulator runs, with the emulator's name of the language.
LANGUAGES: dict[str, Literal["ptx", "llvm"]] = {"ptx": "ptx", "llvm-ir": "llvm"}


class Reader(Protocol):
    """Open bundle, on disk (:class:`kgen_runtime.bundle.BundleFile`) or in memory."""

    @property
    def manifest(self) -> Manifest: ...

    def read(self, artifact: ArtifactEntry) -> bytes: ...


@frozen
class Emulation:
    """Emulator options: the number of thread schedules, and whether warnings are faults.

    A warning is a finding that no rule forbids (see :func:`kgen.emulate.run`).
    """

    schedules: int = SCHEDULES
    strict: bool = False


def executor(
    reader: Reader,
    entry: KernelEntry,
    on: On,
    devices: IsolatedDevices,
    emulation: Emulation | None = None,
) -> Executor:
    """Return the best executor of a kernel here.

    Raises Unavailable, with every reason, if none exists.
    """
    reasons = []
    ways = WAYS if on == "auto" else [way for way in WAYS if (way is _device) == (on == "device")]
    for way in ways:
        try:
            return way(reader, entry, devices, emulation or Emulation())
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable("; ".join(dict.fromkeys(filter(None, reasons))))


def text_of(reader: Reader, artifact: ArtifactEntry) -> str:
    """Return an artifact's text. Raises IntegrityError if it is not UTF-8."""
    try:
        return reader.read(artifact).decode()
    except UnicodeDecodeError:
        raise IntegrityError(f"{artifact.file} is not UTF-8 text; build the bundle again") from None


def _device(
    reader: Reader, entry: KernelEntry, devices: IsolatedDevices, emulation: Emulation
) -> Executor:
    files = {a.file: reader.read(a) for a in entry.artifacts if a.role != "source"}
    return devices.executor(targets.family(entry.target.family).backend, entry, files)


def _emulator(
    reader: Reader, entry: KernelEntry, devices: IsolatedDevices, emulation: Emulation
) -> Executor:
    for artifact in entry.artifacts:
        if artifact.format in LANGUAGES:
            source = text_of(reader, artifact)
            return EmulatorExecutor(entry, artifact.format, source, emulation)
    raise Unavailable(
        f"{entry.target.name} kernels have no emulator; run this on a machine with a device "
        "or driver for them"
    )


def _qemu(
    reader: Reader, entry: KernelEntry, devices: IsolatedDevices, emulation: Emulation
) -> Executor:
    for artifact in entry.artifacts:
        if artifact.format == "elf-aarch64":
            if shutil.which("qemu-aarch64") is None:
                raise Unavailable("qemu-aarch64 is not installed; apt install qemu-user")
            return QemuExecutor(entry, reader.read(artifact), artifact.requires.get("features", ()))
    raise Unavailable  # Code for other families is expected to have no qemu.


def typed(entry: KernelEntry, buffers: Mapping[str, Bytes]) -> dict[str, np.ndarray[Any, Any]]:
    """Return buffers as arrays of their storage types, which the emulators require."""
    storage = {p.name: p.dtype.storage for p in entry.parameters}
    return {name: data.view(storage.get(name, np.uint8)) for name, data in buffers.items()}


def tensor_maps(entry: KernelEntry, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Return the kernel's tensor maps for the emulator: innermost axis first, strides in bytes."""
    from kgen.emulate import TensorMap

    return {
        map_.name: TensorMap(
            buffer=arrays[map_.tensor],
            dtype=_element(map_),
            shape=map_.shape[::-1],
            strides=[stride * map_.dtype.itemsize for stride in map_.strides[-2::-1]],
            box=map_.box[::-1],
            swizzle=map_.swizzle,
        )
        for map_ in entry.tensor_maps
    }


def _element(map_: manifest.TensorMap) -> str:
    """Return the driver's element type. It has no 8-bit floats, which are copied as bytes."""
    if map_.tf32:
        return "tf32"
    return "u8" if map_.dtype.itemsize == 1 else map_.dtype.value


class EmulatorExecutor(Executor):
    """Executor in :mod:`kgen.emulate`, which faults on any access outside a buffer.

    CPU code gets the range of its tasks as two more arguments, as from the runtime. Schedules are
    those of seeds from 0 on.
    """

    on = "emulator"
    samples = True

    def __init__(
        self, entry: KernelEntry, form: str, source: str, emulation: Emulation | None = None
    ) -> None:
        self.form = form
        self._entry = entry
        self._source = source
        self._emulation = emulation or Emulation()
        if entry.target.family != "cpu":
            self.schedules = self._emulation.schedules

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        strict = self._emulation.strict
        reports = self.reports(buffers, workgroups, seed=self.schedule, strict=strict)
        found = (warning for report in reports for warning in report.warnings)
        self.warnings = once([*self.warnings, *found])

    def reports(
        self,
        buffers: Mapping[str, Bytes],
        workgroups: Sequence[Sequence[Extent3]] | None,
        **options: Any,
    ) -> list[LaunchReport]:
        """Run the kernel with options of the emulator; return a report per launch.

        On a CPU there is a report per range of tasks.
        """
        from kgen import emulate

        arrays = typed(self._entry, dict(buffers) | workspaces(self._entry))
        given = arrays | tensor_maps(self._entry, arrays)
        on_cpu = self._entry.target.family == "cpu"
        found = []
        for i, launch in enumerate(self._entry.launches):
            arguments = [given[name] for name in launch.arguments]
            common: dict[str, Any] = {
                "language": LANGUAGES[self.form],
                "entry": launch.entry_point,
                "block": launch.block,
                **options,
            }
            chosen = None if workgroups is None else list(workgroups[i])
            if not on_cpu:
                report = emulate.run(
                    self._source,
                    grid=launch.grid,
                    arguments=arguments,
                    dynamic_shared=launch.dynamic_shared_memory,
                    workgroups=chosen,
                    **common,
                )
                found.append(report)
                continue
            tasks = range(launch.grid[0]) if chosen is None else [x for x, _, _ in chosen]
            for begin, end in ranges(tasks):
                bounds = [np.int64(begin), np.int64(end)]
                found.append(
                    emulate.run(
                        self._source, grid=(1, 1, 1), arguments=arguments + bounds, **common
                    )
                )
        return found


def ranges(tasks: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending task numbers as half-open ranges."""
    found: list[tuple[int, int]] = []
    for task in tasks:
        if found and found[-1][1] == task:
            found[-1] = (found[-1][0], task + 1)
        else:
            found.append((task, task + 1))
    return found


class QemuExecutor(Executor):
    """Executor of aarch64 machine code under user-mode qemu."""

    on = "qemu-aarch64"
    form = "machine-code"

    def __init__(self, entry: KernelEntry, code: bytes, features: Sequence[str]) -> None:
        self._entry = entry
        self._code = code
        self._features = features

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        from kgen.check.execute.qemu import run_aarch64

        host = dict(buffers) | workspaces(self._entry)
        for launch in self._entry.launches:
            arguments = [host[name] for name in launch.arguments]
            run_aarch64(
                self._code, launch.entry_point, arguments, launch.grid[0], features=self._features
            )


Way = Callable[[Reader, KernelEntry, IsolatedDevices, Emulation], Executor]
#: All executors, best first.
WAYS: tuple[Way, ...] = (_device, _qemu, _emulator)
