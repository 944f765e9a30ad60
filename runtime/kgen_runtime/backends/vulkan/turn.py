"""Lock of a Vulkan device: one thread at a time, in the process that opened the device, until it
closes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.errors import DeviceError

#: A forked child may hang in the driver even with a device of its own.
PROCESS = OneProcess("vulkan")


class Turn:
    """Reentrant lock of a device.

    It cannot be taken after the device is closed, nor in a forked child, where a thread that does
    not exist may hold it for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.is_open = False

    def __enter__(self) -> None:
        PROCESS.check()
        self._lock.acquire()
        if not self.is_open:
            self._lock.release()
            raise DeviceError("vulkan: the device was closed; open it again")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @contextmanager
    def if_open(self) -> Iterator[bool]:
        """Take the lock to release something; yield whether the device is still open. Raises
        nothing."""
        if PROCESS.lost:
            yield False
            return
        with self._lock:
            yield self.is_open
