"""Program that compiles a kernel with a Vulkan driver, for a GPU that need not be present.

    python -m kgen.check.static.vulkan.compiler < REQUEST

Input and output are one JSON object each. A request has the kernel's `launches` and its
`artifacts`, of which the one is compiled that the runtime would choose on this device. The answer
has the device's name, the driver's version, and for each launch the driver's numbers and texts
(VK_KHR_pipeline_executable_properties), or the `reason` why there are none.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Collection, Mapping
from typing import Any

from kgen_runtime.backends.vulkan import features, requirements
from kgen_runtime.backends.vulkan.driver import (
    NEWEST_API,
    api_version,
    check,
    create_instance,
    driver,
    limits,
    physical_devices,
)
from kgen_runtime.backends.vulkan.features import enabling, extensions
from kgen_runtime.backends.vulkan.pipelines import VulkanDevice
from kgen_runtime.errors import DeviceError
from kgen_runtime.manifest import ArtifactEntry, Launch

EXTENSION = "VK_KHR_pipeline_executable_properties"
#: VkPipelineExecutableStatisticFormatKHR, as members of the union that holds a value.
FORMATS = ("b32", "i64", "u64", "f64")


class Compiler(VulkanDevice):
    """Vulkan device that reports on its compiled pipelines."""

    #: VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR and ..._INTERNAL_REPRESENTATIONS_BIT_KHR.
    pipeline_flags = 0x40 | 0x80

    def enabled(self, physical: Any, features: Collection[str]) -> tuple[list[Any], list[str]]:
        if EXTENSION not in extensions(physical):
            raise DeviceError(
                f"its driver has no {EXTENSION}, which reports registers and spills; upgrade it"
            )
        chain, names = enabling(physical, features)
        vk = driver()
        tell = vk.ffi.new("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR *")
        tell.sType = (
            vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR
        )
        tell.pipelineExecutableInfo, tell.pNext = 1, chain[-1]
        return [*chain, tell], [*names, EXTENSION]

    def compiled(self, code: bytes, launch: Launch, requires: Mapping[str, Any]) -> dict[str, Any]:
        """Return the driver's numbers and texts for a launch, by their names."""
        pipeline = self.pipeline(self.shader_module(code), launch, requires).pipeline
        statistics = self._told(pipeline, "Statistic", "Statistics")
        texts = self._told(pipeline, "InternalRepresentation", "InternalRepresentations")
        string = driver().ffi.string
        return {
            "numbers": {
                string(each.name).decode(): getattr(each.value, FORMATS[each.format])
                for each in statistics
            },
            "texts": {
                string(each.name).decode(): string(driver().ffi.cast("char *", each.pData)).decode()
                for each in texts
                if each.isText
            },
        }

    def _told(self, pipeline: Any, one: str, several: str) -> Any:
        """Return the array that a query of the extension fills."""
        vk = driver()
        name = f"vkGetPipelineExecutable{several}KHR"
        query = vk.ffi.cast(f"PFN_{name}", vk.lib.vkGetDeviceProcAddr(self.handle, name.encode()))
        info = vk.ffi.new("VkPipelineExecutableInfoKHR *")
        info.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR
        info.pipeline = pipeline
        count = vk.ffi.new("uint32_t *")
        check(name, query(self.handle, info, count, vk.ffi.NULL))
        found = vk.ffi.new(f"VkPipelineExecutable{one}KHR[]", count[0])
        kind = getattr(vk, f"VkPipelineExecutable{one}KHR")().sType
        for each in found:
            each.sType = kind
        check(name, query(self.handle, info, count, found))
        if one == "InternalRepresentation":
            # The sizes are known now; allocate memory for each text.
            self._texts = [vk.ffi.new("char[]", each.dataSize + 1) for each in found]
            for each, memory in zip(found, self._texts, strict=True):
                each.pData = memory
            check(name, query(self.handle, info, count, found))
        return found


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    instance = create_instance()
    physical = physical_devices(instance)[0]
    properties = driver().vkGetPhysicalDeviceProperties(physical)
    version = properties.driverVersion
    told = {
        "device": properties.deviceName,
        # Mesa packs its version as Vulkan packs that of the API.
        "version": ".".join(
            str(n) for n in (version >> 22, version >> 12 & 0x3FF, version & 0xFFF)
        ),
    }
    capabilities = {
        "api": list(min(api_version(physical), NEWEST_API)),
        "limits": limits(physical),
        **features.capabilities(instance, physical),
    }
    refusal = "there is no code for it"
    for each in request["artifacts"]:
        artifact = ArtifactEntry(
            file="", format="spirv", role="portable", sha256="", nbytes=0, requires=each["requires"]
        )
        reason = requirements.refusal(artifact, capabilities)
        if reason is None:
            break
        refusal = reason
    else:
        return {**told, "reason": refusal}
    compiler = Compiler(physical, capabilities["features"])
    code = base64.b64decode(each["code"])
    launches = []
    for fields in request["launches"]:
        launch = Launch(
            entry_point=fields["entry_point"],
            grid=tuple(fields["grid"]),
            block=tuple(fields["block"]),
            arguments=tuple(fields["arguments"]),
        )
        launches.append(compiler.compiled(code, launch, artifact.requires))
    return {**told, "launches": launches}


if __name__ == "__main__":
    try:
        print(json.dumps(answer(json.load(sys.stdin))))
    except DeviceError as error:
        sys.exit(str(error))
