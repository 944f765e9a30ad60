"""GPUs whose driver has streams and graphs: what CUDA and HIP share.

A function that both drivers have carries one name behind the driver's prefix.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Backend, LaunchSequence, PreparedSequence, SequenceStep
from kgen_runtime.backends.parameters import Parameters
from kgen_runtime.errors import DeviceError, DeviceLost, LaunchError, OutOfMemory

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, Launch


class StreamBackend(Backend):
    """GPU whose driver has streams. Buffers are device addresses; a stream is the driver's handle.

    Loaded kernels have a `name`, their `modules`, and `launches`: pairs of a function and its
    launch.
    """

    #: Prefix of the driver's functions, and names that differ behind it: free memory, wait for
    #: the device.
    prefix: ClassVar[str]
    free_function: ClassVar[str]
    wait_function: ClassVar[str]
    #: Call a function by its whole name. Raises the DeviceError that fits the driver's status.
    driver_call: Callable[..., Any]
    _closed = True
    #: Makes the device current, and restores the caller's.
    _owned: set[int]

    def _call(self, function: str, *arguments: Any) -> Any:
        return type(self).driver_call(self.prefix + function, *arguments)

    def close(self) -> None:
        """Free what is still allocated."""
        if self._closed:
            return
        self._closed = True
        with suppress(DeviceLost), self._current:  # what a lost device held is gone already
            while self._owned:
                self._call(self.free_function, self._owned.pop())

    def free(self, buffer: int) -> None:
        if self._closed:
            return
        self._owned.remove(buffer)
        with suppress(DeviceLost), self._current:
            self._call(self.free_function, buffer)

    def view(self, buffer: int, offset: int, nbytes: int) -> int:
        return buffer + offset

    def copy_to_device(self, buffer: int, host: HostBytes) -> None:
        with self._current:
            self._call("MemcpyHtoD", buffer, host.ctypes.data, host.nbytes)
            # Pageable memory may still be on its way from the driver's own staging buffer.
            self._call("StreamSynchronize", None)

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        with self._current:
            # Foreign streams do not wait for the default stream, nor it for them.
            self._call(self.wait_function)
            self._call("MemcpyDtoH", host.ctypes.data, buffer, host.nbytes)

    def launch(self, kernel: Any, buffers: Mapping[str, Any], stream: int | None = None) -> None:
        with self._current:
            for function, launch in kernel.launches:
                try:
                    parameters = Parameters(self._parameters(kernel, launch, buffers))
                    self._launch(function, launch, parameters.address, stream)
                except (OutOfMemory, DeviceLost):
                    raise
                except DeviceError as error:
                    raise LaunchError(
                        f"{kernel.name}: grid {launch.grid} of blocks {launch.block} with "
                        f"{launch.dynamic_shared_memory} B of dynamic shared memory: {error}"
                    ) from None

    def _parameters(self, kernel: Any, launch: Launch, buffers: Mapping[str, Any]) -> list[Any]:
        return [buffers[name] for name in launch.arguments]

    @abstractmethod
    def _launch(
        self, function: Any, launch: Launch, parameters: int, stream: int | None
    ) -> None: ...

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        return CapturedSequence(self, steps)

    def capture(self, steps: Sequence[SequenceStep]) -> Any:
        """A graph of these launches, in order, which replays them."""
        with self._current:
            stream = self._new_stream()
            try:
                self._begin_capture(stream)
                try:
                    for step in steps:
                        self.launch(step.kernel, step.buffers, int(stream))
                except BaseException:
                    with suppress(DeviceError):
                        self._call("GraphDestroy", self._end_capture(stream))
                    raise
                graph = self._end_capture(stream)
            finally:
                self._call("StreamDestroy", stream)
            try:
                return self._instantiated(graph)
            finally:
                self._call("GraphDestroy", graph)

    @property
    @abstractmethod
    def _current(self) -> AbstractContextManager[None]:
        """Context in which the device or its context is current."""

    @abstractmethod
    def _new_stream(self) -> Any:
        """Return a new stream for a capture."""

    @abstractmethod
    def _begin_capture(self, stream: Any) -> None:
        """Let a stream capture launches. A driver that loads code at its first launch may do so
        meanwhile."""

    @abstractmethod
    def _end_capture(self, stream: Any) -> Any:
        """The graph of what a stream has captured."""

    @abstractmethod
    def _instantiated(self, graph: Any) -> Any:
        """A form of a graph that can be launched."""

    def replay(self, graph: Any) -> None:
        """Hand a graph to the default stream; do not wait."""
        with self._current:
            self._call("GraphLaunch", graph, None)

    def forget(self, graph: Any) -> None:
        """Give a graph back, when it is done."""
        if not self._closed:
            with self._current:
                self._call(self.wait_function)
                self._call("GraphExecDestroy", graph)

    def unload(self, kernel: Any) -> None:
        with self._current:
            for module in kernel.modules:
                self._call("ModuleUnload", module)

    def synchronize(self, stream: int | None = None) -> None:
        with self._current:
            if stream is None:
                self._call(self.wait_function)
            else:
                self._call("StreamSynchronize", stream)


def unknown_requirement(artifact: ArtifactEntry, *known: str) -> str | None:
    """Refuse a requirement that is not known."""
    unknown = sorted(artifact.requires.keys() - known)
    if not unknown:
        return None
    return f"it requires {unknown[0]}, which this runtime does not know; upgrade the runtime"


class CapturedSequence(PreparedSequence):
    """Launches as a graph; made one by one where a driver captures none of them."""

    def __init__(self, backend: StreamBackend, steps: Sequence[SequenceStep]) -> None:
        super().__init__(backend, steps)
        self._device = backend
        self._graph: Any = None
        try:
            self._graph = self._device.capture(steps)
        except (OutOfMemory, DeviceLost):
            raise
        except DeviceError:
            pass  # a launch that is wrong itself says so in the first run

    def run(self) -> None:
        if self._graph is None:
            super().run()
        else:
            self._device.replay(self._graph)

    def __del__(self) -> None:
        if getattr(self, "_graph", None) is not None and not sys.is_finalizing():
            with suppress(DeviceError):
                self._device.forget(self._graph)
