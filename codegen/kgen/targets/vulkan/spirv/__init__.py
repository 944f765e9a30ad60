"""SPIR-V assembler in plain Python, from the text that spirv-dis prints to the binary form."""

from kgen.targets.vulkan.spirv.assembler import assemble

__all__ = ["assemble"]
