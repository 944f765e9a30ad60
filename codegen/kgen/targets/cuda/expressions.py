"""Renderers of expressions as PTX. Registers hold f32, integers, or elements as they are stored.

Source: PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions" and
"Comparison and Selection Instructions". Errors in ulp: 2 for div.full and ex2.approx; 1 or 2 for
sqrt.approx, rsqrt.approx and rcp.approx. The error of lg2.approx is 2**-22, absolute between 1/2
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

#: Opcodes without the type of their operands.
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
    """Type of a register: one number, or two numbers of 16 bits. Its `str` is the PTX type."""

    dtype: DType
    lanes: int = 1

    def __str__(self) -> str:
        return f"{self.dtype}x2" if self.is_pair else self.dtype

    @property
    def is_pair(self) -> bool:
        return self.lanes == 2

    @property
    def register(self) -> str:
        """Type in the register's declaration."""
        return self.dtype if self.is_number else f"b{16 * self.lanes}"

    @property
    def is_number(self) -> bool:
        """Whether registers hold numbers to compute with; otherwise they hold the bits of a
        tensor's elements."""
        return self.dtype is DType.F32 or self.dtype.is_integer

    def everywhere(self, bits: int) -> int:
        """Return the bits of an element, repeated in every lane of the register."""
        return bits << 16 | bits if self.is_pair else bits


@frozen
class PtxRenderer(Renderer):
    """Renders expressions. Operands are registers with their %, or literals of f32.

    Registers of two lanes have neither a predicate per lane nor a selection by it. Comparisons of
    bf16 exist from sm_90 on, in a later PTX version than kernels require.
    """

    target: Target
    type: RegisterType = RegisterType(dtype=DType.F32)

    @property
    def native(self) -> frozenset[str]:
        """Functions with an instruction: relu where max.NaN exists, which takes +0 as above -0."""
        return frozenset({"relu"} if self.target.has("max_nan") else ())

    @property
    def primitives(self) -> frozenset[P]:
        """Supported primitives: all in f32, fewer on registers of stored elements."""
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
        """Return a literal or, because 16-bit types have none, a register of :meth:`constants`."""
        return float_bits(number) if self.type.dtype is DType.F32 else f"%{self._name(number)}"

    def constants(self, *expressions: Expression) -> dict[str, str]:
        """Return the registers of constants in the expressions, without %, and their bits."""
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
        if p is P.REMAINDER:
            return remainder(result, *operands)
        if p is P.TO_F16 or (p is P.TO_BF16 and self.target.has("bf16_cvt")):
            return to_half(p, result, *operands)
        if p is P.TO_BF16:
            return to_bf16(result, *operands)
        return [f"{OPCODES[p]}.{type_} {joined};"]

    def move(self, result: str, operand: str) -> str:
        return f"mov.{self.type.register} {result}, {operand};"

    def choose(self, primitive: P, result: str, operands: Sequence[str]) -> list[str]:
        """Return the lines of a minimum or maximum that propagates NaN.

        Without .NaN, the instruction ignores an operand that is NaN; the sum of both operands is
        NaN then. The sum does not go to %sum, which may be an operand (the sum of a row).
        """
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
    """Return the lines that round f32 to 16 bits and widen the result to f32. A bf16 number is the
    upper half of an f32."""
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
    """Return the lines that round f32 to bf16, to nearest even, without the instruction.

    They add 0x7FFF, and 1 more if the last bit that stays is odd, and clear the lower 16 bits. In a
    NaN they set a bit that stays.
    """
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


