"""Checks of limits that all main loops share. Errors name the field and a value that fits."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule.matmul import GpuMatmul
from kgen.targets.base import Target
from kgen.targets.vulkan.limits import CEILING
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan
from kgen_runtime.launch_limits import VULKAN_GUARANTEED


def check_threads(num_threads: int, target: Target, remedy: str) -> None:
    limit = CEILING["maxComputeWorkGroupInvocations"]
    if num_threads > limit:
        raise ScheduleError(
            f"the schedule has {num_threads} invocations per workgroup; {target.name} allows "
            f"{limit}; try {remedy}"
        )


def check_blocks(blocks: int, field: str, value: int, target: Target) -> None:
    """Check that a dimension of the grid does not exceed the guaranteed limit. Raises
    ScheduleError."""
    limit = VULKAN_GUARANTEED["maxComputeWorkGroupCount"]
    if blocks > limit:
        raise ScheduleError(
            f"{field}={value} needs {blocks} workgroups along one axis of the grid; {target.name} "
            f"allows {limit}; try {field}={value << (-(-blocks // limit) - 1).bit_length()}"
        )


def check_shared(plan: VulkanPlan, field: str) -> None:
    """Check that workgroup memory suffices. Raises ScheduleError, with a smaller value of
    `field`."""
    limit, used = CEILING["maxComputeSharedMemorySize"], plan.shared_bytes
    if used > limit:
        value = getattr(plan.schedule, field)
        # Largest power of two that fits, if memory is proportional to the field; at least 1.
        fitting = 1 << max(0, (limit * value // used).bit_length() - 1)
        raise ScheduleError(
            f"{field}={value} needs {used} B of workgroup memory; {plan.target.name} allows "
            f"{limit}; try {field}={fitting}"
        )


def check_stages(schedule: GpuMatmul) -> None:
    if schedule.num_stages > 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 1 or 2, the K-tiles that fit in workgroup "
            "memory; try num_stages=2"
        )
