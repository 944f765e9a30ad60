"""Expressions as LLVM IR, on scalars or vectors of floats or integers, for the families whose
kernels are that.

LLVM Language Reference, "Binary Operations", "Standard C/C++ Library Intrinsics". A family says in
a class of its own what it has of the primitives that IR leaves to it: EXP2, LOG2 and those with an
accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.targets.expressions import Renderer
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import REMAINDER
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

OPERATORS: Mapping[P, str] = {P.ADD: "fadd", P.SUB: "fsub", P.MUL: "fmul", P.DIV: "fdiv"}
INTRINSICS: Mapping[P, str] = {
    P.ABS: "llvm.fabs",
    P.FMA: "llvm.fma",
    P.MIN: "llvm.minimum",
    P.MAX: "llvm.maximum",
    P.MAXNUM: "llvm.maxnum",
    P.SQRT: "llvm.sqrt",
    P.EXP2: "llvm.exp2",
    P.LOG2: "llvm.log2",
    P.FLOOR: "llvm.floor",
    P.ROUND: "llvm.roundeven",
}
#: Reductions of a vector's lanes: the end of the name, and what sums and products begin with.
LANES: Mapping[P, tuple[str, float | None]] = {
    P.ADD: ("fadd", -0.0),
    P.MUL: ("fmul", 1.0),
    P.MIN: ("fminimum", None),
    P.MAX: ("fmaximum", None),
    P.MAXNUM: ("fmax", None),
}
#: Types that values are rounded to.
NARROW: Mapping[P, DType] = {P.TO_F16: DType.F16, P.TO_BF16: DType.BF16}
COMPARISONS: Mapping[P, str] = {P.LESS: "olt", P.LESS_EQUAL: "ole", P.EQUAL: "oeq"}


@frozen
class LlvmRenderer(Renderer):
    """Values are of `type`, truth values of its condition."""

    lanes: ClassVar[Mapping[P, tuple[str, float | None]]] = LANES
    type: FloatType

    @property
    def computes_in(self) -> DType:
        return self.type.dtype

    def constant(self, number: float) -> str:
        return self.type.constant(number)

    def intrinsic(self, primitive: P) -> str | None:
        """Return the intrinsic that computes a primitive, without its type."""
        return INTRINSICS.get(primitive)

    def flags(self, primitive: P) -> str:
        """Return the fast-math flags of a primitive's instruction, with a blank after them."""
        return ""

    def metadata(self, primitive: P) -> str:
        """Return the metadata after a primitive's instruction, with a comma before it."""
        return ""

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        t, p = self.type, step.primitive
        flags, metadata = self.flags(p), self.metadata(p)
        if p is P.RECIPROCAL:
            operands = (t.constant(1.0), *operands)
            return [f"{result} = fdiv {flags}{t} {', '.join(operands)}{metadata}"]
        if p is P.RSQRT:
            return [
                f"{result}.root = call {flags}{t} @llvm.sqrt.{t.suffix}({t} {operands[0]})"
                f"{self.metadata(P.SQRT)}",
                f"{result} = fdiv {flags}{t} {t.constant(1.0)}, {result}.root{metadata}",
            ]
        if p is P.NEG:
            return [f"{result} = fneg {t} {operands[0]}"]
        if p in NARROW:
            narrow = t.of(NARROW[p])
            return [
                f"{result}.narrow = fptrunc {t} {operands[0]} to {narrow}",
                f"{result} = fpext {narrow} {result}.narrow to {t}",
            ]
        if p in OPERATORS:
            return [f"{result} = {OPERATORS[p]} {flags}{t} {', '.join(operands)}{metadata}"]
        if p in COMPARISONS:
            return [f"{result} = fcmp {COMPARISONS[p]} {t} {', '.join(operands)}"]
        if p in (P.AND, P.OR):
            return [f"{result} = {p.value} {t.condition} {', '.join(operands)}"]
        if p is P.NOT:
            true = "true" if t.lanes == 1 else "splat (i1 true)"
            return [f"{result} = xor {t.condition} {operands[0]}, {true}"]
        if p is P.SELECT:
            condition, x, y = operands
            return [f"{result} = select {t.condition} {condition}, {t} {x}, {t} {y}"]
        typed = ", ".join(f"{t} {operand}" for operand in operands)
        if p is P.REMAINDER:
            return [f"{result} = call {t} @{REMAINDER}({typed})"]
        name = f"{self.intrinsic(p)}.{t.suffix}"
        return [f"{result} = call {flags}{t} @{name}({typed}){metadata}"]

    def move(self, result: str, operand: str) -> str:
        return moved(self.type, result, operand)

    def declarations(self, *expressions: Expression) -> Iterator[str]:
        """Yield the declarations of the intrinsics that expressions in calls need."""
        for step in steps(*map(self.lowered, expressions)):
            yield from self.declaration(step)

    def declaration(self, step: Expression) -> Iterator[str]:
        """Yield the declaration of the intrinsic that a step needs, if any."""
        t = self.type
        primitive = P.SQRT if step.primitive is P.RSQRT else step.primitive
        if name := self.intrinsic(primitive):
            count = 1 if step.primitive is P.RSQRT else len(step.arguments)
            yield f"{t} @{name}.{t.suffix}({', '.join([str(t)] * count)})"

    def across(self, combine: P, result: str, vector: str) -> str:
        """Return the line that reduces a vector's lanes; sums and products in any order."""
        t, (name, start) = self.type, self.lanes[combine]
        flags = "" if start is None else "reassoc "
        begin = "" if start is None else f"{t.element} {FloatType(dtype=t.dtype).constant(start)}, "
        intrinsic = f"@llvm.vector.reduce.{name}.{t.suffix}"
        return f"{result} = call {flags}{t.element} {intrinsic}({begin}{t} {vector})"

    def across_declaration(self, combine: P) -> str:
        t, (name, start) = self.type, self.lanes[combine]
        begin = "" if start is None else f"{t.element}, "
        return f"{t.element} @llvm.vector.reduce.{name}.{t.suffix}({begin}{t})"


