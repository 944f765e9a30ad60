"""Commands of a Vulkan device: launches and copies, in order, and what is still under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
class Commands:
    """Recorded commands, with the descriptors that they use."""

    buffer: Any
    descriptors: Any | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Pending:
    """Commands under way; those of one use are destroyed when their fence is signalled."""

    fence: Any
    commands: Commands
    once: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Dispatch:
    """One launch to be recorded; it runs after all those before it if `waits`."""

    pipeline: Pipeline
    buffers: Mapping[str, Buffer]
    waits: bool


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
        steps = [
            Dispatch(pipeline=p, buffers=buffers, waits=i > 0) for i, p in enumerate(pipelines)
        ]
        self._submit(self.record(steps, once=True), once=True)

    def record(self, steps: Sequence[Dispatch], *, once: bool = False) -> Commands:
        """Commands that make these launches, to be replayed; or submitted `once`."""
        vk = driver()
        pool, sets = self._descriptor_sets(steps)
        point = vk.VK_PIPELINE_BIND_POINT_COMPUTE

        def fill(commands: Any) -> None:
            for step, descriptors in zip(steps, sets, strict=True):
                if step.waits:
                    _barrier(commands)
                vk.vkCmdBindPipeline(commands, point, step.pipeline.pipeline)
                vk.vkCmdBindDescriptorSets(
                    commands, point, step.pipeline.layout, 0, 1, [descriptors], 0, None
                )
                vk.vkCmdDispatch(commands, *step.pipeline.grid)
            _barrier(commands)

        try:
            return self._commands(fill, pool, once=once)
        except BaseException:
            vk.vkDestroyDescriptorPool(self._device.handle, pool, None)
            raise

    def replay(self, commands: Commands) -> None:
        """Hand recorded commands to the queue; do not wait."""
        self._submit(commands, once=False)

    def forget(self, commands: Commands) -> None:
        """Destroy recorded commands, when they are done."""
        self.wait()
        self._destroy([commands])

    def copy(
        self, source: Allocation, target: Allocation, regions: list[tuple[int, int, int]]
    ) -> None:
        """Copy (from, to, nbytes) regions and wait."""
        vk = driver()
        copies = [
            vk.VkBufferCopy(srcOffset=start, dstOffset=end, size=nbytes)
            for start, end, nbytes in regions
        ]

        def fill(commands: Any) -> None:
            vk.vkCmdCopyBuffer(commands, source.buffer, target.buffer, len(copies), copies)
            _barrier(commands)

        self._submit(self._commands(fill, None, once=True), once=True)
        self.wait()

    def wait(self) -> None:
        """Wait for all commands and destroy what they used."""
        vk = driver()
        pending, self._pending = self._pending, []
        if not pending:
            return
        fences = [p.fence for p in pending]
        call("vkWaitForFences", self._device.handle, len(fences), fences, True, FOREVER)
        for p in pending:
            vk.vkDestroyFence(self._device.handle, p.fence, None)
        self._destroy([p.commands for p in pending if p.once])

    def _destroy(self, several: Sequence[Commands]) -> None:
        vk = driver()
        if several:
            buffers = [commands.buffer for commands in several]
            vk.vkFreeCommandBuffers(self._device.handle, self._pool, len(buffers), buffers)
        for commands in several:
            if commands.descriptors is not None:
                vk.vkDestroyDescriptorPool(self._device.handle, commands.descriptors, None)

    def _commands(
        self, fill: Callable[[Any], None], descriptors: Any | None, *, once: bool
    ) -> Commands:
        vk = driver()
        info = vk.VkCommandBufferAllocateInfo(
            commandPool=self._pool,
            level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            commandBufferCount=1,
        )
        (commands,) = call("vkAllocateCommandBuffers", self._device.handle, info)
        usage = vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
        if once:
            usage = vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        call("vkBeginCommandBuffer", commands, vk.VkCommandBufferBeginInfo(flags=usage))
        fill(commands)
        call("vkEndCommandBuffer", commands)
        return Commands(buffer=commands, descriptors=descriptors)

    def _submit(self, commands: Commands, *, once: bool) -> None:
        vk = driver()
        if len(self._pending) >= MAX_PENDING:
            self.wait()
        fence_info = vk.VkFenceCreateInfo()
        fence = call("vkCreateFence", self._device.handle, fence_info, None)
        submit = vk.VkSubmitInfo(pCommandBuffers=[commands.buffer])
        call("vkQueueSubmit", self._queue, 1, [submit], fence)
        # Not before: memory that the garbage collector frees in between waits for all of these.
        self._pending.append(Pending(fence=fence, commands=commands, once=once))

    def _descriptor_sets(self, steps: Sequence[Dispatch]) -> tuple[Any, list[Any]]:
        """A pool with one set per launch, whose bindings are the launch's buffers."""
        vk = driver()
        pipelines = [step.pipeline for step in steps]
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        total = sum(len(p.arguments) for p in pipelines)
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=total)
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=len(pipelines), pPoolSizes=[size])
        pool = call("vkCreateDescriptorPool", self._device.handle, pool_info, None)
        layouts = [p.set_layout for p in pipelines]
        info = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts)
        sets = list(call("vkAllocateDescriptorSets", self._device.handle, info))
        for step, descriptors in zip(steps, sets, strict=True):
            bound = [step.buffers[name] for name in step.pipeline.arguments]
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
