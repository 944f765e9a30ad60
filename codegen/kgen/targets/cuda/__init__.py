"""NVIDIA GPUs: PTX from templates, machine code by the ptxas of a PyPI wheel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kgen.errors import TargetError
from kgen.schedule import Schedule
from kgen.spec import Attention, Conv2d, DType, Elementwise, Formula, Math, Matmul, Rowwise, Spec
from kgen.spec.choices import WIDENED, BType
from kgen.spec.formula import INTEGERS
from kgen.targets.attention.fields import ATTENTION_FIELDS, refuse_other_fields
from kgen.targets.attention.page_blocks import check_page_size
from kgen.targets.base import (
    EXACT,
    Assembled,
    Candidate,
    Family,
    Operation,
    Plan,
    Source,
    Target,
    Toolchain,
)
from kgen.targets.contraction.implicit_gemm import implicit_gemm, planned_as
from kgen.targets.cuda import devices
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan import CudaPlan
from kgen.targets.cuda.plan import plan as make_plan
from kgen.targets.cuda.plan.mma.fragments import PIECE
from kgen.targets.cuda.plan.mma.instruction import instruction_of, warpgroup_instruction_of
from kgen.targets.cuda.schedule import attention_tiles, candidates, heuristics
from kgen.targets.cuda.schedule.occupancy import occupancy
from kgen.targets.device import Occupancy, Rates
from kgen_runtime.manifest import Launch, Resources, Tolerance

DTYPES = (DType.F32, DType.F16, DType.BF16)
FLOATS_8 = (DType.E4M3, DType.E5M2)
#: Most elements of a head whose keys and values pass through registers on their way.
STAGED_HEAD = 128
#: CUDA version above every version that a kernel may require.
NEWEST_CUDA = (99, 0)


#: Relative errors of one product in tf32 and in 3xtf32. Rounding to tf32 moves an operand by up to
#: u = 2^-11 of its value, so a product of two operands is off by up to 2 u + u^2. 3xtf32 splits an
#: operand in two: the low part is at most u of the operand and is rounded to u of itself. The
#: product of two low parts is omitted. The sum is 3 u^2, and a little for higher powers.
OPERAND_ERRORS = (2.0**-10 * 1.01, 2.0**-20)
OPERAND_REASONS = (
    "operands are rounded to tf32",
    "operands are split in two tf32 numbers, and the product of the smaller ones is left out",
)


#: Error relative to the products, where sums of 128 products have reduced precision. Four
#: instructions truncate 33 addends each, at 2^-13 of the largest. Errors have the signs of the
#: addends, so about sqrt(132) of them add up: 2^-13 11.5 / 2 of the largest addend, which is a
#: small part of the whole sum.
SHORT_SUM_ERROR = 2.0**-11
CUT_SUMS = (
    "tensor cores cut the sum of each product group instead of rounding it, so errors have twice "
    "the size and one sign (Fasi et al., PeerJ CS 7:e330, 2021)"
)
SHORT_SUM_REASON = (
    "fp8 tensor cores keep about 13 bits below the largest addend (arXiv 2411.10958); sums of 128 "
    "of k are added in f32"
)
SHORT_SCORES_REASON = (
    "fp8 tensor cores keep about 13 bits below the largest addend of a score (arXiv 2411.10958)"
)
#: ex2.approx and lg2.approx are within 2 ulp, rcp.approx within 1 (PTX ISA, "Floating Point
#: Instructions"); a step uses two of them and a polynomial good to 2 ulp.
FMA_TOLERANCE = Tolerance(
    accumulate=DType.F32,
    factor=2.0,
    function_error=2.0**-21,
    reason="fused multiply-adds in f32, each rounded to nearest, in the order of k",
)
CUT_SUM_TOLERANCE = replace(FMA_TOLERANCE, factor=4.0, reason=CUT_SUMS)
INTEGER_TOLERANCE = replace(
    FMA_TOLERANCE,
    accumulate=DType.S32,
    factor=1.0,
    reason="sums of s8 are exact in s32; what follows is computed in f32",
)


class CudaFamily(Family):
    name = "cuda"
    extension = "ptx"
    backend = "cuda"
    targets = TARGETS
    operations = (
        Operation(spec=Matmul, dtypes=DTYPES, choose=candidates.choose),
        Operation(
            spec=Conv2d,
            dtypes=(*DTYPES, DType.S8),
            choose=lambda spec, target: candidates.choose(implicit_gemm(spec), target),
        ),
        Operation(spec=Attention, dtypes=(*DTYPES, DType.E4M3), choose=attention_tiles.choose),
        Operation(spec=Elementwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.elementwise),
        Operation(spec=Rowwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.rowwise),
    )

    def dtypes(self, op: str, target: Target) -> tuple[DType, ...]:
        found = super().dtypes(op, target)
        if op == Attention.op:
            features = {DType.BF16: "bf16_mma", DType.E4M3: "fp8_mma"}
            return tuple(d for d in found if d not in features or target.has(features[d]))
        if op != Matmul.op:
            return found
        return (*found, *(FLOATS_8 if target.has("fp8_mma") else ()), DType.S8)

    def check_support(self, spec: Spec, target: Target) -> None:
        super().check_support(spec, target)
        if not isinstance(spec, Attention):
            return
        refuse_other_fields(spec, target, ATTENTION_FIELDS)
        check_page_size(spec, target, PIECE)
        size = max(spec.head, spec.out_head)
        if size > STAGED_HEAD and not target.has("cp_async"):
            raise TargetError(
                f"heads of {size} elements are not supported by {target.name} for attention; the "
                f"limit is {STAGED_HEAD}; build for sm_80 or later"
            )

    def maths(self, target: Target) -> tuple[Math, ...]:
        return tuple(Math) if target.has("tf32_mma") else (Math.EXACT,)

    def narrow(self, target: Target) -> tuple[BType, ...]:
        return WIDENED

    def _ranked(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        spec = planned_as(spec)
        if isinstance(spec, Attention):
            return attention_tiles.candidates(spec, target)
        return candidates.candidates(spec, target) if isinstance(spec, Matmul) else ()

    def effort(self, spec: Spec, target: Target) -> Mapping[str, int]:
        spec = planned_as(spec)
        if not isinstance(spec, Matmul):
            return {}
        found = candidates.choice(spec, target)
        return {"schedules_predicted": found.predicted, "schedules_planned": found.planned}

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        assert isinstance(plan, CudaPlan)
        return (*plan.remarks, *_fallback(plan))

    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        return make_plan(planned_as(spec), target, schedule)

    def assemble(self, source: Source, plan: Plan) -> Assembled:
        from kgen.targets.cuda.assemble import assemble

        return assemble(source, plan)

    def occupancy(self, target: Target, resources: Resources, launch: Launch) -> Occupancy:
        return occupancy(target, resources, launch)

    def rates(self, target: Target) -> Rates:
        return devices.rates(target)

    def toolchain(self) -> tuple[Toolchain, ...]:
        from kgen.targets.cuda.assemble import WHEEL, version

        return (Toolchain(name="ptxas", version=version(), package=f"{WHEEL}=={version()}"),)

    def proof(self, target: Target) -> str:
        return "emulated (PTX)"

    def capabilities(self, target: Target) -> Mapping[str, Any]:
        # Assume the newest driver. The bundle's own requirement is shown beside it.
        return {
            "compute_capability": divmod(target.limits["compute_capability"], 10),
            "cuda": NEWEST_CUDA,
        }

    def tolerance(self, spec: Spec, target: Target, schedule: Schedule) -> Tolerance:
        spec = planned_as(spec)
        if isinstance(spec, Formula) and spec.has_exact_steps:
            return EXACT
        if isinstance(spec, Attention) and spec.dtype is DType.F32:
            return FMA_TOLERANCE
        if isinstance(spec, Attention) and spec.dtype is DType.E4M3:
            return replace(
                CUT_SUM_TOLERANCE,
                operand_error=max(SHORT_SUM_ERROR, DType.F16.unit_roundoff),
                reason=f"{CUT_SUMS}; {SHORT_SCORES_REASON}; weights are rounded to f16",
            )
        if isinstance(spec, Attention):
            return replace(
                CUT_SUM_TOLERANCE,
                operand_error=spec.dtype.unit_roundoff,
                reason=f"{CUT_SUMS}; weights are rounded to {spec.dtype} between both products",
            )
        instruction = instruction_of(spec, target) if isinstance(spec, Matmul) else None
        if isinstance(spec, Matmul) and spec.accumulate.is_integer:
            return INTEGER_TOLERANCE
        if isinstance(spec, Matmul) and _short_sums(spec, target):
            return replace(
                CUT_SUM_TOLERANCE, operand_error=SHORT_SUM_ERROR, reason=SHORT_SUM_REASON
            )
        if instruction is None:
            return FMA_TOLERANCE
        if not instruction.rounds:
            return CUT_SUM_TOLERANCE
        return replace(
            CUT_SUM_TOLERANCE,
            operand_error=OPERAND_ERRORS[instruction.splits],
            reason=f"{CUT_SUMS}; {OPERAND_REASONS[instruction.splits]}",
        )


def _short_sums(spec: Matmul, target: Target) -> bool:
    """Whether some instruction that may compute this product has sums of reduced precision."""
    by_warpgroups = None
    if target.has("wgmma"):
        from kgen.targets.cuda.plan.wgmma.limits import obstacle

        by_warpgroups = warpgroup_instruction_of(spec) if obstacle(spec, target) is None else None
    return any(i.short_sums for i in (instruction_of(spec, target), by_warpgroups) if i is not None)


def _fallback(plan: CudaPlan) -> tuple[str, ...]:
    """Return the remark that says why a target with wgmma does not use it for a product."""
    why = _obstacle(plan) if plan.target.has("wgmma") else None
    return () if why is None else (f"mma.sync instead of wgmma: {why}",)


def _obstacle(plan: CudaPlan) -> str | None:
    from kgen.targets.cuda.plan.attention import wgmma_attention
    from kgen.targets.cuda.plan.mma.fused_attention import MmaAttentionPlan
    from kgen.targets.cuda.plan.mma.matmul import MmaPlan
    from kgen.targets.cuda.plan.reduction.split_k import SplitPlan
    from kgen.targets.cuda.plan.wgmma.limits import obstacle

    if isinstance(plan, MmaAttentionPlan):
        if plan.by_lanes:
            return None
        return wgmma_attention.obstacle(plan.spec, plan.target)
    if not isinstance(plan, MmaPlan | SplitPlan):
        return None
    if isinstance(plan, SplitPlan) and not isinstance(plan.part, MmaPlan):
        return None
    return obstacle(plan.spec, plan.target)


FAMILY = CudaFamily()
