"""Expressions for AMD GPUs.

AMDGPUUsage: `afn` makes exp2 one v_exp_f32 and a reciprocal one v_rcp_f32 (1 ulp each; subnormals
are flushed); `!fpmath` lets divisions and roots be made of v_rcp_f32 and v_sqrt_f32 with scaling,
which keeps subnormals. log2 scales subnormals too.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.ops import Primitive as P
from kgen.targets.llvm_expressions import LlvmRenderer
from kgen_runtime.values import frozen

#: What a division or a root may be off by: !2 of the module.
DIVISION_ULPS = 2.5


@frozen
class AmdgpuRenderer(LlvmRenderer):
    native: ClassVar[frozenset[str]] = frozenset()

    def flags(self, primitive: P) -> str:
        return "afn " if primitive in (P.EXP2, P.RECIPROCAL) else ""

    def metadata(self, primitive: P) -> str:
        return ", !fpmath !2" if primitive in (P.DIV, P.SQRT, P.RSQRT) else ""