def moved(type_: object, result: str, operand: str) -> str:
    """Return the line that renames a value: IR has no copy, but a cast to the same type."""
    return f"{result} = bitcast {type_} {operand} to {type_}"


WHOLE_OPERATORS: Mapping[P, str] = {
    P.ADD: "add",
    P.SUB: "sub",
    P.MUL: "mul",
    P.QUOTIENT: "sdiv",
    P.BITS_AND: "and",
    P.LESS: "icmp slt",
    P.LESS_EQUAL: "icmp sle",
    P.EQUAL: "icmp eq",
}
WHOLE_LANES: Mapping[P, tuple[str, float | None]] = {
    P.ADD: ("add", None),
    P.MUL: ("mul", None),
    P.MIN: ("smin", None),
    P.MAX: ("smax", None),
}
WHOLE_INTRINSICS: Mapping[P, str] = {P.ABS: "llvm.abs", P.MIN: "llvm.smin", P.MAX: "llvm.smax"}


@frozen
class LlvmWholeRenderer(LlvmRenderer):
    """On integers; the magnitude of the least one is itself."""

    lanes: ClassVar[Mapping[P, tuple[str, float | None]]] = WHOLE_LANES

    def intrinsic(self, primitive: P) -> str | None:
        return WHOLE_INTRINSICS.get(primitive)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        t, p = self.type, step.primitive
        if p in WHOLE_OPERATORS:
            return [f"{result} = {WHOLE_OPERATORS[p]} {t} {', '.join(operands)}"]
        if p is P.NEG:
            return [f"{result} = sub {t} {t.constant(0)}, {operands[0]}"]
        if p is P.ABS:
            return [f"{result} = call {t} @llvm.abs.{t.suffix}({t} {operands[0]}, i1 false)"]
        return super().instruction(step, result, operands)

    def declaration(self, step: Expression) -> Iterator[str]:
        if step.primitive is P.ABS:
            yield f"{self.type} @llvm.abs.{self.type.suffix}({self.type}, i1 immarg)"
        else:
            yield from super().declaration(step)
