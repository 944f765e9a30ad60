"""Command buffers that record launches and copies, for many submissions.

Structures are allocated once and rewritten in place, so that a launch with new buffers allocates
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan.driver import call, check, driver
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backends.vulkan.memory import MemoryBlock, VulkanBuffer
    from kgen_runtime.backends.vulkan.pipelines import VulkanDevice, VulkanPipeline

WORD = 4
#: Most recordings that a kernel keeps, one for each set of buffers.
MOST_RECORDINGS = 64


@frozen
class RecordedDispatch:
    """Launch to record; if `waits`, it runs after all launches before it."""

    pipeline: VulkanPipeline
    buffers: Mapping[str, VulkanBuffer]
    waits: bool


class Recording:
    """Command buffer with the descriptors of its launches. `submit` is the structure for the queue;
    `number` is the number of its last submission."""

    __slots__ = ("buffer", "commands", "descriptors", "infos", "number", "sets", "submit", "writes")

    def __init__(self, commands: Any, descriptors: Any, sets: Any, bindings: int) -> None:
        vk = driver()
        self.commands, self.descriptors, self.sets = commands, descriptors, sets
        #: Array of one command buffer, to which `submit` points.
        self.buffer = vk.ffi.new("VkCommandBuffer[1]", [commands])
        self.submit = vk.ffi.new("VkSubmitInfo *")
        self.submit.sType = vk.VK_STRUCTURE_TYPE_SUBMIT_INFO
        self.submit.commandBufferCount = 1
        self.submit.pCommandBuffers = self.buffer
        self.infos = vk.ffi.new("VkDescriptorBufferInfo[]", bindings)
        self.writes = vk.ffi.new("VkWriteDescriptorSet[]", len(sets))
        self.number = 0


class Recorder:
    """Factory of recordings. Not thread-safe: the backend holds a lock."""

    def __init__(self, device: VulkanDevice) -> None:
        vk = driver()
        self._device = device.handle
        self._lib = vk.lib
        self._point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        pool = vk.VkCommandPoolCreateInfo(
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=device.queue_family,
        )
        self._pool = call("vkCreateCommandPool", device.handle, pool, None)
        self._begin = vk.ffi.new("VkCommandBufferBeginInfo *")
        self._begin.sType = vk.VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
        # One recording may be submitted several times before the first has finished.
        self._begin.flags = vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
        self._barriers = vk.ffi.new("VkMemoryBarrier[1]")
        writes = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        reads = vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
        self._barriers[0].sType = vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER
        self._barriers[0].srcAccessMask = writes
        self._barriers[0].dstAccessMask = writes | reads | vk.VK_ACCESS_HOST_READ_BIT
        self._work = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        self._after = self._work | vk.VK_PIPELINE_STAGE_HOST_BIT
        self._null = vk.ffi.NULL
        self._regions = vk.ffi.new("VkBufferCopy[1]")

    def destroy(self) -> None:
        """Destroy the command buffers of all recordings. Their descriptor pools must be destroyed
        before."""
        driver().vkDestroyCommandPool(self._device, self._pool, None)

    def new(self, pipelines: Sequence[VulkanPipeline]) -> Recording:
        """Create a recording for launches of these pipelines; it must be written before it is
        submitted."""
        vk = driver()
        info = vk.VkCommandBufferAllocateInfo(
            commandPool=self._pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        bindings = sum(len(p.arguments) for p in pipelines)
        pool, sets = self._descriptor_sets(pipelines, bindings) if pipelines else (None, [])
        try:
            (commands,) = call("vkAllocateCommandBuffers", self._device, info)
        except BaseException:
            if pool is not None:
                vk.vkDestroyDescriptorPool(self._device, pool, None)
            raise
        recording = Recording(commands, pool, vk.ffi.new("VkDescriptorSet[]", sets), bindings)
        first = 0
        for i, pipeline in enumerate(pipelines):
            write = recording.writes[i]
            write.sType = vk.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
            write.dstSet = sets[i]
            write.descriptorCount = len(pipeline.arguments)
            write.descriptorType = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            write.pBufferInfo = recording.infos + first
            first += len(pipeline.arguments)
        return recording

    def _descriptor_sets(
        self, pipelines: Sequence[VulkanPipeline], bindings: int
    ) -> tuple[Any, Any]:
        """Create a descriptor pool and one descriptor set per launch."""
        vk = driver()
        size = vk.VkDescriptorPoolSize(
            type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=bindings
        )
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=len(pipelines), pPoolSizes=[size])
        pool = call("vkCreateDescriptorPool", self._device, pool_info, None)
        layouts = [p.set_layout for p in pipelines]
        info = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts)
        try:
            return pool, list(call("vkAllocateDescriptorSets", self._device, info))
        except BaseException:
            vk.vkDestroyDescriptorPool(self._device, pool, None)
            raise

    def forget(self, recording: Recording) -> None:
        """Destroy a recording that is not executing."""
        vk = driver()
        vk.vkFreeCommandBuffers(self._device, self._pool, 1, [recording.commands])
        if recording.descriptors is not None:
            vk.vkDestroyDescriptorPool(self._device, recording.descriptors, None)

    def write(self, recording: Recording, steps: Sequence[RecordedDispatch]) -> None:
        """Record launches of the pipelines for which the recording was created. No submission of
        the recording may be executing."""
        lib, commands, at = self._lib, recording.commands, 0
        for step in steps:
            for name in step.pipeline.arguments:
                buffer, info = step.buffers[name], recording.infos[at]
                info.buffer, info.offset = buffer.block.handle, buffer.offset
                # Kernels may read the whole word that contains the last byte. No other buffer uses
                # that word.
                info.range = -(-buffer.nbytes // WORD) * WORD
                at += 1
        lib.vkUpdateDescriptorSets(self._device, len(steps), recording.writes, 0, self._null)
        check("vkBeginCommandBuffer", lib.vkBeginCommandBuffer(commands, self._begin))
        for i, step in enumerate(steps):
            if step.waits:
                self._barrier(commands)
            pipeline = step.pipeline
            lib.vkCmdBindPipeline(commands, self._point, pipeline.pipeline)
            lib.vkCmdBindDescriptorSets(
                commands, self._point, pipeline.layout, 0, 1, recording.sets + i, 0, self._null
            )
            lib.vkCmdDispatch(commands, *pipeline.grid)
        self._barrier(commands)
        check("vkEndCommandBuffer", lib.vkEndCommandBuffer(commands))

    def write_copy(
        self,
        recording: Recording,
        source: MemoryBlock,
        target: MemoryBlock,
        region: tuple[int, int, int],
    ) -> None:
        """Record a copy; `region` is (source offset, target offset, bytes)."""
        lib, commands = self._lib, recording.commands
        copy = self._regions[0]
        copy.srcOffset, copy.dstOffset, copy.size = region
        check("vkBeginCommandBuffer", lib.vkBeginCommandBuffer(commands, self._begin))
        lib.vkCmdCopyBuffer(commands, source.handle, target.handle, 1, self._regions)
        self._barrier(commands)
        check("vkEndCommandBuffer", lib.vkEndCommandBuffer(commands))

    def _barrier(self, commands: Any) -> None:
        """Make earlier writes visible to all later commands and to the host."""
        none = self._null
        self._lib.vkCmdPipelineBarrier(
            commands, self._work, self._after, 0, 1, self._barriers, 0, none, 0, none
        )


class KernelRecordings:
    """Cache of a kernel's recordings by their buffers, limited to MOST_RECORDINGS."""

    def __init__(self, pipelines: Sequence[VulkanPipeline]) -> None:
        self.pipelines = tuple(pipelines)
        self._by_buffers: dict[Any, Recording] = {}
        self._unused: list[Recording] = []

    def find(self, key: Any) -> Recording | None:
        return self._by_buffers.get(key)

    def spare(self) -> Recording | None:
        """Return a recording to rewrite, or None to create one: a recording of released buffers, or
        the oldest if the cache is full. It may still be executing."""
        if self._unused:
            return self._unused.pop()
        if len(self._by_buffers) >= MOST_RECORDINGS:
            return self._by_buffers.pop(next(iter(self._by_buffers)))
        return None

    def keep(self, key: Any, recording: Recording) -> None:
        self._by_buffers[key] = recording

    def put_back(self, recording: Recording) -> None:
        """Keep a recording whose launches could not be recorded, for reuse."""
        self._unused.append(recording)

    def drop_block(self, number: int) -> None:
        """Drop the recordings that refer to a released block of memory."""
        gone = [key for key in self._by_buffers if any(part[0] == number for part in key)]
        self._unused += [self._by_buffers.pop(key) for key in gone]

    def all(self) -> list[Recording]:
        return [*self._by_buffers.values(), *self._unused]
