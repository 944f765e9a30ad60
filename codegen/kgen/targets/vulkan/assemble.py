"""A rendered kernel to a SPIR-V module."""

from __future__ import annotations

from kgen.errors import AssembleError
from kgen.targets.base import Artifact, Assembled, Source
from kgen.targets.vulkan.plan.base import VulkanPlan
from kgen.targets.vulkan.spirv import assemble as assemble_spirv
from kgen.targets.vulkan.spirv.usage import workgroup_usage
from kgen_runtime.manifest import Resources


def assemble(source: Source, plan: VulkanPlan) -> Assembled:
    """The module, which drivers compile for their device, and its text to read.

    Raises AssembleError, also for a module whose workgroups are not those that are launched.
    """
    limits = plan.target.limits
    module = assemble_spirv(source.text, (limits["spirv_major"], limits["spirv_minor"]))
    used, block = workgroup_usage(module), plan.launches[0].block
    if used.local_size != block:
        raise AssembleError(
            f"{source.entry_point}: LocalSize {used.local_size} is not its launch's block {block}"
        )
    return Assembled(
        artifacts=(
            Artifact(
                format="spirv",
                extension=plan.extension,
                role="portable",
                data=module,
                requires=plan.requires,
            ),
            Artifact(
                format="spirv-asm",
                extension=f"{plan.extension}asm",
                role="source",
                data=source.text.encode(),
            ),
        ),
        resources=Resources(shared_memory=used.shared_bytes, code_bytes=len(module)),
    )
