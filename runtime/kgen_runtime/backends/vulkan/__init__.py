"""Backend of Vulkan devices. The class is in `backend`."""

from kgen_runtime.backends.vulkan.backend import VulkanBackend as VulkanBackend
