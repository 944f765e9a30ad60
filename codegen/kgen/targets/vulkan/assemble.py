"""A rendered kernel to a SPIR-V module."""

from __future__ import annotations

from kgen.targets.base import Artifact, Assembled, Source
from kgen.targets.vulkan.plan.base import VulkanPlan
from kgen.targets.vulkan.spirv import assemble as assemble_spirv
from kgen_runtime.manifest import Resources


def assemble(source: Source, plan: VulkanPlan) -> Assembled:
    """The module, which drivers compile for their device, and its text to read.

    Raises AssembleError.
    """
    limits = plan.target.limits
    module = assemble_spirv(source.text, (limits["spirv_major"], limits["spirv_minor"]))
    return Assembled(
        artifacts=(
            Artifact(
                format="spirv",
                extension="spv",
                role="portable",
                data=module,
                requires=plan.requires,
            ),
            Artifact(
                format="spirv-asm",
                extension="spvasm",
                role="source",
                data=source.text.encode(),
            ),
        ),
        resources=Resources(shared_memory=plan.shared_bytes, code_bytes=len(module)),
    )
