"""Expressions as PTX: on registers of f32 or integers, or on elements as they are stored.

PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions" and "Comparison
and Selection Instructions". Errors in units of the last place: div.full 2, sqrt.approx,
rsqrt.approx and rcp.approx 1 or 2, ex2.approx 2; lg2.approx is within 2**-22, absolute between 1/2
and 2 and relative elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.storage import bits_of, sign_bit
from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.expressions import Renderer
from kgen_runtime.values import frozen

#: Opcodes, less the type of their operands.
OPCODES: Mapping[P, str] = {
    P.ADD: "add",
    P.SUB: "sub",
    P.MUL: "mul",
    P.DIV: "div.full",
    P.FMA: "fma.rn",
    P.NEG: "neg",
    P.ABS: "abs",
    P.MIN: "min.NaN",
    P.MAX: "max.NaN",
    P.MAXNUM: "max",
    P.SQRT: "sqrt.approx",
    P.RSQRT: "rsqrt.approx",
    P.RECIPROCAL: "rcp.approx.ftz",
    P.EXP2: "ex2.approx.ftz",
    P.LOG2: "lg2.approx",
    P.FLOOR: "cvt.rmi.f32",
    P.ROUND: "cvt.rni.f32",
    P.LESS: "setp.lt",
    P.LESS_EQUAL: "setp.le",
    P.EQUAL: "setp.eq",
}
LOGIC = frozenset({P.AND, P.OR, P.NOT})
COMPARISONS = frozenset({P.LESS, P.LESS_EQUAL, P.EQUAL})


@frozen
class RegisterType:
    """What a register holds: one number, or two of 16 bits. Prints as PTX's type."""

    dtype: DType
    lanes: int = 1

    def __str__(self) -> str:
        return f"{self.dtype}x2" if self.lanes == 2 else self.dtype

    @property
    def register(self) -> str:
        """The type that it is declared with."""
        return self.dtype if self.is_number else f"b{16 * self.lanes}"

    @property
    def is_number(self) -> bool:
        """It is computed with, whatever the tensors are: not the bits of what they hold."""
        return self.dtype is DType.F32 or self.dtype.is_integer

    def everywhere(self, bits: int) -> int:
        """The bits of an element, in every lane."""
        return bits << 16 | bits if self.lanes == 2 else bits


@frozen
class PtxRenderer(Renderer):
    """Operands are registers with their %, or literals of f32. Two lanes have neither predicates of
    their own nor a selection by them; bf16 is compared from sm_90 on, in a later PTX than ours."""

    target: Target
    type: RegisterType = RegisterType(dtype=DType.F32)

    @property
    def native(self) -> frozenset[str]:
        """relu is one instruction where it keeps NaN; +0 is above -0 in it."""
        return frozenset({"relu"} if self.target.has("max_nan") else ())

    @property
    def primitives(self) -> frozenset[P]:
        """In f32 all of them; less on elements as they are stored."""
        if self.type.dtype is DType.F32:
            return frozenset(P)
        found = {P.NEG, P.ABS}
        if self.target.has("max_nan"):
            found |= {P.MIN, P.MAX}
        if self.type.lanes == 1:
            found |= {P.SELECT, *LOGIC}
            found |= COMPARISONS if self.type.dtype is DType.F16 else set()
        return frozenset(found)

    def constant(self, number: float) -> str:
        """A literal, or a register of :meth:`constants`: 16-bit types have no literals."""
        return float_bits(number) if self.type.dtype is DType.F32 else f"%{self._name(number)}"

    def constants(self, *expressions: Expression) -> dict[str, str]:
        """Registers without % that expressions in calls need, and their bits."""
        if self.type.dtype is DType.F32:
            return {}
        found = self.steps(expressions)
        numbers = [s.number for s in found if s.primitive is P.CONSTANT]
        numbers += [0.0 for s in found if s.name == "relu"]
        return {self._name(n): f"0x{self.type.everywhere(self._bits(n)):X}" for n in numbers}

    def _name(self, number: float) -> str:
        return f"{self.type}_{self._bits(number):04x}"

    def _bits(self, number: float) -> int:
        bits = bits_of(number, self.type.dtype)
        assert bits is not None, number
        return bits

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        p, type_ = step.primitive, self.type
        joined = ", ".join([result, *operands])
        if step.name == "relu":
            return [f"max.NaN.{type_} {joined}, {self.constant(0.0)};"]
        if p is P.SELECT:
            condition, x, y = operands
            return [f"selp.{type_.register} {result}, {x}, {y}, {condition};"]
        if p in LOGIC:
            return [f"{p}.pred {joined};"]
        if p in (P.NEG, P.ABS) and type_.dtype is not DType.F32:
            sign = sign_bit(type_.dtype)
            word, bits = ("xor", sign) if p is P.NEG else ("and", sign - 1)
            return [f"{word}.{type_.register} {joined}, 0x{type_.everywhere(bits):X};"]
        if p in (P.MIN, P.MAX) and not self.target.has("max_nan"):
            return self.choose(p, result, operands)
        if p is P.TO_F16 or (p is P.TO_BF16 and self.target.has("bf16_cvt")):
            return to_half(p, result, *operands)
        if p is P.TO_BF16:
            return to_bf16(result, *operands)
        return [f"{OPCODES[p]}.{type_} {joined};"]

    def move(self, result: str, operand: str) -> str:
        return f"mov.{self.type.register} {result}, {operand};"

    def choose(self, primitive: P, result: str, operands: Sequence[str]) -> list[str]:
        """Without .NaN, an operand that is NaN is passed over: then the sum of both is NaN. (Not in
        %sum, which may be an operand: a row's.)"""
        x, y = operands
        return [
            "{",
            ".reg .pred %nan;",
            ".reg .f32 %nan_sum;",
            f"add.f32 %nan_sum, {x}, {y};",
            f"setp.nan.f32 %nan, {x}, {y};",
            f"{primitive.value}.f32 {result}, {x}, {y};",
            f"selp.f32 {result}, %nan_sum, {result}, %nan;",
            "}",
        ]


