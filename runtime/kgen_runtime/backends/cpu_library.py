"""Machine code as a shared object in memory, mapped by the dynamic loader."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from kgen_runtime.errors import DeviceError

#: memfd_create(2): bytes of a name, which is cut there.
MEMFD_NAME = 249


class Library:
    """A shared object mapped from memory; nothing is left in the file system.

    The memory file stays open as long as the library is loaded: the loader knows libraries by
    their path, and a path whose number was used again would give it the older library. Its name is
    the kernel's, which debuggers and profilers show.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self._file = os.memfd_create(name[:MEMFD_NAME], os.MFD_CLOEXEC)
        try:
            with open(self._file, "wb", closefd=False) as file:
                file.write(data)
            self._library = ctypes.CDLL(f"/proc/self/fd/{self._file}")
        except OSError as error:
            os.close(self._file)
            raise DeviceError(f"{name}: the loader refuses the code: {error}") from None

    def function(self, entry_point: str) -> Any:
        try:
            return self._library[entry_point]
        except AttributeError:
            raise DeviceError(f"{self.name}: its code has no function {entry_point}") from None

    def close(self) -> None:
        import _ctypes

        _ctypes.dlclose(self._library._handle)
        os.close(self._file)
