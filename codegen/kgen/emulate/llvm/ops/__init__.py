"""Tables from LLVM opcode to the builder of its function.

A builder takes the decoded instruction. It returns a function of the operands' values (PURE), or of
the machine and the operands' values (EFFECTS).
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.ops import (
    aggregates,
    arithmetic,
    atomics,
    comparison,
    conversion,
    memory,
    vectors,
)

PURE: Mapping[str, Build] = {
    **aggregates.PURE,
    **arithmetic.PURE,
    **comparison.PURE,
    **conversion.PURE,
    **memory.PURE,
    **vectors.PURE,
}
EFFECTS: Mapping[str, Build] = {**atomics.EFFECTS, **memory.EFFECTS}
