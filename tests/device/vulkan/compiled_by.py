"""A program: what a driver's compiler makes of kernels, for a GPU that need not be here.

    python -m tests.device.vulkan.compiled_by TARGET

One line of JSON for each kernel: its key, and the numbers that the driver gives
(VK_KHR_pipeline_executable_properties).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import vulkan as vk

from kgen.spec import DType, Matmul, Rowwise, Spec
from kgen_runtime.backends.vulkan import features
from kgen_runtime.backends.vulkan.driver import call, create_instance, physical_devices
from tests.device.vulkan.vulkan_support import build
from tests.specs import relu_of

SPECS: tuple[Spec, ...] = (
    Matmul(m=1024, n=1024, k=1024, dtype=DType.F32),
    Matmul(m=1024, n=1024, k=1024),
    Rowwise(expression="softmax(x)", shapes=((1000, 1000),), dtype=DType.F32),
    relu_of((1000003,), dtype=DType.F32),
)
EXTENSION = "VK_KHR_pipeline_executable_properties"
#: VkPipelineExecutableStatisticFormatKHR, as members of the union that holds a value.
FORMATS = ("b32", "i64", "u64", "f64")


class Compiler:
    """A device that tells what it compiles."""

    def __init__(self) -> None:
        self._instance = create_instance()
        physical = physical_devices(self._instance)[0]
        names = features.capabilities(self._instance, physical)["features"]
        chain, extensions = features.enabling(physical, names)
        tell = vk.ffi.new("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR *")
        tell.sType = (
            vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR
        )
        tell.pipelineExecutableInfo, tell.pNext = 1, chain[-1]
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, pQueuePriorities=[1.0])
        info = vk.VkDeviceCreateInfo(
            pNext=tell, pQueueCreateInfos=[queue], ppEnabledExtensionNames=[*extensions, EXTENSION]
        )
        self._device = call("vkCreateDevice", physical, info, None)

    def statistics(self, module: bytes, entry_point: str, bindings: int) -> dict[str, Any]:
        """The driver's numbers for a module, by their names."""
        pipeline = self._pipeline(module, entry_point, bindings)
        name = "vkGetPipelineExecutableStatisticsKHR"
        address = vk.lib.vkGetDeviceProcAddr(self._device, name.encode())
        query = vk.ffi.cast(f"PFN_{name}", address)
        info = vk.ffi.new("VkPipelineExecutableInfoKHR *")
        info.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR
        info.pipeline = pipeline
        count = vk.ffi.new("uint32_t *")
        query(self._device, info, count, vk.ffi.NULL)
        found = vk.ffi.new("VkPipelineExecutableStatisticKHR[]", count[0])
        for each in found:
            each.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR
        query(self._device, info, count, found)
        return {
            vk.ffi.string(each.name).decode(): getattr(each.value, FORMATS[each.format])
            for each in found
        }

    def _pipeline(self, module: bytes, entry_point: str, bindings: int) -> Any:
        shader_info = vk.VkShaderModuleCreateInfo(codeSize=len(module), pCode=module)
        shader = call("vkCreateShaderModule", self._device, shader_info, None)
        slots = [
            vk.VkDescriptorSetLayoutBinding(
                binding=i,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for i in range(bindings)
        ]
        set_info = vk.VkDescriptorSetLayoutCreateInfo(pBindings=slots)
        set_layout = call("vkCreateDescriptorSetLayout", self._device, set_info, None)
        layout_info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=[set_layout])
        layout = call("vkCreatePipelineLayout", self._device, layout_info, None)
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=shader, pName=entry_point
        )
        capture = vk.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
        info = vk.VkComputePipelineCreateInfo(flags=capture, stage=stage, layout=layout)
        (pipeline,) = call("vkCreateComputePipelines", self._device, None, 1, info, None)
        return pipeline


def main(target: str) -> None:
    compiler = Compiler()
    for spec in SPECS:
        kernel = build(spec, target)
        (launch,) = kernel.plan.launches
        code = kernel.assembled.artifacts[0].data
        found = compiler.statistics(code, launch.entry_point, len(launch.arguments))
        print(json.dumps({"kernel": spec.key, "numbers": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
