"""Kernel parameters as CUDA's and HIP's launch calls take them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence


class PointerParameters:
    """The `void **kernelParams` of a kernel whose parameters are all device pointers.

    `address` is that of an array of pointers, each to one parameter's value; it is good as long as
    this object lives. The driver copies the values during the launch call.
    """

    __slots__ = ("_pointers", "_values", "address")

    def __init__(self, values: Sequence[int]) -> None:
        count = len(values)
        self._values = (ctypes.c_uint64 * count)(*values)
        first = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8))
        self.address = ctypes.addressof(self._pointers)
