"""Expressions for AMD GPUs, in f32 or in the stored type of elements.

From AMDGPUUsage:

  - `afn` turns a reciprocal into v_rcp_f32 (1 ulp; flushes subnormals).
  - `!fpmath` turns divisions and roots into v_rcp_f32 and v_sqrt_f32 with scaling, which keeps
    subnormals.
  - log2 is v_log_f32 with scaling.
  - exp2 is v_exp_f32 (1 ulp) by its intrinsic, without LLVM's scaling for subnormal results, which
    may be 0 here. The intrinsic takes one number, so the exponential of a vector is an inlined
    function of the module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.expression import TRUTH
from kgen.ops.storage import EXACT
from kgen.spec import DType
from kgen.targets.llvm_expressions import LlvmRenderer, LlvmWholeRenderer
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import REMAINDER, Remainder
from kgen_runtime.values import frozen

#: Permitted error of a division or a root in ulps: metadata !9 of the module.
DIVISION_ULPS = 2.5
#: Primitives that carry `!fpmath`.
INEXACT = (P.DIV, P.SQRT, P.RSQRT)

#: Primitives that LLVM may fuse: a product and a sum to v_fma_f32 or v_pk_fma_f32 (as ptxas does),
#: a root and its reciprocal to v_rsq_f32 with scaling.
FUSED = frozenset({P.ADD, P.SUB, P.MUL, P.SQRT, P.RSQRT})

#: Primitives that are computed on bf16 without widening, because their results need no rounding.
OF_BF16 = TRUTH | {P.NEG, P.ABS, P.SELECT}


@frozen
class AmdgpuRenderer(LlvmRenderer):
    @property
    def primitives(self) -> frozenset[P]:
        return {DType.F16: EXACT, DType.BF16: OF_BF16}.get(self.type.dtype, frozenset(P))

    def flags(self, primitive: P) -> str:
        if primitive in FUSED:
            return "contract "
        return "afn " if primitive is P.RECIPROCAL else ""

    def intrinsic(self, primitive: P) -> str | None:
        if primitive is P.EXP2:
            return "llvm.amdgcn.exp2" if self.type.lanes == 1 else "exp2"
        return super().intrinsic(primitive)

    def declaration(self, step: Expression) -> Iterator[str]:
        if step.primitive is P.EXP2:
            yield "float @llvm.amdgcn.exp2.f32(float)"
        elif step.primitive is P.REMAINDER:
            yield from ONE_REMAINDER.declarations
        else:
            yield from super().declaration(step)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        if step.primitive is not P.REMAINDER or self.type.lanes == 1:
            return super().instruction(step, result, operands)
        lines, vector = [], "poison"
        for lane in range(self.type.lanes):
            name = f"{result}.lane{lane}"
            lines += [
                f"{name}.{of} = extractelement {self.type} {operand}, i32 {lane}"
                for of, operand in zip("xy", operands, strict=True)
            ]
            one = self.type.element
            lines.append(f"{name} = call {one} @{REMAINDER}({one} {name}.x, {one} {name}.y)")
            whole = result if lane == self.type.lanes - 1 else f"{result}.with{lane}"
            lines.append(f"{whole} = insertelement {self.type} {vector}, {one} {name}, i32 {lane}")
            vector = whole
        return lines

    def metadata(self, primitive: P) -> str:
        return ", !fpmath !9" if primitive in INEXACT else ""


#: Function of the module for the remainder of two numbers.
ONE_REMAINDER = Remainder(type=FloatType(dtype=DType.F32), attributes="#1")


def remainders(taken: Iterable[P]) -> tuple[Remainder, ...]:
    """Return the module's function for remainders, if REM is among the primitives."""
    return (ONE_REMAINDER,) if P.REMAINDER in taken else ()


def exponentials(*of: tuple[FloatType, Iterable[P]]) -> tuple[FloatType, ...]:
    """Return the vector types whose exponential is a function of the module, given types and the
    primitives that are computed on them."""
    taken = (t for t, primitives in of if t.lanes > 1 and P.EXP2 in primitives)
    return tuple(dict.fromkeys(taken))


def renderer_of(type_: FloatType) -> LlvmRenderer:
    """Return the renderer of expressions on values of a type."""
    return (LlvmWholeRenderer if type_.is_integer else AmdgpuRenderer)(type=type_)


def rounding(value: FloatType, written: FloatType) -> Iterator[str]:
    """Yield declarations of the intrinsics that convert floats to integers."""
    if written.dtype.is_integer and not (value.dtype.is_integer or written.is_bool):
        yield f"{value} @llvm.roundeven.{value.suffix}({value})"
        yield f"{written} @{written.saturating}.{written.suffix}.{value.suffix}({value})"
