"""Vulkan plans and their text, for tests; with any fields of the schedule."""

from __future__ import annotations

from kgen import pipeline, targets
from kgen.spec import Matmul, Spec
from kgen.targets.base import Target
from kgen.targets.vulkan.plan.matmul.fma import FmaPlan
from kgen.targets.vulkan.plan.matmul.matmul_plan import MatmulPlan
from kgen.targets.vulkan.plan.matmul.unstaged import UnstagedPlan
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan

FAMILY = targets.family("vulkan")
VULKAN11, VULKAN13, VULKAN_COOPMAT, VULKAN_BF16, VULKAN_CPU, *_ = FAMILY.targets


def plan(spec: Spec, **overrides: int) -> VulkanPlan:
    schedule = pipeline.schedule_for(spec, VULKAN13, overrides)
    found = pipeline.plan(spec, VULKAN13, schedule)
    assert isinstance(found, VulkanPlan)
    return found


def matmul_plan(spec: Matmul, **overrides: int) -> MatmulPlan:
    found = plan(spec, **overrides)
    assert isinstance(found, MatmulPlan)
    return found


def fma_plan(spec: Matmul, **overrides: int) -> FmaPlan:
    found = plan(spec, **overrides)
    assert isinstance(found, FmaPlan)
    return found


def unstaged_plan(spec: Matmul, target: Target = VULKAN13) -> UnstagedPlan:
    """Return the plan of the heuristic schedule."""
    found = pipeline.plan(spec, target)
    assert isinstance(found, UnstagedPlan)
    return found


def text(spec: Spec, **overrides: int) -> str:
    return pipeline.source(plan(spec, **overrides)).text
