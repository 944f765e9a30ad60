"""Vulkan devices. The backend is in `backend`; each other file is one part of a device."""

from kgen_runtime.backends.vulkan.backend import VulkanBackend as VulkanBackend
