"""The queue of a Vulkan device: what is handed to it runs in order, and is waited for in slices.

Submissions are counted. A fence is made once for every `MARK_EVERY` of them, and where somebody
waits; it says that everything up to its number is done.
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

#: Submissions from one fence to the next, and fences under way before the first is waited for.
MARK_EVERY, MOST_MARKS = 64, 4
#: A wait looks this often whether somebody wants it to end (Ctrl-C), in seconds.
SLICE_SECONDS = 0.1
#: The VkResult of a wait that has run out.
TIMEOUT = 2


class Queue:
    """The device's queue. Not safe for threads: the backend holds a lock."""

    def __init__(self, device: VulkanDevice, seconds: float | None) -> None:
        """`seconds`: the longest wait for the next fence; None for ever."""
        vk = driver()
        self._device = device.handle
        self._seconds = seconds
        self._handle = vk.vkGetDeviceQueue(device.handle, device.queue_family, 0)
        self._vk_submit = vk.lib.vkQueueSubmit
        self._none = vk.ffi.NULL
        #: Numbers of the last submission, of the last one before a fence, and of the last one that
        #: is known to be done.
        self.submitted = self._marked = self.done = 0
        self._marks: deque[tuple[int, Any]] = deque()
        self._fences: list[Any] = []
        #: What every later call says of a device that is lost.
        self._lost: DeviceLost | None = None
        #: Whether what was submitted may still run, after a wait that has run out.
        self.hangs = False

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def destroy(self) -> None:
        """Nothing may be under way any more."""
        for fence in (*self._fences, *(fence for _, fence in self._marks)):
            driver().vkDestroyFence(self._device, fence, None)

    def submit(self, recording: Recording) -> None:
        """Hand recorded commands to the queue, after all before; do not wait."""
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
        """A fence behind everything that was submitted."""
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
            # Without the interpreter's lock; a signal is looked at when it returns.
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
