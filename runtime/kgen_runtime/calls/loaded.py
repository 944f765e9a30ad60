"""Kernel as loaded by a driver; released with the last reference.

References count the calls in flight: every call holds the `LoadedKernel` that it runs, and `close`
drops the kernel's own reference. The last reference may be dropped by `close`, by the last call of
another thread or by the garbage collector; that releases the code.
"""

from __future__ import annotations

import weakref
from _thread import _local  # threading takes longer to import.
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kgen_runtime.array import Memory
from kgen_runtime.backend import Backend
from kgen_runtime.errors import DeviceError
from kgen_runtime.manifest import Workspace


class LoadedKernel:
    """Driver handle of a kernel, and the memory that its calls need besides arguments."""

    __slots__ = (
        "__weakref__", "_backend", "_scratch", "constants", "device", "handle", "launch", "stored",
    )  # fmt: skip

    def __init__(
        self, backend: Backend, handle: Any, names: Sequence[str], constants: Mapping[str, Memory]
    ) -> None:
        """Hold a loaded kernel. `names` are the buffers' names in the order of `launch`'s
        arguments."""
        self.handle = handle
        self.launch: Callable[[list[Any], int | None], None] = backend.launcher(handle, names)
        self.constants = constants
        #: Buffers of the constants.
        self.stored = [memory.buffer for memory in constants.values()]
        #: Object that must be collected before the device closes; see :func:`close_after`.
        self.device: object = None
        self._backend = backend
        self._scratch = _local()
        # Not at exit: the process releases everything, and the driver may be unloaded before.
        weakref.finalize(self, _unload, backend, handle).atexit = False

    def workspace(self, workspace: Workspace, stream: int | None) -> Memory:
        """Return the scratch memory of this thread and stream, allocated by the first call."""
        held: dict[tuple[str, int | None], Memory]
        held = self._scratch.__dict__.setdefault("held", {})
        key = (workspace.name, stream)
        if key not in held:
            held[key] = self.new_workspace(workspace)
        return held[key]

    def new_workspace(self, workspace: Workspace) -> Memory:
        """Allocate scratch memory with the content that a kernel expects before its first call."""
        return Memory(self._backend, workspace.nbytes, zero=workspace.initial == "zero")


def _unload(backend: Backend, handle: Any) -> None:
    """Unload a kernel. Errors are ignored: the caller did not ask for the release, and a lost
    device has nothing to release."""
    with suppress(DeviceError):
        backend.synchronize()
    with suppress(DeviceError):
        backend.unload(handle)


class _Closing:
    """Object that all kernels of a closed device hold, so that its collection marks the last
    release."""


def close_after(backend: Backend, loaded: Sequence[LoadedKernel]) -> None:
    """Close the device when the last of these kernels is released; the caller drops its own
    references."""
    closing = _Closing()
    for one in loaded:
        one.device = closing
    weakref.finalize(closing, _close, backend).atexit = False


def _close(backend: Backend) -> None:
    with suppress(DeviceError):
        backend.close()
