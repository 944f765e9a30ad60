"""On-disk cache of compiled pipelines, so that the next process compiles nothing.

There is one file per driver and device, named by the UUID of the driver's pipeline cache. A file
that is damaged, or that another user may write, is ignored.
"""

from __future__ import annotations

from typing import Any

from kgen_runtime import settings
from kgen_runtime.backends.vulkan.driver import call, check, driver
from kgen_runtime.file_cache import FileCache


class PipelineCache:
    """VkPipelineCache, filled from the file of its driver and device; `handle` is passed when
    pipelines are created."""

    def __init__(self, physical: Any, device: Any) -> None:
        vk = driver()
        self._device = device
        self._files = opened()
        self._name = _name(vk.vkGetPhysicalDeviceProperties(physical))
        data = b"" if self._files is None else self._files.read(self._name) or b""
        self._kept = len(data)
        initial = vk.ffi.new("char[]", data)
        info = vk.VkPipelineCacheCreateInfo(initialDataSize=len(data), pInitialData=initial)
        self.handle = call("vkCreatePipelineCache", device, info, None)

    def keep(self) -> None:
        """Write the file if the driver has compiled more pipelines."""
        if self._files is None:
            return
        data = self._data()
        if len(data) > self._kept:
            self._kept = len(data)
            self._files.write(self._name, data)

    def _data(self) -> bytes:
        """Return the content of the VkPipelineCache. The `vulkan` package does not wrap this
        call."""
        vk = driver()
        size = vk.ffi.new("size_t *")
        get = vk.lib.vkGetPipelineCacheData
        check("vkGetPipelineCacheData", get(self._device, self.handle, size, vk.ffi.NULL))
        data = vk.ffi.new("char[]", size[0])
        status = get(self._device, self.handle, size, data)
        # VK_INCOMPLETE: another thread has compiled meanwhile; the next call writes all.
        if status != vk.VK_INCOMPLETE:
            check("vkGetPipelineCacheData", status)
        return bytes(vk.ffi.buffer(data, size[0]))

    def destroy(self) -> None:
        driver().vkDestroyPipelineCache(self._device, self.handle, None)


def opened() -> FileCache | None:
    """Return the cache of this user; None if the environment disables caches."""
    folder = settings.cache_folder() if settings.keeps_what_is_compiled() else None
    return None if folder is None else FileCache(folder / "vulkan")


def _name(properties: Any) -> str:
    device = f"{properties.vendorID:x}-{properties.deviceID:x}-{properties.driverVersion:x}"
    return f"{device}-{bytes(properties.pipelineCacheUUID).hex()}"
