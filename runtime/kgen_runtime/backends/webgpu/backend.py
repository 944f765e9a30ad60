"""WebGPU backend through the `wgpu` package, whose front end naga reads the SPIR-V of Vulkan
kernels.

WebGPU has no streams, and devices are opened without optional features. Vulkan kernels that access
memory in 32-bit words run here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.backends.vulkan import requirements
from kgen_runtime.backends.vulkan.modules import malformed
from kgen_runtime.backends.webgpu.package import (
    LIMITS,
    adapters,
    describe,
    errors,
    wgpu,
    without_complaints,
)
from kgen_runtime.backends.webgpu.waits import Waits
from kgen_runtime.errors import DeviceError
from kgen_runtime.launch_limits import Limits, vulkan_limits
from kgen_runtime.settings import GPU_SECONDS, vulkan_seconds
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import Extent3, KernelEntry

#: Bytes of a word: copies and bindings consist of whole words.
WORD = 4
#: Sets of buffers whose bind groups a kernel caches.
MOST_BINDINGS = 64

PROCESS = OneProcess("webgpu")


class WebGpuBuffer:
    """Buffer of the device, or a range of one. Two buffers have equal `key` only if they are the
    same range."""

    __slots__ = ("handle", "key", "nbytes", "number", "offset")
    _numbers = count()

    def __init__(self, handle: Any, offset: int, nbytes: int, number: int | None = None) -> None:
        self.handle, self.offset, self.nbytes = handle, offset, nbytes
        self.number = next(self._numbers) if number is None else number
        self.key = (self.number, offset, nbytes)


@frozen
class WebGpuPipeline:
    """Compiled launch of a kernel; the bindings are its arguments in order."""

    pipeline: Any
    layout: Any
    grid: Extent3
    arguments: tuple[str, ...]


class WebgpuKernel:
    def __init__(self, name: str, pipelines: Sequence[WebGpuPipeline]) -> None:
        self.name, self.pipelines = name, tuple(pipelines)
        #: Bind groups of all launches by the keys of the buffers, least recently used first.
        self.bindings: OrderedDict[tuple[Any, ...], list[Any]] = OrderedDict()


class WebgpuBackend(Backend):
    """WebGPU device without selectable streams; thread-safe."""

    name: ClassVar[str] = "webgpu"
    formats: ClassVar[tuple[str, ...]] = ("spirv",)
    _closed = True

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        PROCESS.check()
        return tuple(describe(i, adapter) for i, adapter in enumerate(adapters()))

    def __init__(self, index: int = 0, *, seconds: float | None = None) -> None:
        """Open a device. `seconds`: longest wait for the device; by default $KGEN_VULKAN_SECONDS,
        else `GPU_SECONDS` on a GPU."""
        PROCESS.start()
        self._lock = threading.RLock()
        found = adapters()
        if index not in range(len(found)):
            raise DeviceError(
                f"webgpu:{index} does not exist; this machine has {len(found)} WebGPU devices"
            )
        self.info = describe(index, found[index])
        if seconds is None:
            seconds = vulkan_seconds(None if self.info.kind == "software" else GPU_SECONDS)
        self._waits = Waits(seconds)
        limits = {name: found[index].limits[name] for name in LIMITS.values()}
        with errors("the device cannot be opened"), without_complaints():
            self._device = found[index].request_device_sync(required_limits=limits)
            self._word = self._device.create_buffer(size=WORD, usage=wgpu().BufferUsage.COPY_SRC)
        self._closed = False

    def close(self) -> None:
        if self._closed or PROCESS.lost:
            return
        self._closed = True
        # Resources of a launch that may still run must not be destroyed.
        if self._waits.lost is None:
            self._device.destroy()

    refusal = staticmethod(requirements.refusal)
    rank = staticmethod(requirements.rank)

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        return vulkan_limits(capabilities["limits"], "the device")

    # Memory

    def alloc(self, nbytes: int) -> WebGpuBuffer:
        usage = wgpu().BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        with self._turn(f"a buffer of {nbytes} bytes"):
            handle = self._device.create_buffer(size=max(_words(nbytes), WORD), usage=flags)
        return WebGpuBuffer(handle, 0, nbytes)

    def free(self, buffer: WebGpuBuffer) -> None:
        if PROCESS.lost or self._closed or self._waits.lost is not None:
            return
        with self._lock:
            buffer.handle.destroy()

    def view(self, buffer: WebGpuBuffer, offset: int, nbytes: int) -> WebGpuBuffer:
        return WebGpuBuffer(buffer.handle, buffer.offset + offset, nbytes, buffer.number)

    def copy_to_device(self, buffer: WebGpuBuffer, host: HostBytes) -> None:
        with self._turn("a copy to the device"):
            first, last = _around(buffer.offset, host.nbytes)
            if (first, last) != (buffer.offset, buffer.offset + host.nbytes):
                whole = self._read(buffer, first, last)
                whole[buffer.offset - first :][: host.nbytes] = host
                host = whole
            self._device.queue.write_buffer(buffer.handle, first, host)

    def copy_from_device(self, host: HostBytes, buffer: WebGpuBuffer) -> None:
        with self._turn("a copy from the device"):
            first, last = _around(buffer.offset, host.nbytes)
            whole = self._read(buffer, first, last)
            host[:] = whole[buffer.offset - first :][: host.nbytes]

    def _read(self, buffer: WebGpuBuffer, first: int, last: int) -> HostBytes:
        import numpy as np

        if first == last:
            return np.empty(0, np.uint8)
        found = self._waits.until(
            lambda: self._device.queue.read_buffer(buffer.handle, first, last - first)
        )
        return np.frombuffer(found, np.uint8).copy()

    # Kernels

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> WebgpuKernel:
        roles = {parameter.name: parameter.role for parameter in entry.parameters}
        for name, c in code.items():
            entry_points = [each.entry_point for each in entry.launches if each.module == name]
            if (reason := malformed(c.data, entry_points)) is not None:
                raise DeviceError(f"{entry.name}: {c.artifact.file} {reason}; rebuild it")
            if (reason := self.refuses(c.artifact)) is not None:
                raise DeviceError(f"{entry.name}: {reason}")
        with self._turn(f"{entry.name}: naga refuses its SPIR-V"):
            modules = {
                name: self._device.create_shader_module(code=c.data) for name, c in code.items()
            }
            pipelines = []
            for launch in entry.launches:
                layout = self._layout([roles.get(name, "output") for name in launch.arguments])
                stage = {"module": modules[launch.module], "entry_point": launch.entry_point}
                pipelines.append(
                    WebGpuPipeline(
                        pipeline=self._device.create_compute_pipeline(
                            layout=self._device.create_pipeline_layout(bind_group_layouts=[layout]),
                            compute=stage,
                        ),
                        layout=layout,
                        grid=launch.grid,
                        arguments=launch.arguments,
                    )
                )
        return WebgpuKernel(entry.name, pipelines)

    def _layout(self, roles: Sequence[str]) -> Any:
        """Return the bind group layout for these roles. Modules declare inputs NonWritable."""
        types = wgpu().BufferBindingType
        return self._device.create_bind_group_layout(
            entries=[
                {
                    "binding": binding,
                    "visibility": wgpu().ShaderStage.COMPUTE,
                    "buffer": {
                        "type": types.read_only_storage if role == "input" else types.storage
                    },
                }
                for binding, role in enumerate(roles)
            ]
        )

    def unload(self, kernel: WebgpuKernel) -> None:
        kernel.bindings.clear()

    # Launches

    def launch(
        self, kernel: WebgpuKernel, buffers: Mapping[str, WebGpuBuffer], stream: int | None = None
    ) -> None:
        self.refuse_stream(stream)
        with self._turn(kernel.name):
            encoder = self._device.create_command_encoder()
            commands = encoder.begin_compute_pass()
            for pipeline, bindings in zip(
                kernel.pipelines, self._bindings(kernel, buffers), strict=True
            ):
                commands.set_pipeline(pipeline.pipeline)
                commands.set_bind_group(0, bindings)
                commands.dispatch_workgroups(*pipeline.grid)
            commands.end()
            self._device.queue.submit([encoder.finish()])

    def _bindings(self, kernel: WebgpuKernel, buffers: Mapping[str, WebGpuBuffer]) -> list[Any]:
        """Return the bind groups of a kernel's launches for these buffers."""
        key = tuple((name, buffer.key) for name, buffer in buffers.items())
        if key not in kernel.bindings:
            kernel.bindings[key] = [
                self._device.create_bind_group(
                    layout=pipeline.layout,
                    entries=[
                        {
                            "binding": binding,
                            "resource": {
                                "buffer": buffers[name].handle,
                                "offset": buffers[name].offset,
                                "size": max(_words(buffers[name].nbytes), WORD),
                            },
                        }
                        for binding, name in enumerate(pipeline.arguments)
                    ],
                )
                for pipeline in kernel.pipelines
            ]
            if len(kernel.bindings) > MOST_BINDINGS:
                kernel.bindings.popitem(last=False)
        kernel.bindings.move_to_end(key)
        return kernel.bindings[key]

    def synchronize(self, stream: int | None = None) -> None:
        self.refuse_stream(stream)
        with self._turn("waiting"):
            # A read waits for all earlier submissions. The package's own call for that raises
            # TypeError in version 0.32.
            self._waits.until(lambda: self._device.queue.read_buffer(self._word, 0, WORD))

    @contextmanager
    def _turn(self, what: str) -> Iterator[None]:
        """Lock the device for one thread; errors begin with `what`."""
        PROCESS.check()
        with self._lock, errors(what):
            if self._closed:
                raise DeviceError("webgpu: the device was closed; open it again")
            self._waits.check()
            yield


def _words(nbytes: int) -> int:
    """Return the number of bytes rounded up to whole words."""
    return -(-nbytes // WORD) * WORD


def _around(offset: int, nbytes: int) -> tuple[int, int]:
    """Return the byte range of the whole words that contain these bytes."""
    return offset // WORD * WORD, _words(offset + nbytes)
