"""Backend protocol: what each driver must implement. `backends/` has one file or folder per driver.

A backend handles opaque buffers and whole kernel entries. Callers do everything that does not
depend on the driver: argument checks, strides, kernel selection.
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


#: Bytes per copy when a buffer is filled with zeros.
CLEARED = 1 << 24


@frozen
class DeviceInfo:
    """Device as `kgen devices` shows it.

    `kind` is cpu, gpu or software (a driver that computes on the CPU, such as lavapipe); automatic
    selection never takes software. The `requires` of artifacts are checked against `capabilities`.
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
    """Chosen artifact of one module, with its bytes (digest already checked)."""

    artifact: ArtifactEntry
    data: bytes


@frozen
class SequenceStep:
    """Step of a sequence: a kernel and its buffers by parameter name. `after` lists the numbers of
    the earlier steps that it waits for."""

    kernel: Any
    buffers: Mapping[str, Any]
    after: tuple[int, ...] = ()


class LaunchSequence(ABC):
    """Launches with fixed arguments, made in order and many times."""

    @abstractmethod
    def run(self) -> None:
        """Make all launches. Like `Backend.launch`, it may return before they are finished."""

    @abstractmethod
    def timed(self) -> list[float]:
        """Make the launches one at a time, each after the previous one has finished; return seconds
        per step."""


class PreparedSequence(LaunchSequence):
    """Launches that the backend prepares one by one."""

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
    """Open device. Opening raises DeviceError with a one-line message if the driver is missing.

    Launches on one stream run in order. `stream` is the driver's own handle as an integer, or None
    for the backend's default stream. Backends without streams refuse any other value.
    """

    name: ClassVar[str]
    #: Artifact formats that the backend runs, best first.
    formats: ClassVar[tuple[str, ...]]
    #: DLPack device type of the memory that kernels use in place: 1 host, 2 CUDA, 10 ROCm. Buffers
    #: are then integer addresses, so that kernels can work on arrays of the caller. None if a
    #: buffer is an opaque handle and foreign memory cannot be used.
    memory: ClassVar[int | None] = None

    info: DeviceInfo

    @classmethod
    @abstractmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        """Return the devices of this driver. Raises DeviceError if there is no driver."""

    @abstractmethod
    def __init__(self, index: int = 0) -> None:
        """Open device `index`."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Calling it twice, or after opening failed, is safe."""

    def __del__(self) -> None:
        """Close a device without references. Do nothing at interpreter exit: drivers may be
        unloaded before."""
        if not sys.is_finalizing():
            with suppress(DeviceError):
                self.close()

    @staticmethod
    @abstractmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        """Return why a device with these capabilities cannot run the artifact, or None if it can.

        The reason is one line with the remedy. The device need not be present: no driver is called.
        """

    def refuses(self, artifact: ArtifactEntry) -> str | None:
        """Return why this device cannot run the artifact, or None if it can."""
        return self.refusal(artifact, self.info.capabilities)

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits | None:
        """Return the launch limits of a device with these capabilities; None if it has no
        limits."""
        return None

    @property
    def described(self) -> Described:
        """Description of this device, from which code is chosen."""
        return Described(backend=type(self), capabilities=self.info.capabilities)

    def refuse_stream(self, stream: int | None) -> None:
        """Raise ArgumentError if a stream is passed to a device without streams."""
        if stream is not None:
            raise ArgumentError(
                f"stream={stream}: the {self.name} backend has no streams; leave it out"
            )

    @staticmethod
    def rank(artifact: ArtifactEntry) -> tuple[int, ...]:
        """Return how well an artifact uses this device; the highest rank is chosen.

        The default is the number of features that the artifact requires.
        """
        lists = (v for v in artifact.requires.values() if isinstance(v, list | tuple))
        return (sum(len(v) for v in lists),)

    @abstractmethod
    def alloc(self, nbytes: int) -> Any:
        """Allocate `nbytes`, aligned to at least 256 bytes. Raises OutOfMemory."""

    @abstractmethod
    def free(self, buffer: Any) -> None: ...

    @abstractmethod
    def view(self, buffer: Any, offset: int, nbytes: int) -> Any:
        """Return a part of a buffer that needs no `free`. An offset that is a multiple of 256 is
        valid on every device."""

    def borrow(self, host: HostBytes) -> Any | None:
        """Return a buffer by which kernels read host memory in place; the caller keeps the memory
        alive. None if kernels cannot read it."""
        return None

    @abstractmethod
    def copy_to_device(self, buffer: Any, host: HostBytes) -> None:
        """Copy contiguous host bytes to the start of the buffer. The copy is finished on return."""

    @abstractmethod
    def copy_from_device(self, host: HostBytes, buffer: Any) -> None:
        """Fill contiguous host bytes from the start of the buffer, after all earlier launches."""

    def clear(self, buffer: Any, nbytes: int) -> None:
        """Fill the first `nbytes` of a buffer with zeros."""
        zeros = zero_bytes(min(nbytes, CLEARED))
        for start in range(0, nbytes, CLEARED):
            part = min(CLEARED, nbytes - start)
            self.copy_to_device(self.view(buffer, start, part), zeros[:part])

    def alloc_zeroed(self, nbytes: int) -> Any:
        """Allocate a buffer like `alloc`, filled with zeros."""
        buffer = self.alloc(nbytes)
        try:
            self.clear(buffer, nbytes)
        except BaseException:
            self.free(buffer)
            raise
        return buffer

    @abstractmethod
    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> Any:
        """Load the machine code of every module (by module name) into the driver."""

    def load_all(self, kernels: Sequence[tuple[KernelEntry, Mapping[str, Code]]]) -> list[Any]:
        """Load all kernels of a bundle, like `load`. If one fails, all others are unloaded."""
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
        """Run all launches of the kernel in order, on buffers by parameter name."""

    def launcher(
        self, kernel: Any, names: Sequence[str]
    ) -> Callable[[list[Any], int | None], None]:
        """Return a variant of `launch` that takes the buffers as a list, in the order of these
        parameter names."""

        def launch(buffers: list[Any], stream: int | None) -> None:
            self.launch(kernel, dict(zip(names, buffers, strict=True)), stream)

        return launch

    def prepare(
        self, kernel: Any, buffers: Mapping[str, Any], stream: int | None = None
    ) -> Callable[[], None]:
        """Return a launch with fixed arguments, which can be made many times."""
        return partial(self.launch, kernel, buffers, stream)

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        """Return a sequence of launches on the default stream, which can be made many times."""
        return PreparedSequence(self, steps)

    def sessions(
        self, handle: Any, kernels: Any, weights: Mapping[str, Any]
    ) -> Callable[..., Any] | None:
        """Return the device's own factory of program sessions; None for the common implementation,
        whose steps are a sequence of launches. The arguments are those of
        `calls.session.DeviceSession`."""
        return None

    @abstractmethod
    def unload(self, kernel: Any) -> None:
        """Release a loaded kernel. No launch that uses it may still be running."""

    @abstractmethod
    def synchronize(self, stream: int | None = None) -> None:
        """Wait until all launches, or those on one stream, are finished."""


@frozen
class Described:
    """Capabilities of a device that need not be open or present."""

    backend: type[Backend]
    capabilities: Mapping[str, Any]


def choose_code(device: Described, entry: KernelEntry) -> tuple[dict[str, ArtifactEntry], str]:
    """Return the best artifact per module for the kernel's launches on this device, and ""; or {}
    and the reason if the kernel does not run there."""
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
