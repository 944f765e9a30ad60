"""Waits for a WebGPU device that end after a time limit or by Ctrl-C.

The waits of the package `wgpu` have no limit. A second thread waits instead, and is abandoned if
the device does not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kgen_runtime.errors import DeviceLost, LaunchError

T = TypeVar("T")


class Waits:
    """Waits for one device. `lost` is the error of every use after a wait that timed out."""

    def __init__(self, seconds: float | None) -> None:
        """Set the longest wait, in seconds; None for no limit."""
        self._seconds = seconds
        self.lost: DeviceLost | None = None

    def check(self) -> None:
        """Raise DeviceLost if an earlier wait timed out."""
        if self.lost is not None:
            raise self.lost

    def until(self, work: Callable[[], T]) -> T:
        """Run `work` in another thread; return its result or raise its exception. Raises
        LaunchError after the time limit."""
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
