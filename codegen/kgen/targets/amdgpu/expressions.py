"""Expressions for AMD GPUs, in f32 or on elements as they are stored.

AMDGPUUsage: `afn` makes a reciprocal one v_rcp_f32 (1 ulp; subnormals are flushed); `!fpmath` lets
divisions and roots be made of v_rcp_f32 and v_sqrt_f32 with scaling, which keeps subnormals. exp2
and log2 are v_exp_f32 and v_log_f32 with scaling around them, which exp2 could do without, but LLVM
22 leaves out for no flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgen.ops import Primitive as P
from kgen.ops.expression import TRUTH
from kgen.ops.storage import EXACT
from kgen.spec import DType
from kgen.targets.llvm_expressions import LlvmRenderer, LlvmWholeRenderer
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen

#: What a division or a root may be off by: !9 of the module, behind those of loops.
DIVISION_ULPS = 2.5
#: What `!fpmath` is for.
INEXACT = (P.DIV, P.SQRT, P.RSQRT)

#: What LLVM may fuse: a product and what it is added to become v_fma_f32 or v_pk_fma_f32 (as ptxas
#: does), a root and its reciprocal v_rsq_f32 with scaling.
FUSED = frozenset({P.ADD, P.SUB, P.MUL, P.SQRT, P.RSQRT})

#: What LLVM does on bf16 without widening it, but for comparisons, whose results it need not round.
OF_BF16 = TRUTH | {P.NEG, P.ABS, P.SELECT}


@frozen
class AmdgpuRenderer(LlvmRenderer):
    @property
    def primitives(self) -> frozenset[P]:
        return {DType.F16: EXACT, DType.BF16: OF_BF16}.get(self.type.dtype, frozenset(P))

    def flags(self, primitive: P) -> str:
        if primitive in FUSED:
            return "contract "
        return "afn " if primitive in (P.EXP2, P.RECIPROCAL) else ""

    def metadata(self, primitive: P) -> str:
        return ", !fpmath !9" if primitive in INEXACT else ""


def renderer_of(type_: FloatType) -> LlvmRenderer:
    """What renders expressions on values of a type."""
    return (LlvmWholeRenderer if type_.is_integer else AmdgpuRenderer)(type=type_)


def rounding(value: FloatType, written: FloatType) -> Iterator[str]:
    """Intrinsics that make integers of floats, declared."""
    if written.dtype.is_integer and not (value.dtype.is_integer or written.is_bool):
        yield f"{value} @llvm.roundeven.{value.suffix}({value})"
        yield f"{written} @{written.saturating}.{written.suffix}.{value.suffix}({value})"
