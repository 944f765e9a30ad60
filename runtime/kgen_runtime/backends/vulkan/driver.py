"""Vulkan API: loaded once; failed statuses become errors of kgen_runtime; device discovery.

The `vulkan` package does not keep nested structures alive once a structure is copied into an array.
Every structure is therefore held in a local variable until its call. The package's functions check
their arguments slowly; functions that are called for every launch are called in the library itself,
`driver().lib`, with structures that are made once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory

#: Newest API version that kernels are built for; newer devices are used with this version.
NEWEST_API = (1, 3)

#: Limits that artifacts may require, by the names of VkPhysicalDeviceLimits. A limit per dimension
#: is represented by the dimension that kernels use: the smallest count, the first size.
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
    """Return the `vulkan` package. Raises DeviceError with a one-line message if it or the loader
    is missing."""
    try:
        import vulkan
    except ImportError:
        raise DeviceError("the package vulkan is missing; pip install vulkan") from None
    except OSError:
        raise DeviceError(
            "no Vulkan loader on this machine (libvulkan.so.1); apt install libvulkan1 "
            "mesa-vulkan-drivers"
        ) from None
    return vulkan


def call(function: str, *arguments: Any) -> Any:
    """Call a function of Vulkan and return its result. Raises the DeviceError for its status."""
    vk = driver()
    try:
        return getattr(vk, function)(*arguments)
    except (vk.VkError, vk.VkException) as error:
        raise _error(function, error) from None


def check(function: str, status: int) -> None:
    """Raise the DeviceError for the status of a call that was made without the package's
    wrapper."""
    if status != 0:
        raise _error(function, driver().exception_codes[status]())


def _error(function: str, error: Exception) -> DeviceError:
    vk = driver()
    if isinstance(error, vk.VkErrorOutOfDeviceMemory):
        return OutOfMemory(
            f"vulkan: {function}: out of device memory; free arrays or use smaller shapes"
        )
    if isinstance(error, vk.VkErrorOutOfHostMemory):
        return OutOfMemory(
            f"vulkan: {function}: out of host memory; free arrays or use smaller shapes"
        )
    if isinstance(error, vk.VkErrorDeviceLost):
        return DeviceLost("vulkan: the device is lost; open it again, or restart the process")
    return DeviceError(f"vulkan: {function}: {type(error).__name__}")


def create_instance() -> Any:
    """Create a VkInstance, which the caller destroys. Raises DeviceError if there is no driver."""
    vk = driver()
    version = vk.VK_MAKE_VERSION(*NEWEST_API, 0)
    application = vk.VkApplicationInfo(pApplicationName="kgen", apiVersion=version)
    info = vk.VkInstanceCreateInfo(pApplicationInfo=application)
    try:
        return vk.vkCreateInstance(info, None)
    except vk.VkErrorIncompatibleDriver:
        raise DeviceError(
            "no Vulkan driver on this machine; apt install mesa-vulkan-drivers"
        ) from None
    except (vk.VkError, vk.VkException) as error:
        raise _error("vkCreateInstance", error) from None


def physical_devices(instance: Any) -> list[Any]:
    """Return the devices with Vulkan 1.1 or newer. Raises DeviceError if there is none."""
    found = [
        device
        for device in call("vkEnumeratePhysicalDevices", instance)
        if api_version(device) >= (1, 1)
    ]
    if not found:
        raise DeviceError("no Vulkan driver on this machine; apt install mesa-vulkan-drivers")
    return found


def host_memory_is_device_memory(device: Any) -> bool:
    """Return whether host-visible memory is as fast as device memory: on an integrated GPU or in
    software."""
    vk = driver()
    kind = vk.vkGetPhysicalDeviceProperties(device).deviceType
    return kind in (vk.VK_PHYSICAL_DEVICE_TYPE_CPU, vk.VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)


def compute_queue_family(device: Any) -> int:
    """Return the index of the first queue family with compute support. Raises DeviceError if there
    is none."""
    vk = driver()
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(device)
    for index, family in enumerate(families):
        if family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT:
            return index
    raise DeviceError("the Vulkan device has no compute queue; choose another device")


def api_version(device: Any) -> tuple[int, int]:
    vk = driver()
    version = vk.vkGetPhysicalDeviceProperties(device).apiVersion
    return (vk.VK_VERSION_MAJOR(version), vk.VK_VERSION_MINOR(version))


def limits(device: Any) -> dict[str, int]:
    """Return the values of `LIMITS` for a device."""
    found = driver().vkGetPhysicalDeviceProperties(device).limits
    return {name: _limit(found, name) for name in LIMITS}


def _limit(limits: Any, name: str) -> int:
    value = getattr(limits, name)
    if name == "maxComputeWorkGroupCount":
        return min(int(value[axis]) for axis in range(3))
    return int(value[0] if name == "maxComputeWorkGroupSize" else value)
