"""Common base of CUDA and HIP: GPUs whose driver has streams and graphs.

Driver functions that differ only in their prefix (`cu`, `hip`) are called by the common name.
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

    #: Prefix of the driver's functions, and names without prefix of the two functions whose names
    #: differ otherwise: free memory, and wait for the device.
    prefix: ClassVar[str]
    free_function: ClassVar[str]
    wait_function: ClassVar[str]
    #: Calls a function by its full name. Raises the DeviceError for the driver's status.
    driver_call: Callable[..., Any]
    _closed = True
    #: Addresses of the allocations that are not freed.
    _owned: set[int]

    def _call(self, function: str, *arguments: Any) -> Any:
        return type(self).driver_call(self.prefix + function, *arguments)

    def close(self) -> None:
        """Free all allocations."""
        if self._closed:
            return
        self._closed = True
        with suppress(DeviceLost), self._current:  # A lost device has nothing to free.
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
            # Pageable memory may still be in the driver's staging buffer after the call.
            self._call("StreamSynchronize", None)

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        with self._current:
            # Streams of other libraries and the default stream do not wait for each other.
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
        """Capture these launches, in order, in a graph that replays them."""
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
        """Context manager that makes the device, or its context, current."""

    @abstractmethod
    def _new_stream(self) -> Any:
        """Create a stream for a capture."""

    @abstractmethod
    def _begin_capture(self, stream: Any) -> None:
        """Start the capture of launches on a stream, in a mode that permits loading code during the
        capture."""

    @abstractmethod
    def _end_capture(self, stream: Any) -> Any:
        """End the capture on a stream; return its graph."""

    @abstractmethod
    def _instantiated(self, graph: Any) -> Any:
        """Instantiate a graph, so that it can be launched."""

    def replay(self, graph: Any) -> None:
        """Launch a graph on the default stream, without waiting."""
        with self._current:
            self._call("GraphLaunch", graph, None)

    def forget(self, graph: Any) -> None:
        """Destroy a graph after its launches are finished."""
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
    """Return a refusal of the first unknown requirement, or None."""
    unknown = sorted(artifact.requires.keys() - known)
    if not unknown:
        return None
    return f"it requires {unknown[0]}, which this runtime does not know; upgrade the runtime"


class CapturedSequence(PreparedSequence):
    """Launches as one graph. If the driver cannot capture them, they are made one by one."""

    def __init__(self, backend: StreamBackend, steps: Sequence[SequenceStep]) -> None:
        super().__init__(backend, steps)
        self._device = backend
        self._graph: Any = None
        try:
            self._graph = self._device.capture(steps)
        except (OutOfMemory, DeviceLost):
            raise
        except DeviceError:
            pass  # A launch that is invalid raises in the first run.

    def run(self) -> None:
        if self._graph is None:
            super().run()
        else:
            self._device.replay(self._graph)

    def __del__(self) -> None:
        if getattr(self, "_graph", None) is not None and not sys.is_finalizing():
            with suppress(DeviceError):
                self._device.forget(self._graph)
