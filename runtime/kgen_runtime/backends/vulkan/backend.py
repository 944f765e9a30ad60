"""Vulkan devices, through the `vulkan` package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
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
from kgen_runtime.backends.vulkan.memory import Block, Buffer, Kind, Memory
from kgen_runtime.backends.vulkan.modules import malformed
from kgen_runtime.backends.vulkan.pipeline_cache import PipelineCache
from kgen_runtime.backends.vulkan.pipelines import Device, Pipeline
from kgen_runtime.backends.vulkan.queue import Queue
from kgen_runtime.backends.vulkan.recording import Dispatch, KernelRecordings, Recorder, Recording
from kgen_runtime.errors import ArgumentError, DeviceError, DeviceLost, LaunchError, OutOfMemory
from kgen_runtime.launch_limits import Limits, vulkan_limits
from kgen_runtime.settings import GPU_SECONDS, vulkan_seconds

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import KernelEntry

#: Copies to and from memory that the host does not see go through a block of this many bytes.
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
    recordings: KernelRecordings


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
            return tuple(
                _describe(instance, i, d) for i, d in enumerate(physical_devices(instance))
            )
        finally:
            driver().vkDestroyInstance(instance, None)

    def __init__(
        self, index: int = 0, *, mapped: bool | None = None, seconds: float | None = None
    ) -> None:
        """`mapped`: whether buffers are memory that the host sees; by default where that is as
        fast for the device as any other. `seconds`: how long the device may be without an answer;
        by default what $KGEN_VULKAN_SECONDS says, else `SECONDS` on a GPU."""
        PROCESS.start()
        self._lock = _Turn()
        self._instance = create_instance()
        with ExitStack() as undo:
            undo.callback(driver().vkDestroyInstance, self._instance, None)
            found = physical_devices(self._instance)
            if index not in range(len(found)):
                raise DeviceError(f"vulkan:{index} does not exist; here are {len(found)} devices")
            physical = found[index]
            self.info = _describe(self._instance, index, physical)
            if seconds is None:
                seconds = vulkan_seconds(None if self.info.kind == "software" else GPU_SECONDS)
            self._device = Device(physical, self.info.capabilities["features"])
            undo.callback(self._device.destroy)
            mapped = host_memory_is_device_memory(physical) if mapped is None else mapped
            kind = Kind.SHARED if mapped else Kind.DEVICE
            self._memory = Memory(physical, self._device.handle, kind)
            self._cache = PipelineCache(physical, self._device.handle)
            undo.callback(self._cache.destroy)
            self._device.pipeline_cache = self._cache.handle
            self._recorder = Recorder(self._device)
            undo.callback(self._recorder.destroy)
            self._queue = Queue(self._device, seconds)
            undo.pop_all()
        self._kernels: set[VulkanKernel] = set()
        #: Recordings that somebody replays, and those that nobody does but may be under way.
        self._prepared: set[Recording] = set()
        self._forgotten: list[Recording] = []
        #: Memory that copies go through, and the recording of a copy; made by the first one.
        self._staging: dict[Kind, Block] = {}
        self._copies: Recording | None = None
        self._closed = False

    def close(self) -> None:
        if self._closed or PROCESS.lost:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with suppress(DeviceError):  # then nothing is under way any more, or hangs
                self._queue.wait()
            if self._queue.is_lost and self._queue.done < self._queue.submitted:
                return  # what may still run must not be destroyed
            for kernel in tuple(self._kernels):
                self._destroy(kernel)
            copies = [] if self._copies is None else [self._copies]
            for recording in (*self._prepared, *self._forgotten, *copies):
                self._recorder.forget(recording)
            for block in (*self._staging.values(), *self._memory.blocks):
                self._memory.release(block)
            self._memory.blocks.clear()
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

    def alloc(self, nbytes: int) -> Buffer:
        with self._lock:
            try:
                return self._memory.take(nbytes)
            except OutOfMemory:
                if not self._release(self._memory.unused()):
                    raise
                return self._memory.take(nbytes)

    def free(self, buffer: Buffer) -> None:
        """Launches that use it may be under way: those that are given the memory next come after
        them, and the host waits before it touches any."""
        if PROCESS.lost:
            return
        with self._lock:
            if self._closed:
                return
            self._memory.give(buffer)
            self._release(self._memory.too_much_unused())

    def _release(self, blocks: Sequence[Block]) -> bool:
        """Give blocks back to the driver; whether there were any."""
        if blocks:
            self._queue.wait()
        for block in blocks:
            for kernel in self._kernels:
                kernel.recordings.drop_block(block.number)
            self._memory.release(block)
        return bool(blocks)

    def view(self, buffer: Buffer, offset: int, nbytes: int) -> Buffer:
        return Buffer(buffer.block, buffer.offset + offset, nbytes)

    def copy_to_device(self, buffer: Buffer, host: HostBytes) -> None:
        with self._lock:
            self._queue.wait()
            if (mapped := buffer.host) is not None:
                mapped[: host.nbytes] = host
                return
            block, staging = self._stage(Kind.UPLOAD)
            for start in range(0, host.nbytes, STAGING_BYTES):
                piece = host[start : start + STAGING_BYTES]
                staging[: piece.nbytes] = piece
                self._copy(block, buffer.block, (0, buffer.offset + start, piece.nbytes))

    def copy_from_device(self, host: HostBytes, buffer: Buffer) -> None:
        with self._lock:
            self._queue.wait()
            if (mapped := buffer.host) is not None:
                host[:] = mapped[: host.nbytes]
                return
            block, staging = self._stage(Kind.DOWNLOAD)
            for start in range(0, host.nbytes, STAGING_BYTES):
                piece = host[start : start + STAGING_BYTES]
                self._copy(buffer.block, block, (buffer.offset + start, 0, piece.nbytes))
                piece[:] = staging[: piece.nbytes]

    def _stage(self, kind: Kind) -> tuple[Block, HostBytes]:
        if kind not in self._staging:
            self._staging[kind] = self._memory.new_block(STAGING_BYTES, kind)
        block = self._staging[kind]
        assert block.host is not None
        return block, block.host

    def _copy(self, source: Block, target: Block, region: tuple[int, int, int]) -> None:
        """Copy (from, to, nbytes) and wait."""
        if self._copies is None:
            self._copies = self._recorder.new(())
        self._recorder.write_copy(self._copies, source, target, region)
        self._queue.submit(self._copies)
        self._queue.wait()

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
        """On disk, for the next process; what cannot be kept is compiled again."""
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
        if PROCESS.lost or self._closed:
            return
        with self._lock:
            if kernel in self._kernels:
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
        self, kernel: VulkanKernel, buffers: Mapping[str, Buffer], stream: int | None = None
    ) -> None:
        self.launcher(kernel, tuple(buffers))(list(buffers.values()), stream)

    def launcher(
        self, kernel: VulkanKernel, names: Sequence[str]
    ) -> Callable[[list[Buffer], int | None], None]:
        recordings, lock, queue = kernel.recordings, self._lock, self._queue

        def launch(buffers: list[Buffer], stream: int | None) -> None:
            if stream is not None:
                _no_stream(stream)
            key = tuple([buffer.key for buffer in buffers])
            with lock:
                recording = recordings.find(key)
                if recording is None:
                    steps = _in_order(kernel, dict(zip(names, buffers, strict=True)))
                    recording = self._rewrite(kernel, steps)
                    recordings.keep(key, recording)
                queue.submit(recording)

        return launch

    def _rewrite(self, kernel: VulkanKernel, steps: Sequence[Dispatch]) -> Recording:
        """A recording of these launches; a spare one, where there is one."""
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
        self, kernel: VulkanKernel, buffers: Mapping[str, Buffer], stream: int | None = None
    ) -> Callable[[], None]:
        _no_stream(stream)
        return Replay(self, self._record(_in_order(kernel, buffers)))

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        """All launches in one recording, with a barrier only where one waits for another."""
        dispatches: list[Dispatch] = []
        fresh = 0  # steps from this one on are recorded after the last barrier
        for number, step in enumerate(steps):
            for i, pipeline in enumerate(step.kernel.pipelines):
                waits = i > 0 or any(earlier >= fresh for earlier in step.after)
                fresh = number if waits else fresh
                dispatches.append(Dispatch(pipeline=pipeline, buffers=step.buffers, waits=waits))
        return RecordedSequence(self, steps, Replay(self, self._record(dispatches)))

    def _record(self, steps: Sequence[Dispatch]) -> Recording:
        """A recording of these launches, for the caller to keep."""
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
        """The caller replays it no more. It is destroyed when it is done, for which nobody waits
        here: this may be the garbage collector's call."""
        if PROCESS.lost or self._closed:
            return
        with self._lock:
            if recording in self._prepared:
                self._prepared.remove(recording)
                self._forgotten.append(recording)

    def _forget_what_is_done(self) -> None:
        done = [r for r in self._forgotten if r.number <= self._queue.done]
        self._forgotten = [r for r in self._forgotten if r.number > self._queue.done]
        for recording in done:
            self._recorder.forget(recording)

    def synchronize(self, stream: int | None = None) -> None:
        _no_stream(stream)
        with self._lock:
            self._queue.wait()


