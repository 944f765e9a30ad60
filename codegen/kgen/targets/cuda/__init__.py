"""NVIDIA GPUs: PTX from templates, machine code by the ptxas of a PyPI wheel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgen.schedule import Schedule
from kgen.spec import DType, Matmul, Relu, Softmax, Spec
from kgen.targets.base import Assembled, Candidate, Family, Plan, Source, Target, Toolchain
from kgen.targets.cuda import candidates, heuristics
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan import matmul_mma
from kgen.targets.cuda.plan import plan as make_plan
from kgen.targets.cuda.plan.matmul import MatmulPlan
from kgen_runtime.manifest import Tolerance

OPS = (Matmul.op, Relu.op, Softmax.op)
DTYPES = (DType.F32, DType.F16, DType.BF16)
#: A CUDA version above all that code may require.
NEWEST_CUDA = (99, 0)


class CudaFamily(Family):
    name = "cuda"
    extension = "ptx"
    backend = "cuda"

    @property
    def targets(self) -> tuple[Target, ...]:
        return TARGETS

    def dtypes(self, op: str, target: Target) -> tuple[DType, ...]:
        return DTYPES if op in OPS else ()

    def choose(self, spec: Spec, target: Target) -> Schedule:
        return heuristics.choose(spec, target)

    def candidates(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        return candidates.candidates(spec, target) if isinstance(spec, Matmul) else ()

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        return plan.remarks if isinstance(plan, MatmulPlan) else ()

    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        return make_plan(spec, target, schedule)

    def assemble(self, source: Source, plan: Plan) -> Assembled:
        from kgen.targets.cuda.assemble import assemble

        return assemble(source, plan)

    def toolchain(self) -> tuple[Toolchain, ...]:
        from kgen.targets.cuda.assemble import WHEEL, version

        return (Toolchain(name="ptxas", version=version(), package=f"{WHEEL}=={version()}"),)

    def proof(self, target: Target) -> str:
        return "emulated (PTX)"

    def capabilities(self, target: Target) -> Mapping[str, Any]:
        # Any driver: the newest is assumed, and the bundle's own requirement is shown beside it.
        return {
            "compute_capability": divmod(target.limits["compute_capability"], 10),
            "cuda": NEWEST_CUDA,
        }

    def tolerance(self, spec: Spec, target: Target) -> Tolerance:
        # ex2.approx and lg2.approx are within 2 ulp, rcp.approx within 1 (PTX ISA, "Floating Point
        # Instructions"); a step uses two of them and a polynomial good to 2 ulp.
        function_error = 2.0**-21
        if isinstance(spec, Matmul) and matmul_mma.supports(spec.dtype, target):
            return Tolerance(
                accumulate=DType.F32,
                factor=4.0,
                function_error=function_error,
                reason="tensor cores cut the sum of each product group instead of rounding it, so "
                "errors have twice the size and one sign (Fasi et al., PeerJ CS 7:e330, 2021)",
            )
        return Tolerance(
            accumulate=DType.F32,
            factor=2.0,
            function_error=function_error,
            reason="fused multiply-adds in f32, each rounded to nearest, in the order of k",
        )


FAMILY = CudaFamily()
