"""The Vulkan API: loaded once, every status turned into an error of our tree, devices described.

A trap of the `vulkan` package: a structure that points to others does not keep them alive once it
has been copied into an array, so every structure is held in a local variable until its call.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kgen_runtime.backend import DeviceInfo
from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory

#: The newest version of the API that kernels are built for; a newer device is used as this one.
NEWEST_API = (1, 3)

#: Limits that artifacts' requirements are checked against, as VkPhysicalDeviceLimits names them.
#: Of limits per dimension it is the one that kernels use: the least count, the first size.
LIMITS = (
    "maxComputeSharedMemorySize",
    "maxComputeWorkGroupCount",
    "maxComputeWorkGroupInvocations",
    "maxComputeWorkGroupSize",
    "maxPerStageDescriptorStorageBuffers",
    "maxStorageBufferRange",
)


@cache
def driver() -> Any:
    """The `vulkan` package. Raises DeviceError, in one line, if it or the loader is missing."""
    try:
        import vulkan
    except ImportError:
        raise DeviceError("the package vulkan is missing; pip install vulkan") from None
    except OSError:
        raise DeviceError(
            "no Vulkan loader here (libvulkan.so.1); apt install libvulkan1 mesa-vulkan-drivers"
        ) from None
    return vulkan


def call(function: str, *arguments: Any) -> Any:
    """One call of the API: its result. Raises the DeviceError that fits its status."""
    vk = driver()
    try:
        return getattr(vk, function)(*arguments)
    except vk.VkErrorOutOfDeviceMemory:
        raise OutOfMemory(
            f"vulkan: {function}: out of device memory; free arrays or use less"
        ) from None
    except vk.VkErrorOutOfHostMemory:
        raise OutOfMemory(
            f"vulkan: {function}: out of host memory; free arrays or use less"
        ) from None
    except vk.VkErrorDeviceLost:
        raise DeviceLost(
            f"vulkan: {function}: the device is lost; open it again, or restart the process"
        ) from None
    except (vk.VkError, vk.VkException) as error:
        raise DeviceError(f"vulkan: {function}: {type(error).__name__}") from None


def create_instance() -> Any:
    """A VkInstance; the caller destroys it. Raises DeviceError if there is no driver."""
    vk = driver()
    version = vk.VK_MAKE_VERSION(*NEWEST_API, 0)
    application = vk.VkApplicationInfo(pApplicationName="kgen", apiVersion=version)
    info = vk.VkInstanceCreateInfo(pApplicationInfo=application)
    try:
        return vk.vkCreateInstance(info, None)
    except vk.VkErrorIncompatibleDriver:
        raise DeviceError("no Vulkan driver here; apt install mesa-vulkan-drivers") from None


def physical_devices(instance: Any) -> list[Any]:
    """All devices that speak Vulkan 1.1 or newer. Raises DeviceError if there is none."""
    found = [
        device
        for device in call("vkEnumeratePhysicalDevices", instance)
        if _api_version(device) >= (1, 1)
    ]
    if not found:
        raise DeviceError("no Vulkan driver here; apt install mesa-vulkan-drivers")
    return found


def describe(index: int, device: Any) -> DeviceInfo:
    """`features` are the names of those that kernels may require; `limits` are `LIMITS`."""
    vk = driver()
    properties = vk.vkGetPhysicalDeviceProperties(device)
    software = properties.deviceType == vk.VK_PHYSICAL_DEVICE_TYPE_CPU
    return DeviceInfo(
        backend="vulkan",
        index=index,
        name=properties.deviceName,
        kind="software" if software else "gpu",
        capabilities={
            "api": list(min(_api_version(device), NEWEST_API)),
            "features": storage_features(device),
            "limits": {name: _limit(properties.limits, name) for name in LIMITS},
        },
    )


#: Features for elements of fewer than 32 bits: the bits, and the API that has the feature.
STORAGE_FEATURES = {
    "storageBuffer16BitAccess": (16, (1, 1)),
    "storageBuffer8BitAccess": (8, (1, 2)),
}


def storage_features(device: Any) -> list[str]:
    """Those of `STORAGE_FEATURES` that the device has."""
    vk = driver()
    found = []
    for name, (bits, api) in STORAGE_FEATURES.items():
        if _api_version(device) < api:
            continue
        storage = vk.ffi.new(f"VkPhysicalDevice{bits}BitStorageFeatures *")
        storage.sType = getattr(vk, f"VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_{bits}BIT_STORAGE_FEATURES")
        features = vk.ffi.new("VkPhysicalDeviceFeatures2 *")
        features.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
        features.pNext = storage
        vk.vkGetPhysicalDeviceFeatures2(device, features)
        if getattr(storage, name):
            found.append(name)
    return found


def host_memory_is_device_memory(device: Any) -> bool:
    """Whether mapped memory is as near to the device as any: an integrated GPU or software."""
    vk = driver()
    kind = vk.vkGetPhysicalDeviceProperties(device).deviceType
    return kind in (vk.VK_PHYSICAL_DEVICE_TYPE_CPU, vk.VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)


def compute_queue_family(device: Any) -> int:
    """The index of the first queue family that computes."""
    vk = driver()
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(device)
    for index, family in enumerate(families):
        if family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT:
            return index
    raise DeviceError("the Vulkan device has no queue that computes; choose another device")


def memory_type(device: Any, allowed: int, flags: int) -> int:
    """The index of the first memory type among the bits of `allowed` with all `flags`."""
    properties = driver().vkGetPhysicalDeviceMemoryProperties(device)
    for index in range(properties.memoryTypeCount):
        if allowed >> index & 1 and properties.memoryTypes[index].propertyFlags & flags == flags:
            return index
    raise DeviceError(f"the Vulkan device has no memory with the property flags {flags}")


def _api_version(device: Any) -> tuple[int, int]:
    vk = driver()
    version = vk.vkGetPhysicalDeviceProperties(device).apiVersion
    return (vk.VK_VERSION_MAJOR(version), vk.VK_VERSION_MINOR(version))


def _limit(limits: Any, name: str) -> int:
    value = getattr(limits, name)
    if name == "maxComputeWorkGroupCount":
        return min(int(value[axis]) for axis in range(3))
    return int(value[0] if name == "maxComputeWorkGroupSize" else value)
