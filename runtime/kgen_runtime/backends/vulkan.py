"""Vulkan devices, through the `vulkan` package.

Requirements that artifacts may state: `api`, the lowest version of the API as text ("1.3");
`features`, names of Vulkan features; `limits`, the least value of limits by Vulkan's names, where a
kernel needs more than Vulkan guarantees.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import (
    Backend,
    Code,
    DeviceInfo,
    LaunchSequence,
    PreparedSequence,
    SequenceStep,
)
from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.backends.vulkan_driver import (
    create_instance,
    describe,
    driver,
    host_memory_is_device_memory,
    physical_devices,
)
from kgen_runtime.backends.vulkan_objects import Allocation, Buffer, Device, Pipeline
from kgen_runtime.backends.vulkan_queue import Commands, Dispatch, Queue
from kgen_runtime.errors import ArgumentError, DeviceError, DeviceLost, LaunchError, OutOfMemory
from kgen_runtime.launch_limits import Limits, vulkan_limits

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry

KNOWN_REQUIREMENTS = frozenset(("api", "features", "limits"))
#: The first word of a module, as it lies in memory (SPIR-V 1.6, section 2.3).
SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")
#: Copies to and from memory that the host does not see go through a buffer of this many bytes.
STAGING_BYTES = 32 * 2**20


#: A child of it may hang in the driver even with devices of its own.
PROCESS = OneProcess("vulkan")


class _Turn:
    """One thread's turn at a device, which may take turns within it; in a forked child, where the
    lock may be held for ever by a thread that is not there, none."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        PROCESS.check()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass(frozen=True, eq=False, kw_only=True)
class VulkanKernel:
    name: str
    modules: tuple[Any, ...]
    pipelines: tuple[Pipeline, ...]


