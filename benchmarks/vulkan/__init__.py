"""Vulkan kernels beside other libraries."""
