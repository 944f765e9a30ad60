"""Logical Vulkan device and its compute pipelines."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kgen_runtime.backends.vulkan.driver import call, compute_queue_family, driver
from kgen_runtime.backends.vulkan.features import enabling
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.manifest import Extent3, Launch

#: VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, which the package does not define.
REQUIRE_FULL_SUBGROUPS = 0x2


@frozen
class VulkanPipeline:
    """Compiled launch of a kernel; the bindings are its arguments in order."""

    pipeline: Any
    layout: Any
    set_layout: Any
    grid: Extent3
    arguments: tuple[str, ...]


class VulkanDevice:
    """Logical device with one queue. Not thread-safe: the backend holds a lock."""

    #: VkPipelineCreateFlags of every pipeline.
    pipeline_flags = 0

    def __init__(self, physical: Any, features: Collection[str]) -> None:
        """Create a device with these features enabled."""
        vk = driver()
        self.queue_family = compute_queue_family(physical)
        queue = vk.VkDeviceQueueCreateInfo(
            queueFamilyIndex=self.queue_family, pQueuePriorities=[1.0]
        )
        chain, extensions = self.enabled(physical, features)
        info = vk.VkDeviceCreateInfo(
            pNext=chain[-1], pQueueCreateInfos=[queue], ppEnabledExtensionNames=extensions
        )
        self.handle = call("vkCreateDevice", physical, info, None)
        #: VkPipelineCache for new pipelines, or None.
        self.pipeline_cache: Any = None

    def enabled(self, physical: Any, features: Collection[str]) -> tuple[list[Any], list[str]]:
        """Return a chain of structures, to be passed by its last element, and the extensions to
        enable."""
        return enabling(physical, features)

    def destroy(self) -> None:
        """Destroy the device. All its objects must have been destroyed before."""
        driver().vkDestroyDevice(self.handle, None)

    def shader_module(self, code: bytes) -> Any:
        info = driver().VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        return call("vkCreateShaderModule", self.handle, info, None)

    def destroy_module(self, module: Any) -> None:
        driver().vkDestroyShaderModule(self.handle, module, None)

    def pipeline(self, module: Any, launch: Launch, requires: Mapping[str, Any]) -> VulkanPipeline:
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
            subgroup, flags = None, 0
            if (size := requires.get("subgroup_size")) is not None:
                subgroup = vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(
                    requiredSubgroupSize=size
                )
            if size is not None or requires.get("full_subgroups"):
                flags = REQUIRE_FULL_SUBGROUPS
            stage = vk.VkPipelineShaderStageCreateInfo(
                pNext=subgroup,
                flags=flags,
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                module=module,
                pName=launch.entry_point,
            )
            info = vk.VkComputePipelineCreateInfo(
                flags=self.pipeline_flags, stage=stage, layout=layout
            )
            # The package returns an array, even for one pipeline.
            (pipeline,) = call(
                "vkCreateComputePipelines", self.handle, self.pipeline_cache, 1, info, None
            )
            undo.pop_all()
        return VulkanPipeline(
            pipeline=pipeline,
            layout=layout,
            set_layout=set_layout,
            grid=launch.grid,
            arguments=launch.arguments,
        )

    def destroy_pipeline(self, pipeline: VulkanPipeline) -> None:
        vk = driver()
        vk.vkDestroyPipeline(self.handle, pipeline.pipeline, None)
        vk.vkDestroyPipelineLayout(self.handle, pipeline.layout, None)
        vk.vkDestroyDescriptorSetLayout(self.handle, pipeline.set_layout, None)
