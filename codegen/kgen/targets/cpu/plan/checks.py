"""Limits of a CPU matmul schedule that hold for every main loop."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target


def check_multiple(schedule: BlockedMatmul, field: str, unit: int, reason: str) -> None:
    value = getattr(schedule, field)
    if value % unit:
        raise ScheduleError(
            f"{field}={value} is not a multiple of {unit}, {reason}; "
            f"try {field}={-(-value // unit) * unit}"
        )


def check_ahead(spec: Matmul, schedule: BlockedMatmul) -> None:
    """Raise ScheduleError if the schedule packs a B that is prepacked."""
    if spec.constant and schedule.pack_b:
        raise ScheduleError("pack_b=1 is not supported for a prepacked B; try pack_b=0")


def check_stack(target: Target, schedule: BlockedMatmul, nbytes: int) -> None:
    """The packing buffers of a task must fit a thread's stack."""
    limit = target.limits["stack_bytes"]
    if nbytes > limit:
        raise ScheduleError(
            f"mc={schedule.mc}, kc={schedule.kc} and nc={schedule.nc} need {nbytes} bytes of "
            f"scratch; {target.name} allows {limit}; try a smaller kc, mc or nc"
        )
