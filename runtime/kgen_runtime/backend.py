"""The Backend protocol: what one driver must offer. One file per driver in `backends/`.

A backend deals in opaque buffers and whole kernel entries. Everything that does not depend on the
driver (argument checks, strides, choosing a kernel) lives in the callers.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.launch_limits import kernel_refusal
from kgen_runtime.memory.host import zero_bytes
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.launch_limits import Limits
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry
    from kgen_runtime.memory.host import HostBytes as HostBytes


#: Bytes that are filled with zeros at a time.
CLEARED = 1 << 24


@frozen
class DeviceInfo:
    """Device as `kgen devices` shows it.

    `kind` is cpu, gpu or software (a driver that computes on the CPU, such as lavapipe); automatic
    choice never takes software. `capabilities` are the facts that artifacts' `requires` are checked
    against.
    """

    backend: str
    index: int
    name: str
    kind: str
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.backend}:{self.index}"


@frozen
class Code:
    """The chosen artifact of one module, with its bytes (digest already checked)."""

    artifact: ArtifactEntry
    data: bytes


@frozen
class SequenceStep:
    """Step of a sequence: a kernel and its buffers by parameter name. `after` has the numbers of
    earlier steps that it waits for."""

    kernel: Any
    buffers: Mapping[str, Any]
    after: tuple[int, ...] = ()


class LaunchSequence(ABC):
    """Launches whose arguments are settled, made in order, again and again."""

    @abstractmethod
    def run(self) -> None:
        """Make all launches; as `Backend.launch`, it may return before they are done."""

    @abstractmethod
    def timed(self) -> list[float]:
        """Make all launches, each when the one before is done: the seconds of each step."""


class PreparedSequence(LaunchSequence):
    """Launches that the backend has prepared one by one."""

    def __init__(self, backend: Backend, steps: Sequence[SequenceStep]) -> None:
        self._backend = backend
        self._launches = [backend.prepare(step.kernel, step.buffers) for step in steps]

    def run(self) -> None:
        for launch in self._launches:
            launch()

    def timed(self) -> list[float]:
        seconds = []
        self._backend.synchronize()
        for launch in self._launches:
            start = time.perf_counter()
            launch()
            self._backend.synchronize()
            seconds.append(time.perf_counter() - start)
        return seconds


class Backend(ABC):
    """Open device. Opening raises DeviceError, in one line, if the driver is missing.

    Launches on one stream run in order. `stream` is the driver's own handle as an integer, None for
    the backend's default stream; backends without streams refuse anything else.
    """

    name: ClassVar[str]
    #: Artifact formats that it runs, best first.
    formats: ClassVar[tuple[str, ...]]
    #: DLPack's number of the memory that its kernels work on in place: 1 host, 2 CUDA, 10 ROCm.
    #: Its buffers are then plain integer addresses, so that the caller's own arrays will do.
    #: None where a buffer is an opaque handle and foreign memory cannot be used.
    memory: ClassVar[int | None] = None

    info: DeviceInfo

    @classmethod
    @abstractmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        """Devices that this driver has here. Raises DeviceError if there is no driver."""

    @abstractmethod
    def __init__(self, index: int = 0) -> None:
        """Open device `index`."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; safe to call twice, and when opening failed."""

    def __del__(self) -> None:
        """A device that nobody uses any more is closed. At the interpreter's end it goes with the
        process: drivers may be gone before it."""
        if not sys.is_finalizing():
            with suppress(DeviceError):
                self.close()

    @staticmethod
    @abstractmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        """Why a device with these capabilities cannot run the artifact, or None if it can.

        One line with the remedy. No driver is asked, so that the device need not be here.
        """

    def refuses(self, artifact: ArtifactEntry) -> str | None:
        """Why this device cannot run the artifact, or None if it can."""
        return self.refusal(artifact, self.info.capabilities)

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits | None:
        """Return the launch limits of a device with these capabilities; None if it has none."""
        return None

    @property
    def described(self) -> Described:
        """Description of this device, by which code is chosen."""
        return Described(backend=type(self), capabilities=self.info.capabilities)

    def refuse_stream(self, stream: int | None) -> None:
        """Raise ArgumentError for a stream, on a device that has none."""
        if stream is not None:
            raise ArgumentError(
                f"stream={stream}: the {self.name} backend has no streams; leave it out"
            )

    @staticmethod
    def rank(artifact: ArtifactEntry) -> tuple[int, ...]:
        """How well an artifact that runs here uses this device; of several the highest is chosen.

        By default the number of features that it requires.
        """
        lists = (v for v in artifact.requires.values() if isinstance(v, list | tuple))
        return (sum(len(v) for v in lists),)

    @abstractmethod
    def alloc(self, nbytes: int) -> Any:
        """A buffer of `nbytes`, at least 256-byte aligned. Raises OutOfMemory."""

    @abstractmethod
    def free(self, buffer: Any) -> None: ...

    @abstractmethod
    def view(self, buffer: Any, offset: int, nbytes: int) -> Any:
        """Part of a buffer, at an offset that the device's kernels take: a multiple of 256 for any.
        It needs no `free` of its own."""

    def borrow(self, host: HostBytes) -> Any | None:
        """Host memory as a buffer that kernels read where it lies, and the caller keeps; None where
        they cannot."""
        return None

    @abstractmethod
    def copy_to_device(self, buffer: Any, host: HostBytes) -> None:
        """Copy contiguous host bytes to the start of the buffer; done on return."""

    @abstractmethod
    def copy_from_device(self, host: HostBytes, buffer: Any) -> None:
        """Fill contiguous host bytes from the start of the buffer, after all earlier launches."""

    def clear(self, buffer: Any, nbytes: int) -> None:
        """Fill the start of a buffer with zeros."""
        zeros = zero_bytes(min(nbytes, CLEARED))
        for start in range(0, nbytes, CLEARED):
            part = min(CLEARED, nbytes - start)
            self.copy_to_device(self.view(buffer, start, part), zeros[:part])

    def alloc_zeroed(self, nbytes: int) -> Any:
        """A buffer as of `alloc`, filled with zeros."""
        buffer = self.alloc(nbytes)
        try:
            self.clear(buffer, nbytes)
        except BaseException:
            self.free(buffer)
            raise
        return buffer

    @abstractmethod
    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> Any:
        """Hand the machine code of every module (by module name) to the driver."""

    def load_all(self, kernels: Sequence[tuple[KernelEntry, Mapping[str, Code]]]) -> list[Any]:
        """Load each of a bundle's kernels as `load` does; if one is refused, none is loaded."""
        loaded: list[Any] = []
        try:
            for entry, code in kernels:
                loaded.append(self.load(entry, code))
        except BaseException:
            for kernel in loaded:
                self.unload(kernel)
            raise
        return loaded

    @abstractmethod
    def launch(self, kernel: Any, buffers: Mapping[str, Any], stream: int | None = None) -> None:
        """Run all launches of the kernel, in order, on buffers by parameter name."""

    def launcher(
        self, kernel: Any, names: Sequence[str]
    ) -> Callable[[list[Any], int | None], None]:
        """`launch` for buffers that come as a list, in the order of these parameter names."""

        def launch(buffers: list[Any], stream: int | None) -> None:
            self.launch(kernel, dict(zip(names, buffers, strict=True)), stream)

        return launch

    def prepare(
        self, kernel: Any, buffers: Mapping[str, Any], stream: int | None = None
    ) -> Callable[[], None]:
        """A launch whose arguments are settled, to be made again and again."""
        return partial(self.launch, kernel, buffers, stream)

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        """Many launches, to be made again and again on the default stream."""
        return PreparedSequence(self, steps)

    def sessions(
        self, handle: Any, kernels: Any, weights: Mapping[str, Any]
    ) -> Callable[..., Any] | None:
        """Return the device's own maker of a program's sessions; None for the common one, whose
        steps are a sequence of launches. The arguments are those of `calls.session.DeviceSession`.
        """
        return None

    @abstractmethod
    def unload(self, kernel: Any) -> None:
        """Give back a loaded kernel, once nothing that uses it is still running."""

    @abstractmethod
    def synchronize(self, stream: int | None = None) -> None:
        """Wait until everything launched is done."""


@frozen
class Described:
    """A device of which only the capabilities are known: it need not be open, nor be here."""

    backend: type[Backend]
    capabilities: Mapping[str, Any]


def choose_code(device: Described, entry: KernelEntry) -> tuple[dict[str, ArtifactEntry], str]:
    """The best artifact per module that this device runs, and launches, and ""; or {} and why there
    is none."""
    chosen: dict[str, ArtifactEntry] = {}
    reason = f"the bundle has no code for the {device.backend.name} backend"
    for form in device.backend.formats:
        for artifact in entry.artifacts:
            if artifact.format != form or artifact.role == "source":
                continue
            refusal = device.backend.refusal(artifact, device.capabilities)
            if refusal is None:
                chosen.setdefault(artifact.module, artifact)
            else:
                reason = refusal
    modules = {launch.module for launch in entry.launches}
    if not modules <= set(chosen):
        return {}, reason
    limits = device.backend.limits(device.capabilities)
    beyond = None if limits is None else kernel_refusal(entry, limits)
    return (chosen, "") if beyond is None else ({}, beyond)