class VulkanBackend(Backend):
    """One Vulkan device with one queue; safe for threads. There are no streams to choose."""

    name: ClassVar[str] = "vulkan"
    formats: ClassVar[tuple[str, ...]] = ("spirv",)
    _closed = True

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        PROCESS.check()
        instance = create_instance()
        try:
            return tuple(describe(i, d) for i, d in enumerate(physical_devices(instance)))
        finally:
            driver().vkDestroyInstance(instance, None)

    def __init__(self, index: int = 0, *, mapped: bool | None = None) -> None:
        """`mapped`: whether buffers are memory that the host sees; by default where that is as
        fast for the device as any other."""
        PROCESS.start()
        self._lock = _Turn()
        self._instance = create_instance()
        try:
            found = physical_devices(self._instance)
            if index not in range(len(found)):
                raise DeviceError(f"vulkan:{index} does not exist; here are {len(found)} devices")
            self.info = describe(index, found[index])
            self._device = Device(
                found[index],
                features=self.info.capabilities["features"],
                mapped=host_memory_is_device_memory(found[index]) if mapped is None else mapped,
            )
            self._queue = Queue(self._device)
        except BaseException:
            driver().vkDestroyInstance(self._instance, None)
            raise
        self._allocations: set[Allocation] = set()
        self._kernels: set[VulkanKernel] = set()
        self._recorded: set[Commands] = set()
        self._staging: Allocation | None = None
        self._closed = False

    def close(self) -> None:
        if self._closed or PROCESS.lost:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with suppress(DeviceLost):  # then nothing is under way any more
                self._queue.wait()
            for commands in self._recorded:
                self._queue.forget(commands)
            for kernel in tuple(self._kernels):
                self._destroy(kernel)
            if self._staging is not None:
                self._allocations.add(self._staging)
            for allocation in self._allocations:
                self._device.free(allocation)
            self._allocations.clear()
            self._queue.destroy()
            self._device.destroy()
            driver().vkDestroyInstance(self._instance, None)

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        if unknown := sorted(requires.keys() - KNOWN_REQUIREMENTS):
            return f"it requires {unknown[0]}, which this runtime does not know; upgrade it"
        api = tuple(capabilities["api"])
        if _version(requires.get("api", "1.0")) > api:
            return (
                f"it needs Vulkan {requires['api']}, here is {'.'.join(map(str, api))}; build for "
                "vulkan1.1, or upgrade the driver"
            )
        if missing := sorted(set(requires.get("features", ())) - set(capabilities["features"])):
            return f"it needs {', '.join(missing)}, which the device lacks; build it for f32"
        for name, needed in requires.get("limits", {}).items():
            if (limit := capabilities["limits"].get(name, 0)) < needed:
                return (
                    f"it needs {name} = {needed}, the device has {limit}; build it with a smaller "
                    "schedule or for a smaller shape"
                )
        return None

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        return vulkan_limits(capabilities["limits"], "the device")

    @staticmethod
    def rank(artifact: ArtifactEntry) -> tuple[int, ...]:
        """More features of the device first, then the newer API."""
        requires = artifact.requires
        return (len(requires.get("features", ())), *_version(requires.get("api", "1.0")))

    def alloc(self, nbytes: int) -> Buffer:
        with self._lock:
            # Offset 0 of an allocation satisfies every alignment; Vulkan has no empty buffers.
            allocation = self._device.allocate(max(nbytes, 1))
            self._allocations.add(allocation)
        return Buffer(allocation=allocation, offset=0, nbytes=nbytes)

    def free(self, buffer: Buffer) -> None:
        if PROCESS.lost:
            return
        with self._lock:
            if self._closed:
                return
            self._queue.wait()
            self._allocations.remove(buffer.allocation)
            self._device.free(buffer.allocation)

    def view(self, buffer: Buffer, offset: int, nbytes: int) -> Buffer:
        return Buffer(allocation=buffer.allocation, offset=buffer.offset + offset, nbytes=nbytes)

    def copy_to_device(self, buffer: Buffer, host: HostBytes) -> None:
        with self._lock:
            self._queue.wait()
            if buffer.host is not None:
                buffer.host[: host.nbytes] = host
                return
            staging = self._stage()
            assert staging.host is not None
            for start in range(0, host.nbytes, STAGING_BYTES):
                piece = host[start : start + STAGING_BYTES]
                staging.host[: piece.nbytes] = piece
                region = (0, buffer.offset + start, piece.nbytes)
                self._queue.copy(staging, buffer.allocation, [region])

    def copy_from_device(self, host: HostBytes, buffer: Buffer) -> None:
        with self._lock:
            self._queue.wait()
            if buffer.host is not None:
                host[:] = buffer.host[: host.nbytes]
                return
            staging = self._stage()
            assert staging.host is not None
            for start in range(0, host.nbytes, STAGING_BYTES):
                piece = host[start : start + STAGING_BYTES]
                region = (buffer.offset + start, 0, piece.nbytes)
                self._queue.copy(buffer.allocation, staging, [region])
                piece[:] = staging.host[: piece.nbytes]

    def _stage(self) -> Allocation:
        if self._staging is None:
            self._staging = self._device.allocate(STAGING_BYTES, mapped=True)
        return self._staging

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> VulkanKernel:
        for c in code.values():
            if c.data[:4] != SPIRV_MAGIC or len(c.data) % 4:
                raise DeviceError(
                    f"{entry.name}: {c.artifact.file} is no SPIR-V module; rebuild it"
                )
        with self._lock, ExitStack() as undo:
            device = self._device
            try:
                modules = {}
                for name, c in code.items():
                    modules[name] = device.shader_module(c.data)
                    undo.callback(device.destroy_module, modules[name])
                pipelines = []
                for launch in entry.launches:
                    pipelines.append(device.pipeline(modules[launch.module], launch))
                    undo.callback(device.destroy_pipeline, pipelines[-1])
            except (OutOfMemory, DeviceLost):
                raise
            except DeviceError as error:
                raise DeviceError(f"{entry.name}: the driver rejects its SPIR-V: {error}") from None
            undo.pop_all()
            kernel = VulkanKernel(
                name=entry.name, modules=tuple(modules.values()), pipelines=tuple(pipelines)
            )
            self._kernels.add(kernel)
        return kernel

    def launch(
        self, kernel: VulkanKernel, buffers: Mapping[str, Buffer], stream: int | None = None
    ) -> None:
        _no_stream(stream)
        with self._lock:
            try:
                self._queue.launch(kernel.pipelines, buffers)
            except (OutOfMemory, DeviceLost):
                raise
            except DeviceError as error:
                raise LaunchError(f"{kernel.name}: {error}") from None

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        return RecordedSequence(self, steps)

    def record(self, steps: Sequence[SequenceStep]) -> Commands:
        """All launches in one command buffer, with a barrier only where one waits for another."""
        dispatches: list[Dispatch] = []
        fresh = 0  # steps from this one on are recorded after the last barrier
        for number, step in enumerate(steps):
            for i, pipeline in enumerate(step.kernel.pipelines):
                waits = i > 0 or any(earlier >= fresh for earlier in step.after)
                fresh = number if waits else fresh
                dispatches.append(Dispatch(pipeline=pipeline, buffers=step.buffers, waits=waits))
        with self._lock:
            commands = self._queue.record(dispatches)
            self._recorded.add(commands)
        return commands

    def replay(self, commands: Commands) -> None:
        with self._lock:
            self._queue.replay(commands)

    def forget(self, commands: Commands) -> None:
        if PROCESS.lost or self._closed:
            return
        with self._lock:
            if commands in self._recorded:
                self._recorded.remove(commands)
                self._queue.forget(commands)

    def unload(self, kernel: VulkanKernel) -> None:
        if PROCESS.lost:
            return
        with self._lock:
            if kernel in self._kernels:
                self._queue.wait()
                self._destroy(kernel)

    def _destroy(self, kernel: VulkanKernel) -> None:
        self._kernels.remove(kernel)
        for pipeline in kernel.pipelines:
            self._device.destroy_pipeline(pipeline)
        for module in kernel.modules:
            self._device.destroy_module(module)

    def synchronize(self, stream: int | None = None) -> None:
        _no_stream(stream)
        with self._lock:
            self._queue.wait()


class RecordedSequence(PreparedSequence):
    """Launches in one command buffer, which is recorded once."""

    def __init__(self, backend: VulkanBackend, steps: Sequence[SequenceStep]) -> None:
        super().__init__(backend, steps)
        self._device = backend
        self._commands = backend.record(steps)

    def run(self) -> None:
        self._device.replay(self._commands)

    def __del__(self) -> None:
        if hasattr(self, "_commands") and not sys.is_finalizing():
            with suppress(DeviceError):
                self._device.forget(self._commands)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _no_stream(stream: int | None) -> None:
    if stream is not None:
        raise ArgumentError(f"stream={stream}: the vulkan backend has no streams; leave it out")
