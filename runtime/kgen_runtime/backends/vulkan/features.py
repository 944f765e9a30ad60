"""Optional features, cooperative matrices and subgroup sizes of Vulkan devices: query and
enabling."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from kgen_runtime.backends.vulkan.driver import api_version, call, check, driver
from kgen_runtime.values import frozen


@frozen
class Features:
    """Feature structure of the Vulkan API and its members that kernels may require.

    The structure exists since version `api`, and only if `extension` is enabled (unless None).
    `type` is the VkStructureType of a structure that the `vulkan` package does not declare.
    """

    structure: str
    names: tuple[str, ...]
    api: tuple[int, int]
    extension: str | None = None
    type: int | None = None


COOPERATIVE_MATRIX = "VK_KHR_cooperative_matrix"
FEATURES = (
    Features(structure="16BitStorageFeatures", names=("storageBuffer16BitAccess",), api=(1, 1)),
    Features(structure="8BitStorageFeatures", names=("storageBuffer8BitAccess",), api=(1, 2)),
    Features(
        structure="ShaderFloat16Int8Features", names=("shaderFloat16", "shaderInt8"), api=(1, 2)
    ),
    Features(
        structure="VulkanMemoryModelFeatures",
        names=("vulkanMemoryModel", "vulkanMemoryModelDeviceScope"),
        api=(1, 2),
    ),
    Features(
        structure="SubgroupSizeControlFeatures",
        names=("subgroupSizeControl", "computeFullSubgroups"),
        api=(1, 3),
    ),
    Features(
        structure="ShaderIntegerDotProductFeatures", names=("shaderIntegerDotProduct",), api=(1, 3)
    ),
    Features(
        structure="CooperativeMatrixFeaturesKHR",
        names=("cooperativeMatrix",),
        api=(1, 1),
        extension=COOPERATIVE_MATRIX,
    ),
    Features(
        structure="ShaderBfloat16FeaturesKHR",
        names=("shaderBFloat16Type", "shaderBFloat16DotProduct", "shaderBFloat16CooperativeMatrix"),
        api=(1, 1),
        extension="VK_KHR_shader_bfloat16",
        type=1000141000,
    ),
)
#: Features of every version, members of VkPhysicalDeviceFeatures.
PLAIN = ("shaderInt16", "shaderInt64")
#: Properties that a kernel may require; they need not be enabled.
FLOAT_CONTROLS = (
    "shaderDenormPreserveFloat16",
    "shaderRoundingModeRTEFloat16",
    "shaderSignedZeroInfNanPreserveFloat16",
    "shaderSignedZeroInfNanPreserveFloat32",
)
#: Subgroup operations that a kernel may require, with their flags.
SUBGROUP = {
    "subgroupBasic": "VK_SUBGROUP_FEATURE_BASIC_BIT",
    "subgroupArithmetic": "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",
    "subgroupShuffle": "VK_SUBGROUP_FEATURE_SHUFFLE_BIT",
    "subgroupShuffleRelative": "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT",
}
#: Names of VkComponentTypeKHR in kgen.
COMPONENTS = {
    0: "f16",
    1: "f32",
    3: "s8",
    5: "s32",
    7: "u8",
    9: "u32",
    1000141000: "bf16",
    1000491002: "f8e4m3",
    1000491003: "f8e5m2",
}
DEVICE_TYPES = ("other", "integrated", "discrete", "virtual", "cpu")


def capabilities(instance: Any, device: Any) -> dict[str, Any]:
    """Return the capabilities of a device, without API version and limits."""
    vk = driver()
    properties = vk.vkGetPhysicalDeviceProperties(device)
    return {
        "device_type": DEVICE_TYPES[properties.deviceType],
        "features": [*_features(device), *_properties(device)],
        "subgroup_sizes": list(_subgroup_sizes(device)),
        "cooperative_matrices": _cooperative_matrices(instance, device),
    }


def enabling(device: Any, names: Collection[str]) -> tuple[list[Any], list[str]]:
    """Return a chain of structures that enables these features, to be passed by its last element,
    and the extensions that they need. The caller keeps the chain alive until the device is created.
    """
    wanted = [f for f in FEATURES if {*f.names} & {*names}]
    chain = _chain(wanted)
    for name in names:
        structure = _holder(wanted, chain, name)
        if structure is not None:
            setattr(structure, name, 1)
    return chain, [f.extension for f in wanted if f.extension is not None]


def _features(device: Any) -> list[str]:
    offered = extensions(device)
    here = [
        f
        for f in FEATURES
        if api_version(device) >= f.api and (f.extension is None or f.extension in offered)
    ]
    chain = _chain(here)
    driver().vkGetPhysicalDeviceFeatures2(device, chain[-1])
    names = [*(name for f in here for name in f.names), *PLAIN]
    return [name for name in names if getattr(_holder(here, chain, name), name)]


def _chain(wanted: Sequence[Features]) -> list[Any]:
    """Return one structure per set of features, then VkPhysicalDeviceFeatures2; each points to the
    previous one."""
    chain = [_structure(f.structure) if f.type is None else _unknown(f) for f in wanted]
    chain.append(_structure("Features2"))
    for earlier, later in pairwise(chain):
        later.pNext = earlier
    return chain


def _holder(wanted: Sequence[Features], chain: Sequence[Any], name: str) -> Any:
    """Return the structure of a chain that has this member; None if the chain has none."""
    if name in PLAIN:
        return chain[-1].features
    return next((s for f, s in zip(wanted, chain, strict=False) if name in f.names), None)


def _structure(name: str) -> Any:
    """Return a structure about physical devices that is zero except for its type."""
    vk = driver()
    made = vk.ffi.new(f"VkPhysicalDevice{name} *")
    made.sType = getattr(vk, f"VkPhysicalDevice{name}")().sType
    return made


def _unknown(features: Features) -> Any:
    """Return a structure that the `vulkan` package does not declare: sType, pNext, then the
    members."""
    # The package is built with cffi, but its own declarations cannot be extended.
    ffi = import_module("cffi").FFI()
    members = "".join(f"uint32_t {name};" for name in features.names)
    ffi.cdef(f"typedef struct {{ int sType; void *pNext; {members} }} Unknown;")
    made = ffi.new("Unknown *")
    made.sType = features.type
    return made


def extensions(device: Any) -> set[str]:
    """Return the names of the extensions that the device supports."""
    offered = call("vkEnumerateDeviceExtensionProperties", device, None)
    return {extension.extensionName for extension in offered}


def _query(device: Any, name: str) -> Any:
    """Query a structure of properties."""
    found, properties = _structure(name), _structure("Properties2")
    properties.pNext = found
    driver().vkGetPhysicalDeviceProperties2(device, properties)
    return found


def _properties(device: Any) -> list[str]:
    vk = driver()
    found: list[str] = []
    if api_version(device) >= (1, 2):
        controls = _query(device, "FloatControlsProperties")
        # If float widths are not independent, a mode cannot be set for one width alone.
        modes = (controls.denormBehaviorIndependence, controls.roundingModeIndependence)
        if vk.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE not in modes:
            found += [name for name in FLOAT_CONTROLS if getattr(controls, name)]
    subgroup = _query(device, "SubgroupProperties")
    if subgroup.supportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        bits = subgroup.supportedOperations
        found += [name for name, bit in SUBGROUP.items() if bits & getattr(vk, bit)]
    return found


def _subgroup_sizes(device: Any) -> tuple[int, int]:
    """Return the smallest and the largest subgroup size."""
    if api_version(device) < (1, 3):
        size = int(_query(device, "SubgroupProperties").subgroupSize)
        return size, size
    found = _query(device, "SubgroupSizeControlProperties")
    return int(found.minSubgroupSize), int(found.maxSubgroupSize)


def _cooperative_matrices(instance: Any, device: Any) -> list[dict[str, Any]]:
    """Return the cooperative matrix products that a subgroup supports, by shape and types."""
    vk = driver()
    if COOPERATIVE_MATRIX not in extensions(device):
        return []
    # The package has this call, but does not set the type of its structures.
    name = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
    query = vk.ffi.cast(f"PFN_{name}", vk.lib.vkGetInstanceProcAddr(instance, name.encode()))
    count = vk.ffi.new("uint32_t *")
    check(name, query(device, count, vk.ffi.NULL))
    products = vk.ffi.new("VkCooperativeMatrixPropertiesKHR[]", count[0])
    for product in products:
        product.sType = vk.VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
    check(name, query(device, count, products))
    found = []
    for each in products:
        types = [COMPONENTS.get(getattr(each, f"{x}Type")) for x in ("A", "B", "C", "Result")]
        if each.scope != vk.VK_SCOPE_SUBGROUP_KHR or None in types or each.saturatingAccumulation:
            continue
        shape = {"m": each.MSize, "n": each.NSize, "k": each.KSize}
        found.append(shape | dict(zip(("a", "b", "c", "result"), types, strict=True)))
    return found
