"""What a driver has compiled, kept on disk: the next process's first launch does without.

One file for each driver and device, by the identifier that the driver gives its cache. A file that
is not as it was written is as good as none, and never reaches the driver.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from kgen_runtime import settings
from kgen_runtime.backends.vulkan.driver import call, check, driver

#: In front of the data.
DIGEST_BYTES = hashlib.sha256().digest_size


class PipelineCache:
    """A VkPipelineCache, filled from the file of its driver and device; `handle` is for making
    pipelines."""

    def __init__(self, physical: Any, device: Any) -> None:
        vk = driver()
        self._device = device
        self._path = _path(vk.vkGetPhysicalDeviceProperties(physical))
        data = b"" if self._path is None else read(self._path)
        self._kept = len(data)
        initial = vk.ffi.new("char[]", data)
        info = vk.VkPipelineCacheCreateInfo(initialDataSize=len(data), pInitialData=initial)
        self.handle = call("vkCreatePipelineCache", device, info, None)

    def keep(self) -> None:
        """Write the file, if the driver has compiled more than is in it."""
        if self._path is None:
            return
        data = self._data()
        if len(data) > self._kept:
            self._kept = len(data)
            write(self._path, data)

    def _data(self) -> bytes:
        """What the driver has compiled, in its own form; the `vulkan` package has no such call."""
        vk = driver()
        size = vk.ffi.new("size_t *")
        get = vk.lib.vkGetPipelineCacheData
        check("vkGetPipelineCacheData", get(self._device, self.handle, size, vk.ffi.NULL))
        data = vk.ffi.new("char[]", size[0])
        status = get(self._device, self.handle, size, data)
        if status != vk.VK_INCOMPLETE:  # another thread has just compiled: the next time, then
            check("vkGetPipelineCacheData", status)
        return bytes(vk.ffi.buffer(data, size[0]))

    def destroy(self) -> None:
        driver().vkDestroyPipelineCache(self._device, self.handle, None)


def _path(properties: Any) -> Path | None:
    folder = settings.cache_folder() if settings.keeps_what_is_compiled() else None
    if folder is None:
        return None
    device = f"{properties.vendorID:x}-{properties.deviceID:x}-{properties.driverVersion:x}"
    return folder / "vulkan" / f"{device}-{bytes(properties.pipelineCacheUUID).hex()}"


def read(path: Path) -> bytes:
    """A file's data as it was written; empty if there is no such file, or no sound one."""
    try:
        content = path.read_bytes()
    except OSError:
        return b""
    digest, data = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return data if hashlib.sha256(data).digest() == digest else b""


def write(path: Path, data: bytes) -> None:
    """Keep data in a file, which other processes see whole or not at all. Where it cannot be
    written nothing is kept, which is no error."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
