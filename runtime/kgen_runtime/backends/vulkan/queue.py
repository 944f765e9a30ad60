"""Queue of a Vulkan device: submissions run in order, and waits can be interrupted.

Submissions are numbered. A fence is submitted after every `MARK_EVERY` of them and before a wait; a
signalled fence means that all submissions up to its number are finished.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan.driver import call, check, driver
from kgen_runtime.errors import DeviceLost, LaunchError

if TYPE_CHECKING:
    from kgen_runtime.backends.vulkan.pipelines import VulkanDevice
    from kgen_runtime.backends.vulkan.recording import Recording

#: Submissions between fences, and the number of pending fences above which the first is waited for.
MARK_EVERY, MOST_MARKS = 64, 4
#: Interval in seconds at which a wait checks for signals (Ctrl-C).
SLICE_SECONDS = 0.1
#: VkResult of a wait that timed out.
TIMEOUT = 2


class Queue:
    """Queue of a device. Not thread-safe: the backend holds a lock."""

    def __init__(self, device: VulkanDevice, seconds: float | None) -> None:
        """Open the queue. `seconds`: longest wait for the next fence; None for no limit."""
        vk = driver()
        self._device = device.handle
        self._seconds = seconds
        self._handle = vk.vkGetDeviceQueue(device.handle, device.queue_family, 0)
        self._vk_submit = vk.lib.vkQueueSubmit
        self._none = vk.ffi.NULL
        #: Numbers of the last submission, of the last one before a fence, and of the last one that
        #: is known to be finished.
        self.submitted = self._marked = self.done = 0
        self._marks: deque[tuple[int, Any]] = deque()
        self._fences: list[Any] = []
        #: Error that every call raises after the device is lost.
        self._lost: DeviceLost | None = None
        #: Whether submissions may still run after a wait timed out.
        self.hangs = False

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def destroy(self) -> None:
        """Destroy the fences. No submission may be executing."""
        for fence in (*self._fences, *(fence for _, fence in self._marks)):
            driver().vkDestroyFence(self._device, fence, None)

    def submit(self, recording: Recording) -> None:
        """Submit recorded commands without waiting."""
        if self._lost is not None:
            raise self._lost
        self._check(self._vk_submit(self._handle, 1, recording.submit, self._none))
        self.submitted = recording.number = self.submitted + 1
        if self.submitted - self._marked >= MARK_EVERY:
            self._mark()
            if len(self._marks) > MOST_MARKS:
                self._wait_for_first()

    def wait(self, number: int | None = None) -> None:
        """Wait for the submission of this number and all before it; by default for all."""
        if self._lost is not None:
            raise self._lost
        number = self.submitted if number is None else number
        while self.done < number:
            if self._marked < number:
                self._mark()
            self._wait_for_first()

    def _mark(self) -> None:
        """Submit a fence after all earlier submissions."""
        if not self._fences:
            info = driver().VkFenceCreateInfo()
            self._fences.append(call("vkCreateFence", self._device, info, None))
        vk = driver()
        fences = vk.ffi.new("VkFence[1]", [self._fences[-1]])
        self._check(vk.lib.vkResetFences(self._device, 1, fences), "vkResetFences")
        self._check(self._vk_submit(self._handle, 0, self._none, self._fences[-1]))
        self._marked = self.submitted
        self._marks.append((self._marked, self._fences.pop()))

    def _wait_for_first(self) -> None:
        vk = driver()
        number, fence = self._marks[0]
        fences, started = vk.ffi.new("VkFence[1]", [fence]), time.monotonic()
        slice_ns = int(SLICE_SECONDS * 1e9)
        while True:
            # The call releases the interpreter lock; Python handles signals when it returns.
            status = vk.lib.vkWaitForFences(self._device, 1, fences, 1, slice_ns)
            if status != TIMEOUT:
                break
            if self._seconds is not None and time.monotonic() - started > self._seconds:
                self.hangs = True
                self._lost = DeviceLost(
                    f"vulkan: a launch did not finish within {self._seconds:g} s, and the device "
                    "was given up; open it again, or restart the process"
                )
                raise LaunchError(
                    f"vulkan: the device did not answer for {self._seconds:g} s: a kernel hangs, "
                    "or needs more time; set KGEN_VULKAN_SECONDS to a larger number, or to 0"
                )
        self._check(status, "vkWaitForFences")
        self._marks.popleft()
        self._fences.append(fence)
        self.done = number

    def _check(self, status: int, function: str = "vkQueueSubmit") -> None:
        try:
            check(function, status)
        except DeviceLost as error:
            self._lost = error
            raise