class Replay:
    """Launches that were recorded, as something to call; the recording goes with it."""

    __slots__ = ("_backend", "_recording")

    def __init__(self, backend: VulkanBackend, recording: Recording) -> None:
        self._backend, self._recording = backend, recording

    def __call__(self) -> None:
        self._backend.replay(self._recording)

    def __del__(self) -> None:
        if hasattr(self, "_recording") and not sys.is_finalizing():
            with suppress(DeviceError):
                self._backend.forget(self._recording)


class RecordedSequence(LaunchSequence):
    """Launches in one recording. Timed, they are made one by one."""

    def __init__(
        self, backend: VulkanBackend, steps: Sequence[SequenceStep], replay: Replay
    ) -> None:
        self._backend, self._steps = backend, steps
        self._replay = replay

    def run(self) -> None:
        self._replay()

    def timed(self) -> list[float]:
        return PreparedSequence(self._backend, self._steps).timed()


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


def _in_order(kernel: VulkanKernel, buffers: Mapping[str, Buffer]) -> list[Dispatch]:
    """A kernel's launches, each after the one before."""
    return [
        Dispatch(pipeline=p, buffers=buffers, waits=i > 0) for i, p in enumerate(kernel.pipelines)
    ]


def _no_stream(stream: int | None) -> None:
    if stream is not None:
        raise ArgumentError(f"stream={stream}: the vulkan backend has no streams; leave it out")