def remainder(result: str, x: str, y: str) -> list[str]:
    """Return the lines of an exact remainder. A loop divides the mantissas as integers, one bit of
    the quotient per iteration, as in fdlibm's e_fmod.c."""
    registers = [f"%{of}_{part}" for of in "xy" for part in ("bits", "size", "least", "mantissa")]
    names = (*registers, "%hidden", "%shift", "%turns", "%less", "%left", "%sign", "%power")
    split = [
        line
        for of, number in (("x", x), ("y", y))
        for line in (
            f"mov.f32 %{of}_number, {number};",
            f"mov.b32 %{of}_bits, %{of}_number;",
            f"and.b32 %{of}_size, %{of}_bits, 0x7FFFFFFF;",
            f"shr.u32 %{of}_least, %{of}_size, 23;",
            f"and.b32 %{of}_mantissa, %{of}_size, 0x7FFFFF;",
            f"min.s32 %hidden, %{of}_least, 1;",
            "shl.b32 %hidden, %hidden, 23;",
            f"or.b32 %{of}_mantissa, %{of}_mantissa, %hidden;",
            f"max.s32 %{of}_least, %{of}_least, 1;",
        )
    ]
    return [
        "{",
        f".reg .b32 {', '.join(names)};",
        ".reg .f32 %x_number, %y_number;",
        ".reg .pred %none, %y_none, %below, %more;",
        *split,
        # If y is subnormal, its leading bit moves to the place of a normal number's.
        "clz.b32 %shift, %y_mantissa;",
        "sub.s32 %shift, %shift, 8;",
        "shl.b32 %y_mantissa, %y_mantissa, %shift;",
        "sub.s32 %y_least, %y_least, %shift;",
        "sub.s32 %turns, %x_least, %y_least;",
        "mov.b32 %power, %x_size;",
        "and.b32 %sign, %x_bits, 0x80000000;",
        "sub.s32 %less, %y_size, 1;",
        "setp.hs.u32 %y_none, %less, 0x7F800000;",
        "setp.hs.or.u32 %none, %x_size, 0x7F800000, %y_none;",
        "@%none mov.b32 %power, 0x7FFFFFFF;",
        "@%none mov.b32 %turns, -1;",
        "setp.lt.s32 %below, %turns, 0;",
        "@%below bra $remainder_done;",
        "sub.s32 %less, %x_mantissa, %y_mantissa;",
        "min.u32 %left, %x_mantissa, %less;",
        "setp.eq.s32 %more, %turns, 0;",
        "@%more bra $remainder_found;",
        "$remainder_step:",
        "add.s32 %left, %left, %left;",
        "sub.s32 %less, %left, %y_mantissa;",
        "min.u32 %left, %left, %less;",
        "sub.s32 %turns, %turns, 1;",
        "setp.gt.s32 %more, %turns, 0;",
        "@%more bra $remainder_step;",
        "$remainder_found:",
        # Normalise: shift left to the leading bit, or right where y is subnormal.
        "clz.b32 %shift, %left;",
        "sub.s32 %shift, %shift, 8;",
        "sub.s32 %less, %y_least, 1;",
        "min.s32 %shift, %shift, %less;",
        "sub.s32 %power, %less, %shift;",
        "shl.b32 %power, %power, 23;",
        "sub.s32 %less, 0, %shift;",
        "max.s32 %less, %less, 0;",
        "max.s32 %shift, %shift, 0;",
        "setp.eq.s32 %more, %left, 0;",
        "shl.b32 %left, %left, %shift;",
        "shr.u32 %left, %left, %less;",
        "add.s32 %power, %power, %left;",
        "@%more mov.b32 %power, 0;",
        "$remainder_done:",
        "or.b32 %power, %power, %sign;",
        f"mov.b32 {result}, %power;",
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
    """Renders expressions on registers of s32 or s64. PTX ISA, "Integer Arithmetic
    Instructions"."""

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
        if step.primitive is P.BITS_AND:
            return [f"and.b{8 * self.type.dtype.itemsize} {joined};"]
        return [f"{WHOLE_OPCODES[step.primitive]}.{self.type} {joined};"]


def renderer_of(target: Target, type_: RegisterType) -> PtxRenderer:
    """Return the renderer of expressions on registers of a type."""
    renderer = PtxWholeRenderer if type_.dtype.is_integer else PtxRenderer
    return renderer(target=target, type=type_)
