"""Detection of fork(2): GPU drivers have threads and handles that a child process does not inherit.

Calls from the child would hang or fail without naming the cause. They are refused instead.
"""

from __future__ import annotations

import os

from kgen_runtime.errors import DeviceLost


class OneProcess:
    """Driver that works only in the process that starts it."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        #: Whether this process is a fork of the one that started the driver.
        self.lost = False

    def start(self) -> None:
        """Record that this process started the driver. Raises DeviceLost if its parent did."""
        self.check()
        _started.add(self)

    def check(self) -> None:
        """Raise DeviceLost in a child process."""
        if self.lost:
            raise DeviceLost(
                f"{self._driver}: the driver does not work in a forked process; fork before the "
                "first use of the device, or start processes with multiprocessing's spawn method"
            )


_started: set[OneProcess] = set()


def _lose_all() -> None:
    for one in _started:
        one.lost = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lose_all)
