"""Vulkan backend, through the `vulkan` package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Backend, Code, DeviceInfo, LaunchSequence, SequenceStep
from kgen_runtime.backends.vulkan import features, requirements
from kgen_runtime.backends.vulkan.driver import (
    NEWEST_API,
    api_version,
    create_instance,
    driver,
    host_memory_is_device_memory,
    limits,
    physical_devices,
)
from kgen_runtime.backends.vulkan.memory import MemoryBlock, MemoryKind, VulkanBuffer, VulkanMemory
from kgen_runtime.backends.vulkan.modules import malformed
from kgen_runtime.backends.vulkan.pipeline_cache import PipelineCache
from kgen_runtime.backends.vulkan.pipelines import VulkanDevice, VulkanPipeline
from kgen_runtime.backends.vulkan.queue import Queue
from kgen_runtime.backends.vulkan.recording import (
    KernelRecordings,
    RecordedDispatch,
    Recorder,
    Recording,
)
from kgen_runtime.backends.vulkan.replays import RecordedSequence, Replay
from kgen_runtime.backends.vulkan.transfers import Transfers
from kgen_runtime.backends.vulkan.turn import PROCESS, Turn
from kgen_runtime.errors import DeviceError, DeviceLost, LaunchError, OutOfMemory
from kgen_runtime.launch_limits import Limits, vulkan_limits
from kgen_runtime.settings import GPU_SECONDS, vulkan_seconds

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import KernelEntry


@dataclass(frozen=True, eq=False, kw_only=True)
class VulkanKernel:
    name: str
    modules: tuple[Any, ...]
    pipelines: tuple[VulkanPipeline, ...]
    recordings: KernelRecordings


class VulkanBackend(Backend):
    """Vulkan device with one queue and without selectable streams; thread-safe."""

    name: ClassVar[str] = "vulkan"
    formats: ClassVar[tuple[str, ...]] = ("spirv",)
    _lock = Turn()

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        PROCESS.check()
        instance = create_instance()
        try:
            return tuple(
                _describe(instance, i, d) for i, d in enumerate(physical_devices(instance))
            )
        finally:
            driver().vkDestroyInstance(instance, None)

    def __init__(
        self, index: int = 0, *, mapped: bool | None = None, seconds: float | None = None
    ) -> None:
        """Open a device.

        `mapped`: whether buffers are host-visible; by default, if that is as fast for the device as
        other memory. `seconds`: longest wait for the device; by default $KGEN_VULKAN_SECONDS, else
        `GPU_SECONDS` on a GPU.
        """
        PROCESS.start()
        self._lock = Turn()
        self._instance = create_instance()
        with ExitStack() as undo:
            undo.callback(driver().vkDestroyInstance, self._instance, None)
            found = physical_devices(self._instance)
            if index not in range(len(found)):
                raise DeviceError(
                    f"vulkan:{index} does not exist; this machine has {len(found)} Vulkan devices"
                )
            physical = found[index]
            self.info = _describe(self._instance, index, physical)
            if seconds is None:
                seconds = vulkan_seconds(None if self.info.kind == "software" else GPU_SECONDS)
            self._device = VulkanDevice(physical, self.info.capabilities["features"])
            undo.callback(self._device.destroy)
            mapped = host_memory_is_device_memory(physical) if mapped is None else mapped
            kind = MemoryKind.SHARED if mapped else MemoryKind.DEVICE
            self._memory = VulkanMemory(physical, self._device.handle, kind)
            self._cache = PipelineCache(physical, self._device.handle)
            undo.callback(self._cache.destroy)
            self._device.pipeline_cache = self._cache.handle
            self._recorder = Recorder(self._device)
            undo.callback(self._recorder.destroy)
            self._queue = Queue(self._device, seconds)
            undo.pop_all()
        self._transfers = Transfers(self._memory, self._recorder, self._queue)
        self._kernels: set[VulkanKernel] = set()
        #: Recordings in use for replays, and unused ones that may still be executing.
        self._prepared: set[Recording] = set()
        self._forgotten: list[Recording] = []
        self._lock.is_open = True

    def close(self) -> None:
        with self._lock.if_open() as is_open:
            if not is_open:
                return
            self._lock.is_open = False
            # After an error nothing executes any more, or the device hangs.
            with suppress(DeviceError):
                self._queue.wait()
            if self._queue.hangs:
                return  # Resources of a launch that may still run must not be destroyed.
            for kernel in tuple(self._kernels):
                self._destroy(kernel)
            for recording in (*self._prepared, *self._forgotten):
                self._recorder.forget(recording)
            self._transfers.destroy()
            for block in tuple(self._memory.blocks):
                self._memory.release(block)
            self._queue.destroy()
            self._recorder.destroy()
            self._cache.destroy()
            self._device.destroy()
            driver().vkDestroyInstance(self._instance, None)

    refusal = staticmethod(requirements.refusal)
    rank = staticmethod(requirements.rank)

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        return vulkan_limits(capabilities["limits"], "the device")

    # Memory

    def alloc(self, nbytes: int) -> VulkanBuffer:
        with self._lock:
            try:
                return self._memory.take(nbytes)
            except OutOfMemory:
                if not self._release(self._memory.unused()):
                    raise
                return self._memory.take(nbytes)

    def free(self, buffer: VulkanBuffer) -> None:
        """Mark the memory as free. Launches that use it may still execute: later launches with the
        same memory run after them, and the host waits before it accesses memory."""
        with self._lock.if_open() as is_open:
            if is_open:
                self._memory.give(buffer)
            if is_open and not self._queue.is_lost:
                self._release(self._memory.too_much_unused())

    def _release(self, blocks: Sequence[MemoryBlock]) -> bool:
        """Release blocks to the driver; return whether there were any."""
        if blocks:
            self._queue.wait()
        for block in blocks:
            for kernel in self._kernels:
                kernel.recordings.drop_block(block.number)
            self._memory.release(block)
        return bool(blocks)

    def view(self, buffer: VulkanBuffer, offset: int, nbytes: int) -> VulkanBuffer:
        return VulkanBuffer(buffer.block, buffer.offset + offset, nbytes)

    def copy_to_device(self, buffer: VulkanBuffer, host: HostBytes) -> None:
        with self._lock:
            self._transfers.to_device(buffer, host)

    def copy_from_device(self, host: HostBytes, buffer: VulkanBuffer) -> None:
        with self._lock:
            self._transfers.from_device(host, buffer)

    # Kernels

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> VulkanKernel:
        kernel = self._load(entry, code)
        self._keep_compiled()
        return kernel

    def load_all(
        self, kernels: Sequence[tuple[KernelEntry, Mapping[str, Code]]]
    ) -> list[VulkanKernel]:
        loaded: list[VulkanKernel] = []
        try:
            for entry, code in kernels:
                loaded.append(self._load(entry, code))
        except BaseException:
            for kernel in loaded:
                self.unload(kernel)
            raise
        self._keep_compiled()
        return loaded

    def _keep_compiled(self) -> None:
        """Write compiled pipelines to disk for the next process. On failure, they are compiled
        again."""
        with self._lock, suppress(DeviceError):
            self._cache.keep()

    def _load(self, entry: KernelEntry, code: Mapping[str, Code]) -> VulkanKernel:
        for name, c in code.items():
            entry_points = [each.entry_point for each in entry.launches if each.module == name]
            if (reason := malformed(c.data, entry_points)) is not None:
                raise DeviceError(f"{entry.name}: {c.artifact.file} {reason}; rebuild it")
            if (reason := self.refuses(c.artifact)) is not None:
                raise DeviceError(f"{entry.name}: {reason}")
        with self._lock, ExitStack() as undo:
            device = self._device
            try:
                modules = {}
                for name, c in code.items():
                    modules[name] = device.shader_module(c.data)
                    undo.callback(device.destroy_module, modules[name])
                pipelines = []
                for launch in entry.launches:
                    requires = code[launch.module].artifact.requires
                    pipelines.append(device.pipeline(modules[launch.module], launch, requires))
                    undo.callback(device.destroy_pipeline, pipelines[-1])
            except (OutOfMemory, DeviceLost):
                raise
            except DeviceError as error:
                raise DeviceError(f"{entry.name}: the driver rejects its SPIR-V: {error}") from None
            undo.pop_all()
            kernel = VulkanKernel(
                name=entry.name,
                modules=tuple(modules.values()),
                pipelines=tuple(pipelines),
                recordings=KernelRecordings(pipelines),
            )
            self._kernels.add(kernel)
        return kernel

    def unload(self, kernel: VulkanKernel) -> None:
        with self._lock.if_open() as is_open:
            if is_open and kernel in self._kernels and not self._queue.is_lost:
                self._queue.wait()
                self._destroy(kernel)

    def _destroy(self, kernel: VulkanKernel) -> None:
        self._kernels.remove(kernel)
        for recording in kernel.recordings.all():
            self._recorder.forget(recording)
        for pipeline in kernel.pipelines:
            self._device.destroy_pipeline(pipeline)
        for module in kernel.modules:
            self._device.destroy_module(module)

    # Launches

    def launch(
        self, kernel: VulkanKernel, buffers: Mapping[str, VulkanBuffer], stream: int | None = None
    ) -> None:
        self.launcher(kernel, tuple(buffers))(list(buffers.values()), stream)

    def launcher(
        self, kernel: VulkanKernel, names: Sequence[str]
    ) -> Callable[[list[VulkanBuffer], int | None], None]:
        recordings, lock, queue = kernel.recordings, self._lock, self._queue

        def launch(buffers: list[VulkanBuffer], stream: int | None) -> None:
            if stream is not None:
                self.refuse_stream(stream)
            key = tuple([buffer.key for buffer in buffers])
            with lock:
                recording = recordings.find(key)
                if recording is None:
                    steps = _in_order(kernel, dict(zip(names, buffers, strict=True)))
                    recording = self._rewrite(kernel, steps)
                    recordings.keep(key, recording)
                queue.submit(recording)

        return launch

    def _rewrite(self, kernel: VulkanKernel, steps: Sequence[RecordedDispatch]) -> Recording:
        """Record these launches in a spare recording, or in a new one."""
        recordings = kernel.recordings
        recording = recordings.spare() or self._recorder.new(kernel.pipelines)
        try:
            self._queue.wait(recording.number)
            self._recorder.write(recording, steps)
        except BaseException as error:
            recordings.put_back(recording)
            if type(error) is DeviceError:
                raise LaunchError(f"{kernel.name}: {error}") from None
            raise
        return recording

    def prepare(
        self, kernel: VulkanKernel, buffers: Mapping[str, VulkanBuffer], stream: int | None = None
    ) -> Callable[[], None]:
        self.refuse_stream(stream)
        return Replay(self, self._record(_in_order(kernel, buffers)))

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        """Record all launches together, with a barrier only before a step that waits for one after
        the last barrier."""
        dispatches: list[RecordedDispatch] = []
        fresh = 0  # The first step that is recorded after the last barrier.
        for number, step in enumerate(steps):
            for i, pipeline in enumerate(step.kernel.pipelines):
                waits = i > 0 or any(earlier >= fresh for earlier in step.after)
                fresh = number if waits else fresh
                dispatches.append(
                    RecordedDispatch(pipeline=pipeline, buffers=step.buffers, waits=waits)
                )
        return RecordedSequence(self, steps, Replay(self, self._record(dispatches)))

    def _record(self, steps: Sequence[RecordedDispatch]) -> Recording:
        """Record these launches in a new recording, which the caller keeps."""
        with self._lock:
            self._forget_what_is_done()
            recording = self._recorder.new([step.pipeline for step in steps])
            try:
                self._recorder.write(recording, steps)
            except BaseException:
                self._recorder.forget(recording)
                raise
            self._prepared.add(recording)
        return recording

    def replay(self, recording: Recording) -> None:
        with self._lock:
            self._queue.submit(recording)

    def forget(self, recording: Recording) -> None:
        """Mark a recording for destruction after it has executed. This function does not wait,
        because the garbage collector may call it."""
        with self._lock.if_open() as is_open:
            if is_open and recording in self._prepared:
                self._prepared.remove(recording)
                self._forgotten.append(recording)

    def _forget_what_is_done(self) -> None:
        # The garbage collector may append recordings in the meantime.
        forgotten, self._forgotten = self._forgotten, []
        for recording in forgotten:
            if recording.number <= self._queue.done:
                self._recorder.forget(recording)
            else:
                self._forgotten.append(recording)

    def synchronize(self, stream: int | None = None) -> None:
        self.refuse_stream(stream)
        with self._lock:
            self._queue.wait()


def _describe(instance: Any, index: int, device: Any) -> DeviceInfo:
    facts = features.capabilities(instance, device)
    return DeviceInfo(
        backend="vulkan",
        index=index,
        name=driver().vkGetPhysicalDeviceProperties(device).deviceName,
        kind="software" if facts["device_type"] == "cpu" else "gpu",
        capabilities={
            "api": list(min(api_version(device), NEWEST_API)),
            "limits": limits(device),
            **facts,
        },
    )


def _in_order(kernel: VulkanKernel, buffers: Mapping[str, VulkanBuffer]) -> list[RecordedDispatch]:
    """Return a kernel's launches, each waiting for the previous one."""
    return [
        RecordedDispatch(pipeline=p, buffers=buffers, waits=i > 0)
        for i, p in enumerate(kernel.pipelines)
    ]
