"""Kernel parameters for the launch calls of CUDA and HIP."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Protocol


class Structure(Protocol):
    """Parameter in host memory that is not a pointer, such as the structures of cuda-bindings."""

    def getPtr(self) -> int:
        """Return the address of the structure's bytes."""


class Parameters:
    """Array `void **kernelParams` of a kernel whose parameters are device pointers or structures.

    `address` is the address of the array, whose entries point to the values. It is valid as long as
    this object lives. The driver copies the values during the launch call.
    """

    __slots__ = ("_pointers", "_values", "address")

    def __init__(self, values: Sequence[int | Structure]) -> None:
        count = len(values)
        words = [value if isinstance(value, int) else 0 for value in values]
        self._values = (values, (ctypes.c_uint64 * count)(*words))
        first = ctypes.addressof(self._values[1])
        self._pointers = (ctypes.c_void_p * count)(
            *(
                first + 8 * i if isinstance(value, int) else value.getPtr()
                for i, value in enumerate(values)
            )
        )
        self.address = ctypes.addressof(self._pointers)
