"""Memory allocator of a Vulkan device: buffers are parts of a few large blocks.

A driver may refuse more than 4,096 allocations, and each allocation is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan.driver import call, driver
from kgen_runtime.backends.vulkan.ranges import FreeRanges
from kgen_runtime.errors import DeviceError, OutOfMemory

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes

#: Alignment of buffers, in bytes. It satisfies every minStorageBufferOffsetAlignment and the
#: Backend protocol.
ALIGNMENT = 256
#: Block sizes in bytes: blocks grow from the first to the second size as more memory is used. A
#: larger buffer gets a block of its own size.
SMALL_BLOCK, LARGE_BLOCK = 2**22, 2**26
#: Limit in bytes on unused blocks that are kept for later buffers.
MOST_UNUSED = 2**28


class MemoryKind(Enum):
    """Kind of memory: the property flags that it requires, and further flags that it prefers."""

    DEVICE = ("DEVICE_LOCAL", ())
    #: For device and host: memory of an integrated GPU or of a software driver.
    SHARED = ("HOST_VISIBLE HOST_COHERENT", ("DEVICE_LOCAL HOST_CACHED", "DEVICE_LOCAL"))
    #: Memory that the host writes once and the device copies.
    UPLOAD = ("HOST_VISIBLE HOST_COHERENT", ())
    #: Memory that the host reads. Uncached, each word would be a transfer over the bus.
    DOWNLOAD = ("HOST_VISIBLE HOST_COHERENT", ("HOST_CACHED",))

    def candidates(self) -> Iterator[int]:
        """Yield property flags to look for, best first."""
        needed, better = self.value
        for more in (*better, ""):
            names = f"{needed} {more}".split()
            vk = driver()
            yield sum(getattr(vk, f"VK_MEMORY_PROPERTY_{name}_BIT") for name in names)


class MemoryBlock:
    """Memory allocation that is bound to one VkBuffer.

    `host` is the mapped memory if it is host-visible; `number` is unique in the process.
    """

    __slots__ = ("free", "handle", "host", "memory", "nbytes", "number")
    _numbers = count()

    def __init__(self, handle: Any, memory: Any, nbytes: int, host: HostBytes | None) -> None:
        self.handle, self.memory, self.host = handle, memory, host
        self.nbytes = nbytes
        self.free = FreeRanges(nbytes)
        self.number = next(self._numbers)


class VulkanBuffer:
    """Range of a block, in bytes. Two buffers have equal `key` only if they are the same range."""

    __slots__ = ("block", "key", "nbytes", "offset", "taken")

    def __init__(self, block: MemoryBlock, offset: int, nbytes: int, taken: int = 0) -> None:
        self.block, self.offset, self.nbytes = block, offset, nbytes
        self.key = (block.number, offset, nbytes)
        #: Bytes reserved in the block; 0 for a view of a buffer, and after `free`.
        self.taken = taken

    @property
    def host(self) -> HostBytes | None:
        host = self.block.host
        return None if host is None else host[self.offset : self.offset + self.nbytes]


class VulkanMemory:
    """Allocator of a device's buffers. Not thread-safe: the backend holds a lock."""

    def __init__(self, physical: Any, device: Any, kind: MemoryKind) -> None:
        self._physical, self._device, self._kind = physical, device, kind
        self.blocks: list[MemoryBlock] = []

    def take(self, nbytes: int) -> VulkanBuffer:
        """Allocate a buffer in a block with enough space, or in a new one. Raises OutOfMemory."""
        # Vulkan does not support empty buffers.
        taken = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
        for block in self.blocks:
            if (start := block.free.take(taken)) is not None:
                return VulkanBuffer(block, start, nbytes, taken)
        used = sum(block.nbytes for block in self.blocks)
        block = self.new_block(max(taken, min(max(used, SMALL_BLOCK), LARGE_BLOCK)), self._kind)
        self.blocks.append(block)
        block.free.take(taken)
        return VulkanBuffer(block, 0, nbytes, taken)

    def give(self, buffer: VulkanBuffer) -> None:
        """Free a buffer, once. Submitted launches may still use it."""
        buffer.block.free.give(buffer.offset, buffer.taken)
        buffer.taken = 0

    def unused(self) -> list[MemoryBlock]:
        """Return the blocks without buffers."""
        return [block for block in self.blocks if block.free.is_whole]

    def too_much_unused(self) -> list[MemoryBlock]:
        """Return the largest unused blocks, so that at most MOST_UNUSED bytes are unused without
        them."""
        found, kept = [], 0
        for block in sorted(self.unused(), key=lambda block: block.nbytes):
            kept += block.nbytes
            if kept > MOST_UNUSED:
                found.append(block)
        return found

    def release(self, block: MemoryBlock) -> None:
        """Release a block to the driver. No submitted launch may use it."""
        if block in self.blocks:
            self.blocks.remove(block)
        vk = driver()
        vk.vkDestroyBuffer(self._device, block.handle, None)
        vk.vkFreeMemory(self._device, block.memory, None)

    def new_block(self, nbytes: int, kind: MemoryKind) -> MemoryBlock:
        """Allocate a block that is not part of the allocator's list."""
        vk = driver()
        info = vk.VkBufferCreateInfo(
            size=nbytes,
            usage=vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT,
            sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE,
        )
        handle = call("vkCreateBuffer", self._device, info, None)
        try:
            needs = vk.vkGetBufferMemoryRequirements(self._device, handle)
            memory = self._allocate(needs, kind)
        except BaseException:
            vk.vkDestroyBuffer(self._device, handle, None)
            raise
        try:
            call("vkBindBufferMemory", self._device, handle, memory, 0)
            host = self._map(memory, nbytes) if kind is not MemoryKind.DEVICE else None
        except BaseException:
            vk.vkDestroyBuffer(self._device, handle, None)
            vk.vkFreeMemory(self._device, memory, None)
            raise
        return MemoryBlock(handle, memory, nbytes, host)

    def _allocate(self, needs: Any, kind: MemoryKind) -> Any:
        """Allocate memory of the best type that has enough space."""
        vk = driver()
        last: DeviceError = DeviceError(
            f"vulkan: the device has no {kind.value[0]} memory; choose another device"
        )
        for flags in kind.candidates():
            for index in self._types(needs.memoryTypeBits, flags):
                info = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=index)
                try:
                    return call("vkAllocateMemory", self._device, info, None)
                except OutOfMemory as error:
                    last = error
        raise last

    def _types(self, allowed: int, flags: int) -> list[int]:
        """Return the memory types among the bits of `allowed` that have all flags."""
        properties = driver().vkGetPhysicalDeviceMemoryProperties(self._physical)
        return [
            i
            for i in range(properties.memoryTypeCount)
            if allowed >> i & 1 and properties.memoryTypes[i].propertyFlags & flags == flags
        ]

    def _map(self, memory: Any, nbytes: int) -> HostBytes:
        import numpy as np

        return np.frombuffer(call("vkMapMemory", self._device, memory, 0, nbytes, 0), np.uint8)
