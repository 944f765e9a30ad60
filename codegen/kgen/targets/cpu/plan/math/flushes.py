"""Results that may be zero instead of subnormal, so that VCVTNEPS2BF16, which flushes, may round
them."""

from __future__ import annotations

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.spec import DType, Rowwise
from kgen.targets.base import Target
from kgen.targets.rows.kept import EXPENSIVE

#: Arithmetic that hands such an error on, and what is one of its operands.
ARITHMETIC = frozenset({P.ADD, P.SUB, P.MUL, P.FMA, P.NEG, P.ABS, P.REDUCE})
CHOICES = frozenset({P.MIN, P.MAX, P.MAXNUM})


def flushed_outputs(spec: Rowwise, target: Target) -> tuple[str, ...]:
    """Return the outputs of rows that the instruction rounds, if the target has it."""
    if not target.has("avx512_bf16"):
        return ()
    found = zip(spec.outputs, spec.primitives(), strict=True)
    return tuple(
        name
        for name, result in found
        if spec.dtype_of(name) is DType.BF16 and may_be_flushed(result)
    )


def may_be_flushed(step: Expression) -> bool:
    """Return whether a correct value, in primitives, may be off by the smallest normal number:
    expensive steps are computed by approximations, whose error may be as large."""
    if step.primitive in EXPENSIVE:
        return True
    if step.primitive in ARITHMETIC:
        return any(map(may_be_flushed, step.arguments))
    if step.primitive in CHOICES:
        return all(map(may_be_flushed, step.arguments))
    return step.primitive is P.SELECT and all(map(may_be_flushed, step.arguments[1:]))
