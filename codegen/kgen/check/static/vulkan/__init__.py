"""Compilation of SPIR-V by Vulkan drivers, for GPUs that are not present."""
