"""Plans of AMD kernels: every integer that a template needs, one file per operation and main
loop."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import (
    DirectMatmul,
    FmaMatmul,
    GpuRows,
    GpuStream,
    MmaAttention,
    MmaMatmul,
    PingPongMatmul,
    Schedule,
)
from kgen.spec import Attention, Elementwise, Matmul, Rowwise, Spec
from kgen.targets.amdgpu.plan import elementwise
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan
from kgen.targets.amdgpu.plan.attention import divided_attention, matrix_attention
from kgen.targets.amdgpu.plan.matmul import direct, dot, fma, mma, pingpong
from kgen.targets.amdgpu.plan.rows import rowwise
from kgen.targets.base import Target


def plan(spec: Spec, target: Target, schedule: Schedule) -> AmdgpuPlan:
    """Return the plan of an operation. Raises ScheduleError if the schedule is of the wrong kind or
    does not fit."""
    match spec, schedule:
        case Matmul(), DirectMatmul():
            return direct.plan(spec, target, schedule)
        case Matmul(), PingPongMatmul():
            return pingpong.plan(spec, target, schedule)
        case Matmul(), MmaMatmul() if dot.is_for(spec, target):
            return dot.plan(spec, target, schedule)
        case Matmul(), MmaMatmul():
            return mma.plan(spec, target, schedule)
        case Matmul(), FmaMatmul():
            return fma.plan(spec, target, schedule)
        case Attention(), MmaAttention() if schedule.split_k > 1:
            return divided_attention.plan_divided_attention(spec, target, schedule)
        case Attention(), MmaAttention():
            return matrix_attention.plan_attention(spec, target, schedule)
        case Elementwise(), GpuStream():
            return elementwise.plan(spec, target, schedule)
        case Rowwise(), GpuRows():
            return rowwise.plan(spec, target, schedule)
    raise ScheduleError(
        f"{target.name} does not support mainloop={schedule.mainloop} "
        f"({type(schedule).__name__}) for {spec.op}; leave mainloop out"
    )
