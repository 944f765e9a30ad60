"""libkgen's handle of a program, with its states by name, for sessions on every device."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime import libkgen
from kgen_runtime.errors import BundleError
from kgen_runtime.memory.host import host_bytes

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.bundle import OpenBundle
    from kgen_runtime.memory.host import HostBytes
    from kgen_runtime.schema.program import Program


class ProgramHandle:
    """Program of a bundle, which stays open as long as the handle is used. `address` is the address
    of libkgen's kgen_program, `bundle` that of its kgen_bundle."""

    def __init__(self, opened: OpenBundle, entry: Program) -> None:
        self.entry = entry
        self._opened = opened
        self._library = libkgen.library()
        self.bundle = opened.address
        self.address: int = self._library.kgen_read_program(
            self.bundle, entry.qualified_name.encode()
        )
        if not self.address:
            raise BundleError(libkgen.last_error())
        self._sizes = {s.name: entry.by_name[s.input].nbytes for s in entry.states}

    def check_state(self, name: str) -> None:
        """Raise ArgumentError if the program has no state of this name."""
        if not isinstance(name, str) or name not in self._sizes:
            self._start(name, None, None, 0, None)

    def state_bytes(self, name: str, array: npt.NDArray[Any]) -> HostBytes:
        """Return the bytes of a state that starts with these elements. An array that is shorter
        than the state along one axis is followed by zeros. Raises ArgumentError."""
        into = host_bytes(self._sizes.get(name, 0))
        data = np.ascontiguousarray(array)
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self._start(name, data.ctypes.data, shape, array.ndim, into.ctypes.data)
        return into

    def _start(self, name: object, *arguments: Any) -> None:
        text = str(name).replace("\0", "\\0").encode("utf-8", "replace")
        libkgen.check(self._library.kgen_state_start(self.address, text, *arguments))
