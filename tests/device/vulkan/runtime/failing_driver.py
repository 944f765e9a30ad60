"""Program that works on a Vulkan device while one call of the driver fails, each call in turn.

    python -m tests.device.vulkan.runtime.failing_driver

It prints a line of JSON for each failing call: what the runtime raised, whether that was an error
of kgen in one line, what was created and not destroyed after closing, and the result of the same
work on the same device afterwards.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import vulkan as vk

from kgen.spec import DType
from kgen_runtime.backend import SequenceStep
from kgen_runtime.backends.vulkan import VulkanBackend, memory, transfers
from kgen_runtime.errors import KgenError
from tests.device.vulkan.vulkan_support import build, loadable
from tests.specs import relu_of

#: Calls that create objects, the calls that destroy them, and the number created by a call.
MADE_BY = {
    f"vkCreate{what}": f"vkDestroy{what}"
    for what in (
        *("Instance", "Device", "Buffer", "ShaderModule", "DescriptorSetLayout", "PipelineLayout"),
        *("DescriptorPool", "CommandPool", "PipelineCache", "Fence"),
    )
} | {"vkAllocateMemory": "vkFreeMemory", "vkCreateComputePipelines": "vkDestroyPipeline"}
#: Other calls that may fail, of the package and of the library below it.
OTHERS = (
    *("vkAllocateDescriptorSets", "vkAllocateCommandBuffers", "vkBindBufferMemory", "vkMapMemory"),
    "vkEnumeratePhysicalDevices",
)
BELOW = (
    *("vkQueueSubmit", "vkWaitForFences", "vkResetFences", "vkBeginCommandBuffer"),
    *("vkEndCommandBuffer", "vkGetPipelineCacheData"),
)
FAILURES = {
    "host memory": (vk.VkErrorOutOfHostMemory, -1),
    "device memory": (vk.VkErrorOutOfDeviceMemory, -2),
    "lost": (vk.VkErrorDeviceLost, -4),
}


class Failing:
    """Counter of the driver's calls; the call numbered `at` fails."""

    def __init__(self) -> None:
        self.made, self.live, self.at, self.how = 0, Counter[str](), 0, "lost"
        self.name = ""
        for name, undoing in MADE_BY.items():
            setattr(vk, name, self._raising(name, getattr(vk, name), undoing))
            setattr(vk, undoing, self._undoing(undoing, getattr(vk, undoing)))
        for name in OTHERS:
            setattr(vk, name, self._raising(name, getattr(vk, name), ""))
        vk.lib = _Library(vk.lib, self)

    def fails(self, name: str) -> bool:
        self.made += 1
        if self.made != self.at:
            return False
        self.name = name
        return True

    def _raising(self, name: str, call: Callable[..., Any], undoing: str) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            if self.fails(name):
                raise FAILURES[self.how][0]
            found = call(*arguments)
            self.live[undoing] += bool(undoing)
            return found

        return counted

    def _undoing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.live[name] -= 1
            return call(*arguments)

        return counted


class _Library:
    """The library, whose calls return a status."""

    def __init__(self, library: Any, failing: Failing) -> None:
        self._library, self._failing = library, failing

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._library, name)
        if name not in BELOW:
            return call

        def counted(*arguments: Any) -> Any:
            if self._failing.fails(name):
                return FAILURES[self._failing.how][1]
            return call(*arguments)

        return counted


KERNEL = loadable(build(relu_of((1000,), dtype=DType.F32)))


def use(backend: VulkanBackend) -> None:
    """Do everything that a backend can do, once."""
    host = np.zeros(4000, np.uint8)
    kernel = backend.load(*KERNEL)
    x, out = backend.alloc(4000), backend.alloc(4000)
    large = backend.alloc(8 * 2**20)  # larger than what is kept after it is freed
    backend.copy_to_device(x, host)
    buffers = {"x": x, "out": out}
    backend.launch(kernel, buffers)
    backend.prepare(kernel, buffers)()
    backend.sequence([SequenceStep(kernel=kernel, buffers=buffers, after=())]).run()
    backend.copy_from_device(host, out)
    backend.free(large)
    backend.free(x)
    backend.unload(kernel)


def main() -> None:
    failing, number = Failing(), 0
    memory.MOST_UNUSED, transfers.STAGING_BYTES = 2**20, 4096
    while True:
        number += 1
        for how in FAILURES:
            failing.made, failing.at, failing.how, failing.name = 0, number, how, ""
            failing.live.clear()
            backend, raised, again = None, None, None
            try:
                # Memory that only copies can access, as on a GPU.
                backend = VulkanBackend(mapped=False)
                use(backend)
            except Exception as error:
                raised = error
            failing.at = 0
            if backend is not None:
                try:
                    use(backend)
                    again = "right"
                except KgenError as error:
                    again = str(error)
                backend.close()
            found = {
                "call": failing.name,
                "how": how,
                "raised": type(raised).__name__ if raised else None,
                "clean": raised is None
                or (isinstance(raised, KgenError) and "\n" not in str(raised)),
                "left": {name: n for name, n in failing.live.items() if n},
                "again": again,
            }
            if not failing.name:
                return
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
    sys.exit()
