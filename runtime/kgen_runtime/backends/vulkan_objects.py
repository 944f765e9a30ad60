"""What a Vulkan device holds for kernels: memory, pipelines, and commands under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan_driver import call, compute_queue_family, driver, memory_type

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import Extent3, Launch

#: Commands that may be under way before the next one waits for all of them.
MAX_PENDING = 64
#: vkWaitForFences without a time limit, in nanoseconds.
FOREVER = 2**64 - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Allocation:
    """A buffer with memory of its own. `host` is that memory, mapped, where the host may see it."""

    buffer: Any
    memory: Any
    host: HostBytes | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Buffer:
    """A part of an allocation, in bytes."""

    allocation: Allocation
    offset: int
    nbytes: int

    @property
    def host(self) -> HostBytes | None:
        if self.allocation.host is None:
            return None
        return self.allocation.host[self.offset : self.offset + self.nbytes]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pipeline:
    """One launch of a kernel, compiled; the bindings are its arguments in their order."""

    pipeline: Any
    layout: Any
    set_layout: Any
    grid: Extent3
    arguments: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pending:
    """Commands under way, and what to destroy when their fence is signalled."""

    fence: Any
    commands: Any
    descriptors: Any | None


class Device:
    """A logical device with one queue. Not safe for threads: the backend holds a lock."""

    def __init__(self, physical: Any, *, use_16bit: bool, mapped: bool) -> None:
        """`mapped`: buffers are made of memory that the host sees."""
        vk = driver()
        family = compute_queue_family(physical)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=family, pQueuePriorities=[1.0])
        storage = vk.VkPhysicalDevice16BitStorageFeatures(storageBuffer16BitAccess=1)
        info = vk.VkDeviceCreateInfo(
            pNext=storage if use_16bit else None, pQueueCreateInfos=[queue]
        )
        self._physical = physical
        self._mapped = mapped
        self._device = call("vkCreateDevice", physical, info, None)
        self._queue = vk.vkGetDeviceQueue(self._device, family, 0)
        pool = vk.VkCommandPoolCreateInfo(queueFamilyIndex=family)
        self._pool = call("vkCreateCommandPool", self._device, pool, None)
        self._pending: list[Pending] = []

    def destroy(self) -> None:
        """Everything made here must have been destroyed before."""
        vk = driver()
        vk.vkDestroyCommandPool(self._device, self._pool, None)
        vk.vkDestroyDevice(self._device, None)

    # Memory

    def allocate(self, nbytes: int, *, mapped: bool | None = None) -> Allocation:
        """Memory that the device works on, or, if `mapped`, that the host sees."""
        vk = driver()
        mapped = self._mapped if mapped is None else mapped
        usage = (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        buffer_info = vk.VkBufferCreateInfo(size=nbytes, usage=usage)
        buffer = call("vkCreateBuffer", self._device, buffer_info, None)
        try:
            needs = vk.vkGetBufferMemoryRequirements(self._device, buffer)
            flags = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
            if mapped:
                flags = (
                    vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                )
            memory_info = vk.VkMemoryAllocateInfo(
                allocationSize=needs.size,
                memoryTypeIndex=memory_type(self._physical, needs.memoryTypeBits, flags),
            )
            memory = call("vkAllocateMemory", self._device, memory_info, None)
        except BaseException:
            vk.vkDestroyBuffer(self._device, buffer, None)
            raise
        call("vkBindBufferMemory", self._device, buffer, memory, 0)
        host = self._map(memory, nbytes) if mapped else None
        return Allocation(buffer=buffer, memory=memory, host=host)

    def _map(self, memory: Any, nbytes: int) -> HostBytes:
        import numpy as np

        return np.frombuffer(call("vkMapMemory", self._device, memory, 0, nbytes, 0), np.uint8)

    def free(self, allocation: Allocation) -> None:
        vk = driver()
        vk.vkDestroyBuffer(self._device, allocation.buffer, None)
        vk.vkFreeMemory(self._device, allocation.memory, None)

    # Pipelines

    def shader_module(self, code: bytes) -> Any:
        info = driver().VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        return call("vkCreateShaderModule", self._device, info, None)

    def destroy_module(self, module: Any) -> None:
        driver().vkDestroyShaderModule(self._device, module, None)

    def pipeline(self, module: Any, launch: Launch) -> Pipeline:
        vk = driver()
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=binding,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for binding in range(len(launch.arguments))
        ]
        with ExitStack() as undo:
            set_info = vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings)
            set_layout = call("vkCreateDescriptorSetLayout", self._device, set_info, None)
            undo.callback(vk.vkDestroyDescriptorSetLayout, self._device, set_layout, None)
            layout_info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=[set_layout])
            layout = call("vkCreatePipelineLayout", self._device, layout_info, None)
            undo.callback(vk.vkDestroyPipelineLayout, self._device, layout, None)
            stage = vk.VkPipelineShaderStageCreateInfo(
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=launch.entry_point
            )
            info = vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)
            # One pipeline was asked for; the package returns an array all the same.
            (pipeline,) = call("vkCreateComputePipelines", self._device, None, 1, info, None)
            undo.pop_all()
        return Pipeline(
            pipeline=pipeline,
            layout=layout,
            set_layout=set_layout,
            grid=launch.grid,
            arguments=launch.arguments,
        )

    def destroy_pipeline(self, pipeline: Pipeline) -> None:
        vk = driver()
        vk.vkDestroyPipeline(self._device, pipeline.pipeline, None)
        vk.vkDestroyPipelineLayout(self._device, pipeline.layout, None)
        vk.vkDestroyDescriptorSetLayout(self._device, pipeline.set_layout, None)

    # Commands

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
        call("vkWaitForFences", self._device, len(fences), fences, True, FOREVER)
        vk.vkFreeCommandBuffers(
            self._device, self._pool, len(pending), [p.commands for p in pending]
        )
        for p in pending:
            vk.vkDestroyFence(self._device, p.fence, None)
            if p.descriptors is not None:
                vk.vkDestroyDescriptorPool(self._device, p.descriptors, None)

    def _submit(self, record: Callable[[Any], None], descriptors: Any | None) -> None:
        vk = driver()
        if len(self._pending) >= MAX_PENDING:
            self.wait()
        info = vk.VkCommandBufferAllocateInfo(
            commandPool=self._pool,
            level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            commandBufferCount=1,
        )
        (commands,) = call("vkAllocateCommandBuffers", self._device, info)
        begin = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        call("vkBeginCommandBuffer", commands, begin)
        record(commands)
        call("vkEndCommandBuffer", commands)
        fence_info = vk.VkFenceCreateInfo()
        fence = call("vkCreateFence", self._device, fence_info, None)
        self._pending.append(Pending(fence=fence, commands=commands, descriptors=descriptors))
        submit = vk.VkSubmitInfo(pCommandBuffers=[commands])
        call("vkQueueSubmit", self._queue, 1, [submit], fence)

    def _descriptor_sets(
        self, pipelines: tuple[Pipeline, ...], buffers: Mapping[str, Buffer]
    ) -> tuple[Any, list[Any]]:
        """A pool with one set per launch, whose bindings are the launch's buffers."""
        vk = driver()
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        total = sum(len(p.arguments) for p in pipelines)
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=total)
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=len(pipelines), pPoolSizes=[size])
        pool = call("vkCreateDescriptorPool", self._device, pool_info, None)
        layouts = [p.set_layout for p in pipelines]
        info = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts)
        sets = list(call("vkAllocateDescriptorSets", self._device, info))
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
            vk.vkUpdateDescriptorSets(self._device, 1, [write], 0, None)
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
