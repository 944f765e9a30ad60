"""Plans: one module per operation and main loop."""

from __future__ import annotations

from dataclasses import replace

from kgen.errors import TargetError
from kgen.schedule import (
    CooperativeAttention,
    CooperativeMatmul,
    FmaMatmul,
    GpuRows,
    GpuStream,
    Schedule,
    UnstagedAttention,
    UnstagedMatmul,
)
from kgen.spec import Attention, DType, Elementwise, Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.rows.split import is_interleaved
from kgen.targets.vulkan.limits import NARROW_STORAGE, OPTIONS
from kgen.targets.vulkan.plan.attention.coopmat_attention import (
    CooperativeAttentionPlan,
    plan_cooperative_attention,
)
from kgen.targets.vulkan.plan.attention.unstaged_attention import plan_attention
from kgen.targets.vulkan.plan.elementwise import plan_elementwise
from kgen.targets.vulkan.plan.matmul.coopmat import CooperativePlan, plan_cooperative
from kgen.targets.vulkan.plan.matmul.dot import plan_dot
from kgen.targets.vulkan.plan.matmul.fma import plan_fma
from kgen.targets.vulkan.plan.matmul.unstaged import plan_unstaged
from kgen.targets.vulkan.plan.rows.interleaved import InterleavedPlan
from kgen.targets.vulkan.plan.rows.rowwise import RowwisePlan, plan_rowwise
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan


def plan(spec: Spec, target: Target, schedule: Schedule) -> VulkanPlan:
    """Return the plan of an operation with its fallbacks.

    Fallbacks are the plan for devices that lack the target's options, and the plan for devices that
    also lack memory of 16 and 8 bits. Raises ScheduleError if the schedule does not fit.
    """

    def fallback(name: str, *options: str) -> VulkanPlan:
        less = replace(target, features=target.features - {*options})
        return replace(_plan(spec, less, schedule), fallback_name=name)

    found = _plan(spec, target, schedule)
    if isinstance(found, CooperativePlan | CooperativeAttentionPlan):
        return found  # devices with cooperative matrices support all that it needs
    fallbacks = []
    if found.uses_options:
        fallbacks.append(fallback("plain", *OPTIONS))
    if found.narrow and not target.has("msl"):
        fallbacks.append(fallback("words", *OPTIONS, NARROW_STORAGE))
    return replace(found, fallbacks=tuple(fallbacks))


def _plan(spec: Spec, target: Target, schedule: Schedule) -> VulkanPlan:
    match spec, schedule:
        case Matmul(), CooperativeMatmul():
            return plan_cooperative(spec, target, schedule)
        case Matmul(), UnstagedMatmul() if spec.dtype is not DType.S8:
            return plan_unstaged(spec, target, schedule)
        case Matmul(dtype=DType.S8), FmaMatmul():
            return plan_dot(spec, target, schedule)
        case Matmul(), FmaMatmul():
            return plan_fma(spec, target, schedule)
        case Attention(), CooperativeAttention():
            return plan_cooperative_attention(spec, target, schedule)
        case Attention(), UnstagedAttention():
            return plan_attention(spec, target, schedule)
        case Elementwise(), GpuStream():
            return plan_elementwise(spec, target, schedule)
        case Rowwise(), GpuRows():
            beside = is_interleaved(spec) and schedule.shares_block
            kind = InterleavedPlan if beside else RowwisePlan
            return plan_rowwise(spec, target, schedule, kind)
    raise TargetError(
        f"mainloop={schedule.mainloop} is not supported by {target.name} for {spec.op}; "
        "leave mainloop out"
    )
