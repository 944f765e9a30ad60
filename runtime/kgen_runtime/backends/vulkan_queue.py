"""Commands of a Vulkan device: launches and copies, in order, and what is still under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan_driver import call, driver

if TYPE_CHECKING:
    from kgen_runtime.backends.vulkan_objects import Allocation, Buffer, Device, Pipeline

#: Commands that may be under way before the next one waits for all of them.
MAX_PENDING = 64
#: vkWaitForFences without a time limit, in nanoseconds.
FOREVER = 2**64 - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Pending:
    """Commands under way, and what to destroy when their fence is signalled."""

    fence: Any
    commands: Any
    descriptors: Any | None


class Queue:
    """The device's queue and its commands. Not safe for threads: the backend holds a lock."""

    def __init__(self, device: Device) -> None:
        vk = driver()
        self._device = device
        self._queue = vk.vkGetDeviceQueue(device.handle, device.queue_family, 0)
        pool = vk.VkCommandPoolCreateInfo(queueFamilyIndex=device.queue_family)
        self._pool = call("vkCreateCommandPool", device.handle, pool, None)
        self._pending: list[Pending] = []

    def destroy(self) -> None:
        """Nothing may be under way any more."""
        driver().vkDestroyCommandPool(self._device.handle, self._pool, None)

    def launch(self, pipelines: tuple[Pipeline, ...], buffers: Mapping[str, Buffer]) -> None:
        """Hand the launches to the queue, each after the one before; do not wait."""
        vk = driver()
        pool, sets = self._descriptor_sets(pipelines, buffers)

        def record(commands: Any) -> None:
            point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
            for pipeline, descriptors in zip(pipelines, sets, strict=True):
                vk.vkCmdBindPipeline(commands, point, pipeline.pipeline)
                vk.vkCmdBindDescriptorSets(
                    commands, point, pipeline.layout, 0, 1, [descriptors], 0, None
                )
                vk.vkCmdDispatch(commands, *pipeline.grid)
                _barrier(commands)

        self._submit(record, pool)

    def copy(
        self, source: Allocation, target: Allocation, regions: list[tuple[int, int, int]]
    ) -> None:
        """Copy (from, to, nbytes) regions and wait."""
        vk = driver()
        copies = [
            vk.VkBufferCopy(srcOffset=start, dstOffset=end, size=nbytes)
            for start, end, nbytes in regions
        ]

        def record(commands: Any) -> None:
            vk.vkCmdCopyBuffer(commands, source.buffer, target.buffer, len(copies), copies)
            _barrier(commands)

        self._submit(record, None)
        self.wait()

    def wait(self) -> None:
        """Wait for all commands and destroy what they used."""
        vk = driver()
        pending, self._pending = self._pending, []
        if not pending:
            return
        fences = [p.fence for p in pending]
        call("vkWaitForFences", self._device.handle, len(fences), fences, True, FOREVER)
        vk.vkFreeCommandBuffers(
            self._device.handle, self._pool, len(pending), [p.commands for p in pending]
        )
        for p in pending:
            vk.vkDestroyFence(self._device.handle, p.fence, None)
            if p.descriptors is not None:
                vk.vkDestroyDescriptorPool(self._device.handle, p.descriptors, None)

    def _submit(self, record: Callable[[Any], None], descriptors: Any | None) -> None:
        vk = driver()
        if len(self._pending) >= MAX_PENDING:
            self.wait()
        info = vk.VkCommandBufferAllocateInfo(
            commandPool=self._pool,
            level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            commandBufferCount=1,
        )
        (commands,) = call("vkAllocateCommandBuffers", self._device.handle, info)
        begin = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        call("vkBeginCommandBuffer", commands, begin)
        record(commands)
        call("vkEndCommandBuffer", commands)
        fence_info = vk.VkFenceCreateInfo()
        fence = call("vkCreateFence", self._device.handle, fence_info, None)
        submit = vk.VkSubmitInfo(pCommandBuffers=[commands])
        call("vkQueueSubmit", self._queue, 1, [submit], fence)
        # Not before: memory that the garbage collector frees in between waits for all of these.
        self._pending.append(Pending(fence=fence, commands=commands, descriptors=descriptors))

    def _descriptor_sets(
        self, pipelines: tuple[Pipeline, ...], buffers: Mapping[str, Buffer]
    ) -> tuple[Any, list[Any]]:
        """A pool with one set per launch, whose bindings are the launch's buffers."""
        vk = driver()
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        total = sum(len(p.arguments) for p in pipelines)
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=total)
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=len(pipelines), pPoolSizes=[size])
        pool = call("vkCreateDescriptorPool", self._device.handle, pool_info, None)
        layouts = [p.set_layout for p in pipelines]
        info = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts)
        sets = list(call("vkAllocateDescriptorSets", self._device.handle, info))
        for pipeline, descriptors in zip(pipelines, sets, strict=True):
            bound = [buffers[name] for name in pipeline.arguments]
            ranges = [
                vk.VkDescriptorBufferInfo(
                    buffer=b.allocation.buffer, offset=b.offset, range=b.nbytes
                )
                for b in bound
            ]
            write = vk.VkWriteDescriptorSet(
                dstSet=descriptors,
                dstBinding=0,
                descriptorCount=len(ranges),
                descriptorType=kind,
                pBufferInfo=ranges,
            )
            vk.vkUpdateDescriptorSets(self._device.handle, 1, [write], 0, None)
        return pool, sets


def _barrier(commands: Any) -> None:
    """What was written before is seen by everything after it, on the device and on the host."""
    vk = driver()
    writes = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
    barrier = vk.VkMemoryBarrier(
        srcAccessMask=writes,
        dstAccessMask=writes
        | vk.VK_ACCESS_SHADER_READ_BIT
        | vk.VK_ACCESS_TRANSFER_READ_BIT
        | vk.VK_ACCESS_HOST_READ_BIT,
    )
    work = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    after = work | vk.VK_PIPELINE_STAGE_HOST_BIT
    vk.vkCmdPipelineBarrier(commands, work, after, 0, 1, [barrier], 0, None, 0, None)
