"""Capabilities, extensions and variants of modules that multiply cooperative matrices."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.coopmat_types import (
    CAPABILITIES,
    EXTENSION,
    CooperativeTypes,
    Size,
)
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan
from kgen_runtime.values import frozen


@frozen
class CooperativeModule(VulkanPlan):
    """Part of a plan that multiplies matrices of one size. `others` are the plans of the other
    sizes."""

    size: Size
    types: CooperativeTypes
    others: tuple[VulkanPlan, ...] = ()

    @property
    def variants(self) -> tuple[VulkanPlan, ...]:
        return self.others

    @property
    def rounds_f16(self) -> bool:
        return super().rounds_f16 and self.size.rounds_f16

    @property
    def extension(self) -> str:
        return f"{self.size.text}.spv"

    @property
    def memory_model(self) -> str:
        return "Vulkan"

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*super().inputs, "subgroup_id")

    @property
    def capabilities(self) -> tuple[str, ...]:
        own = (*CAPABILITIES, *self.types.capabilities)
        return tuple(dict.fromkeys((*super().capabilities, *own)))

    @property
    def extensions(self) -> tuple[str, ...]:
        return (*super().extensions, EXTENSION, *self.types.extensions)
