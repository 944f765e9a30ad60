"""Host memory as numpy arrays of bytes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from kgen_runtime.errors import OutOfMemory

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    HostBytes = npt.NDArray[np.uint8]


def host_bytes(nbytes: int) -> HostBytes:
    """Allocate uninitialised host memory. Raises OutOfMemory."""
    import numpy as np

    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):  # ValueError: the size exceeds the address space.
        raise _no_memory(nbytes) from None


def zero_bytes(nbytes: int) -> HostBytes:
    """Allocate zeroed host memory; the system provides pages on first access. Raises
    OutOfMemory."""
    import numpy as np

    try:
        return np.zeros(nbytes, np.uint8)
    except (MemoryError, ValueError):
        raise _no_memory(nbytes) from None


def _no_memory(nbytes: int) -> OutOfMemory:
    return OutOfMemory(f"cannot allocate {nbytes} bytes; free arrays or use a smaller shape")


#: `ctypes.string_at` limits sizes to 32 bits; this function does not.
_copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


def copied_bytes(address: int, nbytes: int) -> bytes:
    """Copy host memory of any size. Raises OutOfMemory."""
    try:
        found: bytes = _copy(address, nbytes)
    except MemoryError:
        raise _no_memory(nbytes) from None
    return found


def bytes_at(address: int, nbytes: int) -> HostBytes:
    """Return a view of host memory as an array of bytes; the caller keeps the memory alive."""
    import numpy as np

    memory = memoryview((ctypes.c_uint8 * nbytes).from_address(address))
    return np.frombuffer(memory, dtype=np.uint8)