def to_half(primitive: P, result: str, x: str) -> list[str]:
    """The nearest number of 16 bits, as f32: bf16 is its upper half."""
    f16 = primitive is P.TO_F16
    widened = ["cvt.f32.f16 {}, %half;"] if f16 else ["mov.b32 {}, {{%zeros, %half}};"]
    return [
        "{",
        ".reg .b16 %half, %zeros;",
        *([] if f16 else ["mov.b16 %zeros, 0;"]),
        f"cvt.rn.{'f16' if f16 else 'bf16'}.f32 %half, {x};",
        *(line.format(result) for line in widened),
        "}",
    ]


def to_bf16(result: str, x: str) -> list[str]:
    """The same without the instruction: half of the last place is added, less one where a tie goes
    down, and the rest cut; a NaN gets a bit that survives the cut."""
    return [
        "{",
        ".reg .pred %nan;",
        ".reg .b32 %bits, %odd, %rounded, %quiet;",
        f"mov.b32 %bits, {x};",
        f"setp.nan.f32 %nan, {x}, {x};",
        "bfe.u32 %odd, %bits, 16, 1;",
        "add.u32 %rounded, %bits, 0x7FFF;",
        "add.u32 %rounded, %rounded, %odd;",
        "or.b32 %quiet, %bits, 0x400000;",
        "selp.b32 %rounded, %quiet, %rounded, %nan;",
        "and.b32 %rounded, %rounded, 0xFFFF0000;",
        f"mov.b32 {result}, %rounded;",
        "}",
    ]


WHOLE_OPCODES: Mapping[P, str] = {
    **OPCODES,
    P.MUL: "mul.lo",
    P.MIN: "min",
    P.MAX: "max",
    P.QUOTIENT: "div",
}


@frozen
class PtxWholeRenderer(PtxRenderer):
    """On registers of s32 or s64. PTX ISA, "Integer Arithmetic Instructions"."""

    @property
    def computes_in(self) -> DType:
        return self.type.dtype

    @property
    def native(self) -> frozenset[str]:
        return frozenset()

    def constant(self, number: float) -> str:
        return str(int(number))

    def constants(self, *expressions: Expression) -> dict[str, str]:
        return {}

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        if step.primitive in (P.SELECT, *LOGIC):
            return super().instruction(step, result, operands)
        joined = ", ".join([result, *operands])
        return [f"{WHOLE_OPCODES[step.primitive]}.{self.type} {joined};"]


def renderer_of(target: Target, type_: RegisterType) -> PtxRenderer:
    """What renders expressions on registers of a type."""
    renderer = PtxWholeRenderer if type_.dtype.is_integer else PtxRenderer
    return renderer(target=target, type=type_)
