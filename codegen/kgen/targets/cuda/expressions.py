"""Expressions as PTX, on f32 registers.

PTX ISA, "Floating Point Instructions" and "Comparison and Selection Instructions". Errors in units
of the last place: div.full 2, sqrt.approx, rsqrt.approx and rcp.approx 1 or 2, ex2.approx 2;
lg2.approx is within 2**-22, absolute between 1/2 and 2 and relative elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.targets.base import Target
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.expressions import Renderer
from kgen_runtime.values import frozen

OPCODES: Mapping[P, str] = {
    P.ADD: "add.f32",
    P.SUB: "sub.f32",
    P.MUL: "mul.f32",
    P.DIV: "div.full.f32",
    P.FMA: "fma.rn.f32",
    P.NEG: "neg.f32",
    P.ABS: "abs.f32",
    P.MIN: "min.NaN.f32",
    P.MAX: "max.NaN.f32",
    P.SQRT: "sqrt.approx.f32",
    P.RSQRT: "rsqrt.approx.f32",
    P.RECIPROCAL: "rcp.approx.f32",
    P.EXP2: "ex2.approx.ftz.f32",
    P.LOG2: "lg2.approx.f32",
    P.FLOOR: "cvt.rmi.f32.f32",
    P.ROUND: "cvt.rni.f32.f32",
    P.LESS: "setp.lt.f32",
    P.LESS_EQUAL: "setp.le.f32",
    P.EQUAL: "setp.eq.f32",
    P.AND: "and.pred",
    P.OR: "or.pred",
    P.NOT: "not.pred",
}


@frozen
class PtxRenderer(Renderer):
    """Operands are registers with their %, or literals of f32."""

    native: ClassVar[frozenset[str]] = frozenset({"relu"})
    target: Target

    def constant(self, number: float) -> str:
        return float_bits(number)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        if step.name == "relu":
            return self.relu(result, operands[0])
        if step.primitive is P.SELECT:
            condition, x, y = operands
            return [f"selp.f32 {result}, {x}, {y}, {condition};"]
        if step.primitive in (P.MIN, P.MAX) and not self.target.has("max_nan"):
            return self.choose(step.primitive, result, operands)
        return [f"{OPCODES[step.primitive]} {result}, {', '.join(operands)};"]

    def relu(self, result: str, x: str) -> list[str]:
        """One instruction where it keeps NaN; +0 is above -0 in it."""
        zero = float_bits(0.0)
        if self.target.has("max_nan"):
            return [f"max.NaN.f32 {result}, {x}, {zero};"]
        return [
            "{",
            ".reg .pred %negative;",
            f"setp.le.f32 %negative, {x}, {zero};",
            f"selp.f32 {result}, {zero}, {x}, %negative;",
            "}",
        ]

    def choose(self, primitive: P, result: str, operands: Sequence[str]) -> list[str]:
        """Without .NaN, an operand that is NaN is passed over: then the sum of both is NaN."""
        x, y = operands
        return [
            "{",
            ".reg .pred %nan;",
            ".reg .f32 %sum;",
            f"{primitive.value}.f32 {result}, {x}, {y};",
            f"add.f32 %sum, {x}, {y};",
            f"setp.nan.f32 %nan, {x}, {y};",
            f"selp.f32 {result}, %sum, {result}, %nan;",
            "}",
        ]
