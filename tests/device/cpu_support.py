"""What the CPU's tests share: qemu where it must be there, and memory with guard pages."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
import numpy.typing as npt
import pytest

from kgen.check import qemu

Bytes = npt.NDArray[np.uint8]
PROT_NONE = 0


def require_qemu() -> None:
    """Skip without qemu-aarch64; in CI, where it can be installed, fail."""
    if not qemu.available():
        reason = "qemu-aarch64 is not installed; apt install qemu-user"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


class GuardedBytes:
    """`nbytes` between two pages that no access may touch, against one of them."""

    def __init__(self, nbytes: int, *, at_end: bool) -> None:
        pages = -(-nbytes // mmap.PAGESIZE)
        self._map = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
        self._hold = ctypes.c_char.from_buffer(self._map)
        base = ctypes.addressof(self._hold)
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (base, base + (pages + 1) * mmap.PAGESIZE):
            if libc.mprotect(ctypes.c_void_p(guard), mmap.PAGESIZE, PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        slack = pages * mmap.PAGESIZE - nbytes
        self.address = base + mmap.PAGESIZE + (slack if at_end else 0)
        start = self.address - base
        self.data: Bytes = np.frombuffer(self._map, np.uint8, nbytes, start)
