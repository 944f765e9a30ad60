"""CPU target family: LLVM IR from templates, object code by llvmlite, linked by our own linker."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from kgen import schedule as kinds
from kgen.errors import ScheduleError
from kgen.ops import Primitive as P
from kgen.schedule import BlockedMatmul, CpuAttention, Schedule
from kgen.spec import Attention, Conv2d, DType, Elementwise, Formula, Matmul, Rowwise, Spec
from kgen.spec.choices import NARROW, BType
from kgen.spec.formula import INTEGERS
from kgen.spec.winograd import KERNEL
from kgen.targets import llvm_ir
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
from kgen.targets.contraction.implicit_gemm import implicit_gemm, is_matrix, planned_as
from kgen.targets.cpu.limits import NATIVE, TARGETS, with_suffixes
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.cpu_plan import CpuPlan, fuses
from kgen.targets.cpu.plan.kernels.blis import plan_blis, plan_split
from kgen.targets.cpu.plan.kernels.depthwise import plan_depthwise, takes
from kgen.targets.cpu.plan.kernels.dot import plan_dot
from kgen.targets.cpu.plan.kernels.elementwise import plan_elementwise, plan_transposed
from kgen.targets.cpu.plan.kernels.gemv import plan_outer
from kgen.targets.cpu.plan.kernels.limb_parts import limb_dot
from kgen.targets.cpu.plan.kernels.online_softmax import plan_attention
from kgen.targets.cpu.plan.kernels.rows.interleaved import plan_rows
from kgen.targets.cpu.plan.kernels.rows.rowwise import digits_of, flushed_outputs
from kgen.targets.cpu.plan.kernels.rows.split import plan_split_rows
from kgen.targets.cpu.plan.kernels.transformed_tiles import plan_winograd, roundings
from kgen.targets.cpu.plan.matmul import MatmulPlan, with_tile
from kgen.targets.cpu.plan.packing.packed_windows import mainloop_of_windows
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.rates import rates
from kgen.targets.cpu.schedule import (
    adapt,
    attention_blocks,
    cost_model,
    depthwise_blocks,
    row_schedules,
)
from kgen.targets.device import Rates
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.manifest import Tolerance

if TYPE_CHECKING:
    from kgen.constants import Array

#: Errors of gelu(x), gelu_tanh(x) and silu(x), relative to x, by the type of the results.
ACTIVATION_ERRORS = {DType.F64: 1e-14, DType.F16: 3e-5, DType.BF16: 2e-4}
FLOATS = (DType.F32, DType.F16, DType.BF16)

#: Relative errors of exp2 and log2 for results of few digits: of the polynomials and of rounding.
FUNCTION_ERRORS = {DType.F16: 6e-6, DType.BF16: 1.4e-4}
#: Error of exp2, and of log2 near 1, in f32: two units in the last place.
ELEMENTWISE_ERROR = 2.0**-22
#: Error of exp2 and log2 in f64: three units in the last place.
F64_ERROR = 3 * 2.0**-52
F64_REASON = "steps are rounded once, in f64; exp2 and log2 to three units in the last place"
#: Name of a target's vector instructions, by architecture and bytes per vector.
INSTRUCTION_SETS: Mapping[tuple[str, int], str] = {
    ("x86_64", 16): "sse2",
    ("x86_64", 32): "avx2",
    ("x86_64", 64): "avx512",
    ("aarch64", 16): "neon",
}
#: Number of candidates listed: the best of those that the cost model ranks.
LISTED = 64
#: Matrix and dot-product instructions that proving a target emulates, by feature.
EMULATED_PRODUCTS = {
    "amx_tile": "products on tiles",
    "avx512_bf16": "bf16 products",
    **dict.fromkeys(("avx512_vnni", "avx_vnni"), "s8 products"),
}
#: Schedules of a matmul by main loop.
MATMULS: Mapping[str, type[BlockedMatmul]] = {
    kind.mainloop: kind
    for kind in (
        kinds.CpuMatmul,
        kinds.AheadMatmul,
        kinds.CpuSplitMatmul,
        kinds.DotMatmul,
        kinds.AmxMatmul,
        kinds.LimbsMatmul,
        kinds.InnerMatmul,
        kinds.OuterMatmul,
        kinds.WinogradMatmul,
    )
}


def is_depthwise(spec: Spec) -> TypeGuard[Conv2d]:
    """Return whether a spec is a convolution that the depthwise kernels support."""
    return isinstance(spec, Conv2d) and takes(spec)


def choose_convolution(conv: Conv2d, target: Target) -> BlockedMatmul | kinds.CpuDepthwise:
    if takes(conv):
        return depthwise_blocks.choose(conv, target)
    return cost_model.choose(conv, target)


class CpuFamily(Family):
    name: ClassVar[str] = "cpu"
    extension: ClassVar[str] = "ll"
    backend: ClassVar[str] = "cpu"
    packs_ahead: ClassVar[bool] = True
    most_k: ClassVar[int | None] = None
    most_batch: ClassVar[int | None] = None
    #: libkgen passes at most 24 pointers, some of them to workspaces.
    most_tensors: ClassVar[int] = 16
    pads_with_zero_point: ClassVar[bool] = True
    has_winograd: ClassVar[bool] = True
    is_calibrated: ClassVar[bool] = True
    alignment: ClassVar[int] = 1
    convolves_channels: ClassVar[bool] = True
    targets = TARGETS
    operations = (
        Operation(spec=Matmul, dtypes=(*FLOATS, DType.F64, DType.S8), choose=cost_model.choose),
        Operation(spec=Conv2d, dtypes=(*FLOATS, DType.F64, DType.S8), choose=choose_convolution),
        Operation(spec=Attention, dtypes=FLOATS, choose=attention_blocks.choose),
        Operation(
            spec=Elementwise,
            dtypes=(*FLOATS, DType.F64, *INTEGERS),
            choose=row_schedules.elementwise_schedule,
        ),
        Operation(
            spec=Rowwise,
            dtypes=(*FLOATS, DType.F64, *INTEGERS),
            choose=row_schedules.rowwise_schedule,
        ),
    )

    def find(self, name: str) -> Target | None:
        """Return a named level with its suffixes, or ``native``. Raises TargetError."""
        if name == NATIVE:
            from kgen.targets.cpu.host import native

            return native()
        return with_suffixes(name)

    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        if isinstance(spec, Matmul) and isinstance(schedule, BlockedMatmul):
            return with_tile(plan_matmul(spec, target, schedule))
        if isinstance(spec, Conv2d) and isinstance(schedule, kinds.WinogradMatmul):
            return plan_winograd(spec, target, schedule)
        if isinstance(spec, Conv2d) and isinstance(schedule, BlockedMatmul):
            return with_tile(plan_convolution(spec, target, schedule))
        if isinstance(spec, Conv2d) and isinstance(schedule, kinds.CpuDepthwise):
            return plan_depthwise(spec, target, schedule)
        if isinstance(spec, Attention) and isinstance(schedule, CpuAttention):
            return plan_attention(spec, target, schedule)
        if isinstance(spec, Elementwise) and isinstance(schedule, kinds.CpuTransposed):
            return plan_transposed(spec, target, schedule)
        if isinstance(spec, Elementwise) and type(schedule) is kinds.CpuStream:
            return plan_elementwise(spec, target, schedule)
        if isinstance(spec, Rowwise) and isinstance(schedule, kinds.CpuSplitRows):
            return plan_split_rows(spec, target, schedule)
        if isinstance(spec, Rowwise) and isinstance(schedule, kinds.CpuRows):
            return plan_rows(spec, target, schedule)
        raise ScheduleError(
            f"a {schedule.mainloop} schedule is not supported for {spec.op} on {target.name}; "
            f"use {type(self.choose(spec, target)).__name__}"
        )

    def assemble(self, source: Source, plan: Plan) -> Assembled:
        from kgen.targets.cpu.assemble import assemble

        assert isinstance(plan, CpuPlan)
        return assemble(source, plan)

    def folded(self, target: Target) -> tuple[DType, ...]:
        return (DType.F64, DType.F32, DType.S64, DType.S32)

    def packs(self, spec: Matmul | Conv2d, target: Target) -> bool:
        if not (isinstance(spec, Matmul) and spec.has_blocks and spec.constant):
            return True
        return limb_dot(spec, target) is not None

    def narrow(self, target: Target) -> tuple[BType, ...]:
        return NARROW[DType.F32]

    def tolerance(self, spec: Spec, target: Target, schedule: Schedule) -> Tolerance:
        if isinstance(spec, Formula) and spec.has_exact_steps:
            return EXACT
        if isinstance(spec, Rowwise | Elementwise):
            return _tolerance_of_formula(spec, target)
        if isinstance(spec, Attention):
            dots = isinstance(schedule, CpuAttention) and schedule.dots
            return Tolerance(
                accumulate=DType.F32,
                factor=4.0,
                function_error=ELEMENTWISE_ERROR,
                operand_error=spec.dtype.unit_roundoff if dots else 0.0,
                reason="products, sums and exponentials in f32; exp2 by a polynomial"
                + ("; weights are rounded to bf16, and subnormals flushed" if dots else ""),
            )
        conv, spec = (spec, spec.product) if isinstance(spec, Conv2d) else (None, spec)
        assert isinstance(spec, Matmul)
        smooth = bool(FusedEpilogue(spec=spec).primitives & {P.EXP2, P.LOG2})
        digits = DType.F64 if spec.dtype is DType.F64 else spec.out
        error = ACTIVATION_ERRORS.get(digits, 2e-6) if smooth else 0.0
        product, dot = tile_product(spec.dtype, target), dot_for(spec.dtype, target)
        by_words = isinstance(schedule, kinds.OuterMatmul) and schedule.words
        with_dots = kinds.DotMatmul | kinds.InnerMatmul | kinds.OuterMatmul
        multiplies_groups = isinstance(schedule, with_dots) and not by_words
        if isinstance(schedule, kinds.LimbsMatmul):
            reason = "A as integers, one exponent for each block of k; sums in s32 and f32"
        elif product and isinstance(schedule, kinds.AmxMatmul):
            reason = product.reason
        elif dot and multiplies_groups:
            reason = dot.reason
        elif spec.accumulate.is_integer:
            reason = "products of s8 are added in s32, exactly"
        elif fuses(target):
            reason = f"one fused multiply-add per term, in {spec.accumulate}"
        else:
            reason = f"products and sums are rounded, in {spec.accumulate}"
        factor, operand_error = 4.0, 0.0
        if conv and conv.transforms:
            # Each position sums C = K / 9 products, so sqrt(C) = sqrt(K) / 3.
            factor, count = factor / KERNEL, roundings(conv, target)
            operand_error = count * spec.accumulate.unit_roundoff
            reason += f"; {count} roundings in transforms; |A| |B| is that of the "
            reason += "transformed operands"
        return Tolerance(
            accumulate=spec.accumulate,
            factor=factor,
            function_error=error,
            operand_error=operand_error,
            reason=reason,
        )

    def complete(
        self, spec: Spec, target: Target, schedule: Schedule, given: Collection[str]
    ) -> Schedule:
        """Return the schedule with the fields that follow from others, except for `given`. A
        schedule that does not fit is accepted; its plan raises an error with a value that fits."""
        if isinstance(spec, Matmul | Conv2d) and isinstance(schedule, BlockedMatmul):
            return adapt.completed(spec, target, schedule, given)
        if isinstance(spec, Rowwise) and isinstance(schedule, kinds.CpuStream):
            return row_schedules.completed(spec, target, schedule, given)
        if is_depthwise(spec) and isinstance(schedule, kinds.CpuDepthwise):
            return depthwise_blocks.completed(spec, target, schedule, given)
        return schedule

    def for_weights(
        self, spec: Spec, target: Target, schedule: Schedule, weights: Sequence[Array]
    ) -> Schedule:
        if not (weights and isinstance(spec, Matmul | Conv2d)) or is_depthwise(spec):
            return schedule
        stacks = (each.reshape(-1, *each.shape[-2:]) for each in weights)
        matrices = [matrix for stack in stacks for matrix in stack]
        return cost_model.split_if_faster(spec, target, matrices) or schedule

    def instructions(self, spec: Spec, target: Target) -> str:
        """Return the names of the vector instructions and of matrix or dot-product instructions."""
        if isinstance(spec, Conv2d):
            spec = spec.product
        words = [INSTRUCTION_SETS[target.arch, target.limits["vector_bytes"]]]
        if isinstance(spec, Matmul):
            product, dot = tile_product(spec.dtype, target), dot_for(spec.dtype, target)
            limbs = limb_dot(spec, target)
            words += [each.mnemonic for each in (product, dot, limbs) if each]
        return " ".join(words)

    def schedule_type(self, spec: Spec, target: Target, mainloop: str) -> type[Schedule]:
        if isinstance(spec, Conv2d) and mainloop == kinds.CpuDepthwise.mainloop:
            return kinds.CpuDepthwise
        if isinstance(spec, Elementwise) and mainloop == kinds.CpuTransposed.mainloop:
            return kinds.CpuTransposed
        if isinstance(spec, Matmul | Conv2d):
            return MATMULS[mainloop]
        return super().schedule_type(spec, target, mainloop)

    def adapted(
        self, spec: Spec, target: Target, schedule: Schedule, sizes: tuple[int, ...]
    ) -> Schedule:
        spec = planned_as(spec)
        if not (isinstance(spec, Matmul) and isinstance(schedule, BlockedMatmul)):
            return schedule
        return adapt.adapted(spec, target, schedule, sizes)

    def doubt(self, spec: Spec, target: Target, schedule: Schedule, distance: float) -> float:
        if not (isinstance(spec, Matmul) and isinstance(schedule, BlockedMatmul)):
            return 0.0
        return cost_model.doubt(spec, target, schedule, distance)

    def _ranked(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        """Return the best candidates; there are none for rows and streams."""
        if isinstance(spec, Attention):
            return attention_blocks.candidates(spec, target, most=LISTED)
        if is_depthwise(spec):
            return depthwise_blocks.candidates(spec, target, most=LISTED)
        if not isinstance(spec, Matmul | Conv2d):
            return ()
        return cost_model.candidates(spec, target, most=LISTED)

    def predicted(
        self, spec: Spec, target: Target, schedule: Schedule, held: int = 0
    ) -> Candidate[Schedule] | None:
        if isinstance(spec, Attention) and isinstance(schedule, CpuAttention):
            return attention_blocks.predicted(spec, target, schedule)
        if is_depthwise(spec) and isinstance(schedule, kinds.CpuDepthwise):
            return depthwise_blocks.predicted(spec, target, schedule)
        if isinstance(spec, Elementwise | Rowwise):
            return row_schedules.predicted(spec, target, schedule)
        spec = planned_as(spec)
        if not (isinstance(spec, Matmul) and isinstance(schedule, BlockedMatmul)):
            return None
        return cost_model.predicted(spec, target, schedule, held)

    def alternatives(self, spec: Spec, target: Target) -> tuple[Schedule, ...]:
        if not isinstance(spec, Matmul | Conv2d):
            return super().alternatives(spec, target)
        own = (choose_convolution(spec, target),) if is_depthwise(spec) else ()
        ranked = cost_model.candidates(spec, target, most=None, by_kind=True)
        return *own, *(each.schedule for each in ranked)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        from kgen.targets.cpu.host import missing_from_v3

        lacks = missing_from_v3(plan.target)
        return (f"SSE2 alone: this CPU has no {', '.join(lacks)}",) if lacks else ()

    def proof(self, target: Target) -> str:
        for feature, products in EMULATED_PRODUCTS.items():
            if target.has(feature):
                return f"executed where the CPU has it; {products} emulated (LLVM IR)"
        return "executed (qemu-aarch64)" if target.arch == "aarch64" else "executed"

    def capabilities(self, target: Target) -> Mapping[str, Any]:
        return {"arch": target.arch, "features": tuple(sorted(target.features))}

    def rates(self, target: Target) -> Rates:
        return rates(target)

    def toolchain(self) -> tuple[Toolchain, ...]:
        return (llvm_ir.toolchain(),)


def _tolerance_of_formula(spec: Rowwise | Elementwise, target: Target) -> Tolerance:
    flushed: tuple[str, ...] = ()
    if spec.compute is DType.F64:
        error, reason = F64_ERROR, F64_REASON
    elif isinstance(spec, Elementwise):
        error = ELEMENTWISE_ERROR
        reason = "exp2 and log2 by polynomials, to about two units in the last place of f32"
    else:
        digits, flushed = digits_of(spec), flushed_outputs(spec, target)
        error = FUNCTION_ERRORS.get(digits, ELEMENTWISE_ERROR)
        reason = f"exp2 and log2 by polynomials with digits for {digits}; sums in f32"
    return Tolerance(
        accumulate=DType.F64 if spec.compute is DType.F64 else DType.F32,
        factor=4.0 if isinstance(spec, Rowwise) else 1.0,
        function_error=error,
        flushed_outputs=flushed,
        reason=reason,
    )


def plan_matmul(spec: Matmul, target: Target, schedule: BlockedMatmul) -> MatmulPlan:
    # Import plans late: the choice of a schedule does not need them, and importing takes time.
    if isinstance(schedule, kinds.LimbsMatmul):
        from kgen.targets.cpu.plan.kernels.limbs import plan_limbs

        return plan_limbs(spec, target, schedule)
    if isinstance(schedule, kinds.InnerMatmul):
        from kgen.targets.cpu.plan.kernels.inner import plan_inner

        return plan_inner(spec, target, schedule)
    if spec.has_blocks:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} cannot read a B of {spec.b_dtype}, whose blocks have "
            "scales; use mainloop=inner or limbs"
        )
    if isinstance(schedule, kinds.OuterMatmul):
        return plan_outer(spec, target, schedule)
    if isinstance(schedule, kinds.CpuSplitMatmul):
        return plan_split(spec, target, schedule)
    product = tile_product(spec.dtype, target)
    if product and isinstance(schedule, kinds.AmxMatmul):
        from kgen.targets.cpu.plan.amx.matmul import plan_amx

        return plan_amx(spec, target, schedule, product)
    dot = dot_for(spec.dtype, target)
    if dot and isinstance(schedule, kinds.DotMatmul):
        return plan_dot(spec, target, schedule, dot)
    multiplies_bytes = dot is not None and spec.dtype is DType.S8
    if isinstance(schedule, kinds.CpuMatmul) and not multiplies_bytes:
        return plan_blis(spec, target, schedule)
    raise ScheduleError(
        f"mainloop={schedule.mainloop} is not supported for {spec.dtype} on {target.name}; "
        f"use mainloop={'dot' if multiplies_bytes else 'blis'}"
    )


def plan_convolution(conv: Conv2d, target: Target, schedule: BlockedMatmul) -> MatmulPlan:
    """Plan a convolution as the product of its windows and weights. Windows of a single pixel make
    it a matmul."""
    spec = implicit_gemm(conv)
    if is_matrix(conv):
        return plan_matmul(spec, target, schedule)
    mainloop = mainloop_of_windows(conv, target)
    if schedule.mainloop not in (mainloop, "ahead" if mainloop == "blis" else mainloop):
        raise ScheduleError(
            f"mainloop={schedule.mainloop} does not pack windows of {conv.dtype} on {target.name}; "
            f"use mainloop={mainloop}"
        )
    return plan_matmul(spec, target, schedule)


FAMILY = CpuFamily()
