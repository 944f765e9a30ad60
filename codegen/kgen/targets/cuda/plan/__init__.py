"""Plans: every derived integer of a kernel, one file per (operation, main loop)."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import (
    FmaMatmul,
    GemvMatmul,
    GpuRelu,
    GpuSoftmax,
    MmaMatmul,
    Schedule,
    SplitFmaMatmul,
    SplitMatmul,
    WgmmaMatmul,
)
from kgen.spec import Elementwise, Matmul, Relu, Softmax, Spec
from kgen.targets.base import Target
from kgen.targets.cuda.plan.base import CudaPlan
from kgen.targets.cuda.plan.elementwise import plan_elementwise
from kgen.targets.cuda.plan.gather import gathers
from kgen.targets.cuda.plan.matmul_fma import plan_fma
from kgen.targets.cuda.plan.matmul_gemv import plan_gemv
from kgen.targets.cuda.plan.matmul_mma import plan_mma
from kgen.targets.cuda.plan.matmul_wgmma import plan_wgmma
from kgen.targets.cuda.plan.relu import plan_relu
from kgen.targets.cuda.plan.softmax import plan_softmax
from kgen.targets.cuda.plan.split import plan_gathered, plan_split

__all__ = ["CudaPlan", "plan"]


def plan(spec: Spec, target: Target, schedule: Schedule) -> CudaPlan:
    """The plan of any operation. Raises ScheduleError if the schedule does not fit."""
    match spec, schedule:
        case Matmul(), SplitMatmul() | SplitFmaMatmul() | WgmmaMatmul() if schedule.split_k > 1:
            parts = plan_gathered if gathers(schedule) else plan_split
            return parts(spec, target, schedule)
        case Matmul(), MmaMatmul():
            return plan_mma(spec, target, schedule)
        case Matmul(), WgmmaMatmul():
            return plan_wgmma(spec, target, schedule)
        case Matmul(), GemvMatmul():
            return plan_gemv(spec, target, schedule)
        case Matmul(), FmaMatmul():
            return plan_fma(spec, target, schedule)
        case Relu(), GpuRelu():
            return plan_relu(spec, target, schedule)
        case Elementwise(), GpuRelu():
            return plan_elementwise(spec, target, schedule)
        case Softmax(), GpuSoftmax():
            return plan_softmax(spec, target, schedule)
    raise ScheduleError(
        f"mainloop={schedule.mainloop} is none of {target.name}'s for {spec.op}; "
        "leave the schedule to the heuristic"
    )
