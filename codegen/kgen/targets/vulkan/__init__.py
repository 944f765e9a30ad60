"""Vulkan: SPIR-V from templates, assembled by our own assembler, for any conformant driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from kgen.errors import TargetError
from kgen.ops import steps
from kgen.schedule import CooperativeAttention, CooperativeMatmul, Schedule
from kgen.spec import Attention, Conv2d, DType, Elementwise, Matmul, Rowwise, Spec
from kgen.spec.choices import WIDENED, BType
from kgen.spec.formula import INTEGERS
from kgen.targets.base import EXACT, Assembled, Family, Operation, Plan, Source, Target, Toolchain
from kgen.targets.contraction.implicit_gemm import implicit_gemm, planned_as
from kgen.targets.vulkan import heuristics
from kgen.targets.vulkan.expressions import SpirvRenderer, renderer_for
from kgen.targets.vulkan.limits import BFLOAT16, GUARANTEED_1_3, MAX_TENSOR_BYTES, TARGETS
from kgen.targets.vulkan.plan.attention.coopmat_attention import is_cooperative, obstacle
from kgen_runtime.launch_limits import VULKAN_GUARANTEED
from kgen_runtime.manifest import Tolerance

DTYPES = (DType.F32, DType.F16, DType.BF16)

#: Vulkan 1.3, "Precision of core SPIR-V Instructions" and "of GLSL.std.450": add and multiply are
#: correctly rounded, in either direction, and fma may be both; division is within 2.5 ulp; exp(x)
#: within 3 + 2 |x| ulp; log within 3 ulp, or 2^-21 between 0.5 and 2.
MATMUL_TOLERANCE = Tolerance(
    accumulate=DType.F32,
    factor=4.0,
    # An ulp is 2^-23. The error of exp for a large |x| is multiplied by exp(-|x|); the error of
    # erf's polynomial is at most 1.5e-7.
    function_error=2.0**-20,
    reason="f32 sums may be rounded in either direction; exp within 3 + 2 |x| ulp, erf 1.5e-7",
)
#: Functions for which MATMUL_TOLERANCE holds: errors of exp for a large |x| are multiplied by
#: exp(-|x|).
WEIGHED_DOWN = {"add", "sub", "mul", "neg", "abs", "relu", "gelu", "gelu_tanh", "silu"}
ELEMENTWISE_TOLERANCE = Tolerance(
    accumulate=DType.F32,
    factor=1.0,
    # exp2 has an error of (3 + 2 |x|) ulp; its largest exponent is 128.
    function_error=2.0**-15,
    subnormals="flushed",
    reason="a driver's exp2 is within 3 + 2 |x| ulp and its log2 within 2^-21; it may flush "
    "subnormal numbers",
)
#: Sums of s8 are exact; the epilogue computes in f32.
INTEGER_TOLERANCE = replace(
    ELEMENTWISE_TOLERANCE,
    accumulate=DType.S32,
    reason="s32 sums are exact; a driver's exp2 is within 3 + 2 |x| ulp",
)
#: Additions may be rounded in either direction, as in matmuls.
ROWWISE_TOLERANCE = replace(ELEMENTWISE_TOLERANCE, factor=MATMUL_TOLERANCE.factor)


class Vulkan(Family):
    """Vulkan devices. Targets are named for the version of the API, such as vulkan1.3."""

    name: ClassVar[str] = "vulkan"
    extension: ClassVar[str] = "spvasm"
    backend: ClassVar[str] = "vulkan"
    alignment: ClassVar[int] = 256
    targets = TARGETS
    operations = (
        Operation(spec=Matmul, dtypes=(*DTYPES, DType.S8), choose=heuristics.matmul),
        Operation(
            spec=Conv2d,
            dtypes=(*DTYPES, DType.S8),
            choose=lambda spec, target: heuristics.matmul(implicit_gemm(spec), target),
        ),
        Operation(spec=Attention, dtypes=DTYPES, choose=heuristics.attention),
        Operation(spec=Elementwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.elementwise),
        Operation(spec=Rowwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.rowwise),
    )

    def check_support(self, spec: Spec, target: Target) -> None:
        super().check_support(spec, target)
        for p in spec.parameters:
            if p.nbytes > MAX_TENSOR_BYTES:
                raise TargetError(
                    f"tensor {p.name} has {p.nbytes} bytes; {target.name} can bind "
                    f"{MAX_TENSOR_BYTES}, since maxStorageBufferRange is a 32-bit number; "
                    "use a smaller shape, or split the tensor"
                )

    def narrow(self, target: Target) -> tuple[BType, ...]:
        return WIDENED

    def alternatives(self, spec: Spec, target: Target) -> tuple[Schedule, ...]:
        if not isinstance(spec, Attention) or not is_cooperative(spec, target):
            return super().alternatives(spec, target)
        return (heuristics.cooperative_attention(spec), heuristics.unstaged_attention(spec))

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        spec, schedule = plan.spec, plan.schedule
        if not isinstance(spec, Attention) or isinstance(schedule, CooperativeAttention):
            return ()
        reason = obstacle(spec, plan.target) if plan.target.has("coopmat") else None
        return () if reason is None else (f"multiply-adds instead of coopmat: {reason}",)

    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        from kgen.targets.vulkan.plan import plan

        return plan(planned_as(spec), target, schedule)

    def assemble(self, source: Source, plan: Plan) -> Assembled:
        from kgen.targets.vulkan.assemble import assemble
        from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan

        assert isinstance(plan, VulkanPlan)
        return assemble(source, plan)

    def attends(self, target: Target, spec: Attention, steps: Iterable[Spec]) -> bool:
        """Whether attention is one kernel: if it multiplies by cooperative matrices, or its steps
        do not; and not on a CPU, whose caches hold the scores."""
        if target.has("unstaged"):
            return False
        if isinstance(heuristics.attention(spec, target), CooperativeAttention):
            return super().attends(target, spec, steps)
        products = [self.planned(each, target) for each in steps if isinstance(each, Matmul)]
        is_cooperative = any(
            plan is not None and isinstance(plan.schedule, CooperativeMatmul) for plan in products
        )
        return not is_cooperative and super().attends(target, spec, steps)

    def tolerance(self, spec: Spec, target: Target, schedule: Schedule) -> Tolerance:
        spec = planned_as(spec)
        if isinstance(spec, Elementwise):
            on_floats = isinstance(renderer_for(spec), SpirvRenderer)
            return ELEMENTWISE_TOLERANCE if on_floats else EXACT
        if isinstance(spec, Rowwise):
            return EXACT if spec.has_exact_steps else ROWWISE_TOLERANCE
        if isinstance(spec, Attention):
            if not isinstance(schedule, CooperativeAttention):
                return ROWWISE_TOLERANCE
            return replace(
                ROWWISE_TOLERANCE,
                # A driver may round in either direction.
                operand_error=2.0 * spec.dtype.unit_roundoff,
                reason=f"{ROWWISE_TOLERANCE.reason}; weights are rounded to {spec.dtype} between "
                "both products",
            )
        assert isinstance(spec, Matmul)
        if spec.accumulate.is_integer:
            return INTEGER_TOLERANCE
        called = {step.name for step in steps(spec.epilogue_calls) if step.arguments}
        return MATMUL_TOLERANCE if called <= WEIGHED_DOWN else ROWWISE_TOLERANCE

    def proof(self, target: Target) -> str:
        if target.has("msl"):
            return "translated (spirv-cross), not executed"
        if target.has(BFLOAT16):
            return "as vulkan1.3+coopmat; bf16 products compiled (RADV), not executed"
        others = "executed (lavapipe, SwiftShader)"
        return "executed (lavapipe 26)" if target.has("coopmat") else others

    def capabilities(self, target: Target) -> Mapping[str, Any]:
        return {
            "api": [target.limits["api_major"], target.limits["api_minor"]],
            "features": list(GUARANTEED_1_3) if target.limits["api_minor"] >= 3 else [],
            "device_type": "cpu" if target.has("unstaged") else "other",
            "limits": {name: target.limits[name] for name in VULKAN_GUARANTEED},
        }

    def toolchain(self) -> tuple[Toolchain, ...]:
        return ()  # the assembler is a part of kgen and has its version


FAMILY = Vulkan()
