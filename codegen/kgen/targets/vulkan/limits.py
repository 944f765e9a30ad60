"""Vulkan targets, their guaranteed limits, and the limits of schedules.

The names of limits and features are Vulkan's own. A kernel within `VULKAN_GUARANTEED` runs on every
conformant device. Further needs are written to the artifact's `requires`, which the runtime checks.
Sources: Vulkan specification 1.3, sections "Limits" and "Feature Requirements"; appendix "Vulkan
Environment for SPIR-V" for the versions.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.targets.base import Target
from kgen_runtime.launch_limits import VULKAN_GUARANTEED

KIB = 1024

#: Upper limits of schedules, which desktop GPUs and software drivers support.
CEILING = {"maxComputeSharedMemorySize": 32 * KIB, "maxComputeWorkGroupInvocations": 1024}

#: Largest tensor in bytes: maxStorageBufferRange is a 32-bit number.
MAX_TENSOR_BYTES = 2**32 - 1

#: Largest trip count of a loop: lavapipe 22.3 leaves it silently after more iterations
#: (LP_MAX_TGSI_LOOP_ITERATIONS of its gallivm). The longest rows use more lanes than every device
#: guarantees instead.
MAX_TURNS = 65535

#: Feature for 16-bit tensors, which no core version before 1.4 guarantees.
STORAGE_16BIT = "storageBuffer16BitAccess"
#: Feature for 8-bit tensors, of Vulkan 1.2.
STORAGE_8BIT = "storageBuffer8BitAccess"
#: Option: four products of bytes and their sum are one instruction.
DOT_PRODUCT = "integer-dot-product"
#: Option: SPIR-V's modes for f16 make the device round as kgen does.
ROUNDS_F16 = "float-controls"
#: Option: lanes of a subgroup of any size read one another's values.
SHUFFLE = "subgroup-shuffle"
#: Option: memory of 16 and 8 bits.
NARROW_STORAGE = "narrow-storage"
#: Option: cooperative matrices of bf16.
BFLOAT16 = "coopmat-bf16"
#: Features that every device with Vulkan 1.3 has.
GUARANTEED_1_3 = (
    "shaderIntegerDotProduct",
    "subgroupSizeControl",
    "computeFullSubgroups",
    "vulkanMemoryModel",
)
#: Options that modules for Vulkan 1.3 use; the artifact has another module for devices that lack
#: one.
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


#: The targets. Their features:
#:
#: - `msl`: the module is translated to Metal Shading Language.
#: - `coopmat`: subgroups multiply cooperative matrices.
#: - `unstaged`: the device is a CPU, where workgroup memory only duplicates cached data.
TARGETS = (
    _target("1.1", (1, 3)),
    _target("1.3", (1, 6), "", *OPTIONS),
    _target("1.3", (1, 6), "+coopmat", *OPTIONS, "coopmat"),
    _target("1.3", (1, 6), "+coopmat+bf16", *OPTIONS, "coopmat", BFLOAT16),
    _target("1.3", (1, 6), "+cpu", *OPTIONS, "unstaged"),
    replace(_target("1.1", (1, 3), "", "msl"), name="metal3"),
)
