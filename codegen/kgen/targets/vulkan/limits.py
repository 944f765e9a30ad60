"""The Vulkan targets, what every device of theirs has, and how far schedules may go beyond it.

The names of limits and features are Vulkan's own. A kernel that stays inside `VULKAN_GUARANTEED`
runs on every conformant device; what is beyond it is written to the artifact's `requires`, and the
runtime checks it. Sources: Vulkan specification 1.3, sections "Limits" and "Feature Requirements";
appendix "Vulkan Environment for SPIR-V" for the versions.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.targets.base import Target
from kgen_runtime.launch_limits import VULKAN_GUARANTEED

KIB = 1024

#: The most that a schedule may ask for: what desktop GPUs and software drivers have in common.
CEILING = {
    "maxComputeSharedMemorySize": 32 * KIB,
    "maxComputeWorkGroupInvocations": 1024,
}

#: maxStorageBufferRange is a 32-bit number, so no device binds more than this to one tensor.
MAX_TENSOR_BYTES = 2**32 - 1

#: The feature that 16-bit tensors need; no core version before 1.4 guarantees it.
STORAGE_16BIT = "storageBuffer16BitAccess"
#: That of 8-bit tensors, of Vulkan 1.2.
STORAGE_8BIT = "storageBuffer8BitAccess"
#: Four products of bytes and their sum are an instruction.
DOT_PRODUCT = "integer-dot-product"
#: Devices may round floats of 16 bits as kgen does: SPIR-V has modes for it.
ROUNDS_F16 = "float-controls"
#: Lanes of a subgroup, of any size, read one another's numbers.
SHUFFLE = "subgroup-shuffle"
#: Devices may have memory of 16 and 8 bits.
NARROW_STORAGE = "narrow-storage"
#: Cooperative matrices of bf16.
BFLOAT16 = "coopmat-bf16"
#: Features that every device with Vulkan 1.3 has.
GUARANTEED_1_3 = (
    "shaderIntegerDotProduct",
    "subgroupSizeControl",
    "computeFullSubgroups",
    "vulkanMemoryModel",
)
#: What modules for Vulkan 1.3 make use of, each with another module for devices that lack it.
OPTIONS = (DOT_PRODUCT, ROUNDS_F16, SHUFFLE)


def _target(api: str, spirv: tuple[int, int], suffix: str = "", *words: str) -> Target:
    # SPIR-V 1.4 and later list every global variable in the entry point's interface.
    lists_all = ("interface-lists-all",) if spirv >= (1, 4) else ()
    return Target(
        name=f"vulkan{api}{suffix}",
        family="vulkan",
        arch=f"spirv{spirv[0]}.{spirv[1]}",
        features=frozenset((*lists_all, NARROW_STORAGE, *words)),
        limits={
            "api_major": int(api[0]),
            "api_minor": int(api[2]),
            "spirv_major": spirv[0],
            "spirv_minor": spirv[1],
            **VULKAN_GUARANTEED,
        },
    )


#: `msl`: the module is translated to Metal Shading Language.
#: `coopmat`: the device's subgroups multiply matrices.
#: `unstaged`: the device is a CPU, on which workgroup memory is a copy of what its cache holds.
TARGETS = (
    _target("1.1", (1, 3)),
    _target("1.3", (1, 6), "", *OPTIONS),
    _target("1.3", (1, 6), "+coopmat", *OPTIONS, "coopmat"),
    _target("1.3", (1, 6), "+coopmat+bf16", *OPTIONS, "coopmat", BFLOAT16),
    _target("1.3", (1, 6), "+cpu", *OPTIONS, "unstaged"),
    replace(_target("1.1", (1, 3), "", "msl"), name="metal3"),
)
