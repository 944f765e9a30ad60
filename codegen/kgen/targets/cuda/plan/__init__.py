"""Plans: every derived integer of a kernel, one file per (operation, main loop)."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import (
    FmaMatmul,
    GemvMatmul,
    GpuRows,
    GpuStream,
    MmaAttention,
    MmaMatmul,
    Schedule,
    SplitFmaMatmul,
    SplitMatmul,
    WgmmaAttention,
    WgmmaMatmul,
)
from kgen.spec import Attention, Elementwise, Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.batch import refuse_batch_dims
from kgen.targets.cuda.plan.cuda_plan import CudaPlan
from kgen.targets.cuda.plan.reduction.last_arriving import is_last_arriving

__all__ = ["CudaPlan", "plan"]


def plan(spec: Spec, target: Target, schedule: Schedule) -> CudaPlan:
    """Return the plan of an operation. Raises ScheduleError if the schedule does not fit.

    The modules of a main loop are imported when it is first planned, because there are many.
    """
    match spec, schedule:
        case Matmul(), SplitMatmul() | SplitFmaMatmul() | WgmmaMatmul() if schedule.split_k > 1:
            from kgen.targets.cuda.plan.reduction.split_k import plan_one_kernel, plan_split

            refuse_batch_dims(spec, f"split_k={schedule.split_k}", "split_k=1")
            parts = plan_one_kernel if is_last_arriving(schedule) else plan_split
            return parts(spec, target, schedule)
        case Matmul(), MmaMatmul():
            from kgen.targets.cuda.plan.mma.matmul import plan_mma

            return plan_mma(spec, target, schedule)
        case Matmul(), WgmmaMatmul():
            from kgen.targets.cuda.plan.wgmma.matmul import plan_wgmma

            return plan_wgmma(spec, target, schedule)
        case Matmul(), GemvMatmul():
            from kgen.targets.cuda.plan.matmul_gemv import plan_gemv

            return plan_gemv(spec, target, schedule)
        case Matmul(), FmaMatmul():
            from kgen.targets.cuda.plan.matmul_fma import plan_fma

            return plan_fma(spec, target, schedule)
        case Attention(), MmaAttention() if schedule.split_k > 1:
            from kgen.targets.cuda.plan.reduction.split_attention import plan_split_attention

            return plan_split_attention(spec, target, schedule)
        case Attention(), MmaAttention():
            from kgen.targets.cuda.plan.mma.fused_attention import plan_attention

            return plan_attention(spec, target, schedule)
        case Attention(), WgmmaAttention():
            from kgen.targets.cuda.plan.attention.wgmma_attention import plan_wgmma_attention

            return plan_wgmma_attention(spec, target, schedule)
        case Elementwise(), GpuStream():
            from kgen.targets.cuda.plan.elementwise import plan_elementwise

            return plan_elementwise(spec, target, schedule)
        case Rowwise(), GpuRows():
            from kgen.targets.cuda.plan.interleaved import plan_interleaved
            from kgen.targets.cuda.plan.rowwise import plan_rowwise
            from kgen.targets.rows.split import is_interleaved

            beside = is_interleaved(spec) and schedule.shares_block
            return (plan_interleaved if beside else plan_rowwise)(spec, target, schedule)
    raise ScheduleError(
        f"mainloop={schedule.mainloop} is not supported by {target.name} for {spec.op}; "
        "leave mainloop out"
    )
