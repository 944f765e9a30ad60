"""A kernel as a driver has loaded it, given back when nobody uses it any more.

References count the calls in flight: every call holds the `LoadedKernel` that it runs, and `close`
drops the kernel's own reference. Whoever drops the last one, be it `close`, the last call of
another thread or the garbage collector, gives the code back.
"""

from __future__ import annotations

import weakref
from _thread import _local  # threading takes a millisecond to import
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kgen_runtime.array import Memory
from kgen_runtime.backend import Backend
from kgen_runtime.errors import DeviceError
from kgen_runtime.manifest import Workspace


class LoadedKernel:
    """The driver's handle of a kernel, and the memory that its calls need besides arguments."""

    __slots__ = (
        "__weakref__",
        "_backend",
        "_scratch",
        "constants",
        "device",
        "handle",
        "launch",
        "stored",
    )

    def __init__(
        self, backend: Backend, handle: Any, names: Sequence[str], constants: Mapping[str, Memory]
    ) -> None:
        """`names`: of the buffers, in the order in which `launch` is given them."""
        self.handle = handle
        self.launch: Callable[[list[Any], int | None], None] = backend.launcher(handle, names)
        self.constants = constants
        #: The buffers of the constants.
        self.stored = [memory.buffer for memory in constants.values()]
        #: What a device that is closed waits for; see :func:`close_after`.
        self.device: object = None
        self._backend = backend
        self._scratch = _local()
        # Not at exit: the process goes with all that it has, and a driver may be gone before it.
        weakref.finalize(self, _unload, backend, handle).atexit = False

    def workspace(self, workspace: Workspace, stream: int | None) -> Memory:
        """Scratch memory of this thread and stream, made at the first call."""
        held: dict[tuple[str, int | None], Memory]
        held = self._scratch.__dict__.setdefault("held", {})
        key = (workspace.name, stream)
        if key not in held:
            held[key] = self.new_workspace(workspace)
        return held[key]

    def new_workspace(self, workspace: Workspace) -> Memory:
        """Scratch memory as a kernel expects it before its first call."""
        return Memory(self._backend, workspace.nbytes, zero=workspace.initial == "zero")


def _unload(backend: Backend, handle: Any) -> None:
    """Whoever dropped the last reference has not asked for an error: of a device that is lost
    nothing is left to give back."""
    with suppress(DeviceError):
        backend.synchronize()
    with suppress(DeviceError):
        backend.unload(handle)


class _Closing:
    """Held by what must be gone before a device is closed."""


def close_after(backend: Backend, loaded: Sequence[LoadedKernel]) -> None:
    """Close the device when the last of these, of which the caller drops its own, is gone."""
    closing = _Closing()
    for one in loaded:
        one.device = closing
    weakref.finalize(closing, _close, backend).atexit = False


def _close(backend: Backend) -> None:
    with suppress(DeviceError):
        backend.close()
