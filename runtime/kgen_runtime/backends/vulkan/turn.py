"""Lock of a Vulkan device, which lets one thread at a time use the device."""

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

    Taking the lock raises DeviceError after the device is closed, and DeviceLost in a forked child:
    a thread that held the lock at the fork does not exist in the child to release it.
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
        """Take the lock to release a resource; yield whether the device is still open.

        Yields False, without the lock, in a forked child.
        """
        if PROCESS.lost:
            yield False
            return
        with self._lock:
            yield self.is_open
