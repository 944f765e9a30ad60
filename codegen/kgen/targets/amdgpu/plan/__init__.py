"""From schedule to integers: one file per operation and main loop."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import (
    DirectMatmul,
    FmaMatmul,
    GpuRows,
    GpuStream,
    MmaMatmul,
    PingPongMatmul,
    Schedule,
)
from kgen.spec import Elementwise, Matmul, Rowwise, Spec
from kgen.targets.amdgpu.plan import (
    elementwise,
    matmul_direct,
    matmul_dot,
    matmul_fma,
    matmul_mma,
    matmul_pingpong,
    rowwise,
)
from kgen.targets.amdgpu.plan.base import AmdgpuPlan
from kgen.targets.base import Target


def plan(spec: Spec, target: Target, schedule: Schedule) -> AmdgpuPlan:
    """Raises ScheduleError if the schedule is of the wrong kind or does not fit."""
    match spec, schedule:
        case Matmul(), DirectMatmul():
            return matmul_direct.plan(spec, target, schedule)
        case Matmul(), PingPongMatmul():
            return matmul_pingpong.plan(spec, target, schedule)
        case Matmul(), MmaMatmul() if matmul_dot.is_for(spec, target):
            return matmul_dot.plan(spec, target, schedule)
        case Matmul(), MmaMatmul():
            return matmul_mma.plan(spec, target, schedule)
        case Matmul(), FmaMatmul():
            return matmul_fma.plan(spec, target, schedule)
        case Elementwise(), GpuStream():
            return elementwise.plan(spec, target, schedule)
        case Rowwise(), GpuRows():
            return rowwise.plan(spec, target, schedule)
    raise ScheduleError(
        f"a {schedule.mainloop} schedule ({type(schedule).__name__}) is none that {target.name} "
        f"has for {spec.op}; leave the schedule out to get one that fits"
    )
