"""The Vulkan API: loaded once, every status turned into an error of our tree, devices found.

A trap of the `vulkan` package: a structure that points to others does not keep them alive once it
has been copied into an array, so every structure is held in a local variable until its call. Its
functions take some 10 us each to look at their arguments; what is called for every launch goes to
the library itself, `driver().lib`, with structures that are made once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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
            "no Vulkan loader on this machine (libvulkan.so.1); apt install libvulkan1 "
            "mesa-vulkan-drivers"
        ) from None
    return vulkan


def call(function: str, *arguments: Any) -> Any:
    """Call a function of Vulkan and return its result. Raises the DeviceError that fits its
    status."""
    vk = driver()
    try:
        return getattr(vk, function)(*arguments)
    except (vk.VkError, vk.VkException) as error:
        raise _error(function, error) from None


def check(function: str, status: int) -> None:
    """Raises the DeviceError that fits what a call without the package's help gave."""
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
    """A VkInstance; the caller destroys it. Raises DeviceError if there is no driver."""
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
    raise DeviceError("the Vulkan device has no compute queue; choose another device")


def api_version(device: Any) -> tuple[int, int]:
    vk = driver()
    version = vk.vkGetPhysicalDeviceProperties(device).apiVersion
    return (vk.VK_VERSION_MAJOR(version), vk.VK_VERSION_MINOR(version))


def limits(device: Any) -> dict[str, int]:
    """`LIMITS` of a device."""
    found = driver().vkGetPhysicalDeviceProperties(device).limits
    return {name: _limit(found, name) for name in LIMITS}


def _limit(limits: Any, name: str) -> int:
    value = getattr(limits, name)
    if name == "maxComputeWorkGroupCount":
        return min(int(value[axis]) for axis in range(3))
    return int(value[0] if name == "maxComputeWorkGroupSize" else value)
