"""AMD GPUs: LLVM IR, compiled by llvmlite's LLVM, linked to a code object by our own linker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from kgen.errors import TargetError
from kgen.schedule import Schedule
from kgen.spec import Attention, Conv2d, DType, Elementwise, Formula, Math, Matmul, Rowwise, Spec
from kgen.spec.choices import FLOATS_8, FNUZ, WIDENED, BType
from kgen.spec.formula import INTEGERS
from kgen.targets import llvm_ir
from kgen.targets.amdgpu import devices, heuristics, matrix
from kgen.targets.amdgpu.limits import TARGETS
from kgen.targets.amdgpu.matrix_cycles import matrix_cycles
from kgen.targets.amdgpu.memory_cycles import memory_cycles
from kgen.targets.amdgpu.occupancy import occupancy
from kgen.targets.amdgpu.schedule import attention_candidates
from kgen.targets.attention.fields import ATTENTION_FIELDS, refuse_other_fields
from kgen.targets.attention.page_blocks import check_page_size
from kgen.targets.attention.weights import weight_dtype
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
from kgen.targets.device import Occupancy, Rates
from kgen_runtime.manifest import Launch, Resources, Tolerance

DTYPES = (DType.F32, DType.F16, DType.BF16)

#: The order and the width in which matrix cores add the products of one instruction are not
#: documented, and those of gfx90a flush subnormals. Each is within a few roundings of a plain sum.
#: The exponential is V_EXP_F32, the logarithm is LLVM's expansion around V_LOG_F32 (1 ulp; RDNA3
#: ISA, section 7).
TOLERANCE = Tolerance(
    accumulate=DType.F32,
    factor=4.0,
    function_error=2.0**-21,
    reason="matrix cores sum in an order and width of their own; exp and log are good to 1-2 ulp",
)
INTEGER_TOLERANCE = Tolerance(
    accumulate=DType.S32,
    factor=1.0,
    function_error=TOLERANCE.function_error,
    reason="sums of s8 are exact in s32; what follows is computed in f32",
)
#: Rounding to xf32 moves an operand by up to u = 2^-11 of its value, as tf32 does, so a product of
#: two operands is off by up to 2 u + u^2. Truncation, which CDNA3's manual does not exclude,
#: doubles that.
TF32_TOLERANCE = replace(
    TOLERANCE,
    operand_error=2.0**-9 * 1.01,
    reason=f"operands have 11 bits (xf32); {TOLERANCE.reason}",
)


#: CDNA3's 8-bit floats and those of OCP, paired by the widths of exponent and fraction.
OTHER_FORMAT = dict(zip((*FLOATS_8, *FNUZ), (*FNUZ, *FLOATS_8), strict=True))


class Amdgpu(Family):
    """AMD GPUs. Targets are named by their processor, such as gfx942."""

    name: ClassVar[str] = "amdgpu"
    extension: ClassVar[str] = "ll"
    backend: ClassVar[str] = "hip"
    targets = TARGETS
    operations = (
        Operation(spec=Matmul, dtypes=DTYPES, choose=heuristics.matmul),
        Operation(
            spec=Conv2d,
            dtypes=DTYPES,
            choose=lambda spec, target: heuristics.matmul(implicit_gemm(spec), target),
        ),
        Operation(spec=Attention, dtypes=(*DTYPES, DType.E4M3), choose=attention_candidates.choose),
        Operation(spec=Elementwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.elementwise),
        Operation(spec=Rowwise, dtypes=(*DTYPES, *INTEGERS), choose=heuristics.rowwise),
    )

    def dtypes(self, op: str, target: Target) -> tuple[DType, ...]:
        found = super().dtypes(op, target)
        if op == Attention.op:
            return tuple(d for d in found if matrix.of_attention(target, d))
        bytes_ = {Matmul.op: matrix.BYTES, Conv2d.op: (DType.S8,)}.get(op, ())
        return (*found, *(d for d in bytes_ if matrix.available(target, d)))

    def check_support(self, spec: Spec, target: Target) -> None:
        known = self.dtypes(spec.op, target)
        if spec.dtype in OTHER_FORMAT and spec.dtype not in known:
            other = OTHER_FORMAT[spec.dtype]
            if other in known:
                has = [t.name for t in self.targets if spec.dtype in self.dtypes(spec.op, t)]
                raise TargetError(
                    f"dtype={spec.dtype} is not supported by {target.name}, whose 8-bit floats "
                    f"have another exponent bias; try dtype={other}, or for dtype={spec.dtype} "
                    f"target={' or '.join(has)}"
                )
        super().check_support(spec, target)
        if isinstance(spec, Attention):
            refuse_other_fields(spec, target, ATTENTION_FIELDS)
            if spec.is_paged:
                check_page_size(spec, target, attention_candidates.least_keys(spec, target))

    def maths(self, target: Target) -> tuple[Math, ...]:
        has_xf32 = matrix.available(target, DType.F32, Math.TF32)
        return (Math.EXACT, Math.TF32) if has_xf32 else (Math.EXACT,)

    def narrow(self, target: Target) -> tuple[BType, ...]:
        return WIDENED

    def _ranked(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        spec = planned_as(spec)
        if isinstance(spec, Attention):
            return attention_candidates.candidates(spec, target)
        return heuristics.candidates(spec, target) if isinstance(spec, Matmul) else ()

    def alternatives(self, spec: Spec, target: Target) -> tuple[Schedule, ...]:
        spec = planned_as(spec)
        if isinstance(spec, Matmul):
            return heuristics.main_loops(spec, target)
        return super().alternatives(spec, target)

    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        from kgen.targets.amdgpu.plan import plan

        return plan(planned_as(spec), target, schedule)

    def assemble(self, source: Source, plan: Plan) -> Assembled:
        from kgen.targets.amdgpu.assemble import assemble

        return assemble(source, plan.target)

    def tolerance(self, spec: Spec, target: Target, schedule: Schedule) -> Tolerance:
        if isinstance(spec, Attention) and spec.dtype is DType.F32:
            return TOLERANCE
        if isinstance(spec, Attention):
            return replace(
                TOLERANCE,
                operand_error=weight_dtype(spec).unit_roundoff,
                reason=f"{TOLERANCE.reason}; weights are rounded to {weight_dtype(spec)} between "
                "both products",
            )
        if isinstance(spec, Matmul) and spec.accumulate.is_integer:
            return INTEGER_TOLERANCE
        if isinstance(spec, Matmul) and spec.math is Math.TF32:
            return TF32_TOLERANCE
        return EXACT if isinstance(spec, Formula) and spec.has_exact_steps else TOLERANCE

    def proof(self, target: Target) -> str:
        return "emulated (LLVM IR)"

    def capabilities(self, target: Target) -> Mapping[str, Any]:
        # Devices with and without sramecc or xnack run the code, which does not depend on them.
        return {"arch": target.arch, "features": ()}

    def occupancy(self, target: Target, resources: Resources, launch: Launch) -> Occupancy:
        return occupancy(target, resources, launch)

    def rates(self, target: Target) -> Rates:
        return devices.rates(target)

    def matrix_cycles(self, target: Target, opcode: str) -> float | None:
        return matrix_cycles(target, opcode)

    def memory_cycles(self, target: Target, opcode: str, operands: str) -> tuple[float, float]:
        return memory_cycles(target, opcode, operands)

    def toolchain(self) -> tuple[Toolchain, ...]:
        return (llvm_ir.toolchain(),)


FAMILY = Amdgpu()
