"""Turns at a Vulkan device: of one thread at a time, in the process that opened it, until it is
closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.errors import DeviceError

#: A child of it may hang in the driver even with devices of its own.
PROCESS = OneProcess("vulkan")


class Turn:
    """Turn of one thread, which may take turns within it.

    There are no turns after the device was closed, nor in a forked child, where a thread that does
    not exist may hold the lock for ever.
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
        """A turn for what gives something back, which raises nothing: whether it is still there."""
        if PROCESS.lost:
            yield False
            return
        with self._lock:
            yield self.is_open
