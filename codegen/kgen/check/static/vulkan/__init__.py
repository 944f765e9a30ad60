"""What the compilers of Vulkan drivers make of our SPIR-V, for GPUs that are not here."""
