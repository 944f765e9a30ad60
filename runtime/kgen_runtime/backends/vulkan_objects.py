"""What a Vulkan device holds for kernels: memory and pipelines."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan_driver import (
    STORAGE_FEATURES,
    call,
    compute_queue_family,
    driver,
    memory_type,
)

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import Extent3, Launch


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


class Device:
    """A logical device with one queue. Not safe for threads: the backend holds a lock."""

    def __init__(self, physical: Any, *, features: Collection[str], mapped: bool) -> None:
        """`features`: of `STORAGE_FEATURES`, those to use. `mapped`: buffers are made of memory
        that the host sees."""
        vk = driver()
        self.queue_family = compute_queue_family(physical)
        queue = vk.VkDeviceQueueCreateInfo(
            queueFamilyIndex=self.queue_family, pQueuePriorities=[1.0]
        )
        # Each is held by the next one.
        chain: list[Any] = [None]
        for name in features:
            make = getattr(vk, f"VkPhysicalDevice{STORAGE_FEATURES[name][0]}BitStorageFeatures")
            chain.append(make(pNext=chain[-1], **{name: 1}))
        info = vk.VkDeviceCreateInfo(pNext=chain[-1], pQueueCreateInfos=[queue])
        self._physical = physical
        self._mapped = mapped
        self.handle = call("vkCreateDevice", physical, info, None)

    def destroy(self) -> None:
        """Everything made here must have been destroyed before."""
        driver().vkDestroyDevice(self.handle, None)

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
        buffer = call("vkCreateBuffer", self.handle, buffer_info, None)
        try:
            needs = vk.vkGetBufferMemoryRequirements(self.handle, buffer)
            flags = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
            if mapped:
                flags = (
                    vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                )
            memory_info = vk.VkMemoryAllocateInfo(
                allocationSize=needs.size,
                memoryTypeIndex=memory_type(self._physical, needs.memoryTypeBits, flags),
            )
            memory = call("vkAllocateMemory", self.handle, memory_info, None)
        except BaseException:
            vk.vkDestroyBuffer(self.handle, buffer, None)
            raise
        call("vkBindBufferMemory", self.handle, buffer, memory, 0)
        host = self._map(memory, nbytes) if mapped else None
        return Allocation(buffer=buffer, memory=memory, host=host)

    def _map(self, memory: Any, nbytes: int) -> HostBytes:
        import numpy as np

        return np.frombuffer(call("vkMapMemory", self.handle, memory, 0, nbytes, 0), np.uint8)

    def free(self, allocation: Allocation) -> None:
        vk = driver()
        vk.vkDestroyBuffer(self.handle, allocation.buffer, None)
        vk.vkFreeMemory(self.handle, allocation.memory, None)

    # Pipelines

    def shader_module(self, code: bytes) -> Any:
        info = driver().VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        return call("vkCreateShaderModule", self.handle, info, None)

    def destroy_module(self, module: Any) -> None:
        driver().vkDestroyShaderModule(self.handle, module, None)

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
            set_layout = call("vkCreateDescriptorSetLayout", self.handle, set_info, None)
            undo.callback(vk.vkDestroyDescriptorSetLayout, self.handle, set_layout, None)
            layout_info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=[set_layout])
            layout = call("vkCreatePipelineLayout", self.handle, layout_info, None)
            undo.callback(vk.vkDestroyPipelineLayout, self.handle, layout, None)
            stage = vk.VkPipelineShaderStageCreateInfo(
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=launch.entry_point
            )
            info = vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)
            # One pipeline was asked for; the package returns an array all the same.
            (pipeline,) = call("vkCreateComputePipelines", self.handle, None, 1, info, None)
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
        vk.vkDestroyPipeline(self.handle, pipeline.pipeline, None)
        vk.vkDestroyPipelineLayout(self.handle, pipeline.layout, None)
        vk.vkDestroyDescriptorSetLayout(self.handle, pipeline.set_layout, None)
