"""Waits for a WebGPU device that end: by a limit, or by Ctrl-C.

The package's own have no limit. So another thread waits, and is left behind where the device does
not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kgen_runtime.errors import DeviceLost, LaunchError

T = TypeVar("T")


class Waits:
    """The waits for one device. `lost` is what every later use of it says after one that did not
    end."""

    def __init__(self, seconds: float | None) -> None:
        """`seconds`: the longest wait; None for ever."""
        self._seconds = seconds
        self.lost: DeviceLost | None = None

    def check(self) -> None:
        """Raises DeviceLost if the device has not answered before."""
        if self.lost is not None:
            raise self.lost

    def until(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, or raise its exception. Raises LaunchError if it takes too
        long."""
        done, given, raised = threading.Event(), list[T](), list[BaseException]()

        def wait() -> None:
            try:
                given.append(work())
            except BaseException as error:
                raised.append(error)
            done.set()

        threading.Thread(target=wait, name="kgen-webgpu-wait", daemon=True).start()
        if not done.wait(self._seconds):
            self.lost = DeviceLost(
                f"webgpu: a launch did not finish within {self._seconds:g} s, and the device was "
                "given up; open it again, or restart the process"
            )
            raise LaunchError(
                f"webgpu: the device did not answer for {self._seconds:g} s: a kernel hangs, or "
                "needs more time; set KGEN_VULKAN_SECONDS to a larger number, or to 0"
            )
        if raised:
            raise raised[0]
        return given[0]
