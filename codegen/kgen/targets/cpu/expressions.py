"""Render expressions to LLVM IR for CPUs: in floats, integers, or bits of 16-bit elements.

A vector holds twice as many 16-bit elements as f32. exp2, log2 and the remainder are functions of
the kernel's own module, which calls no external function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.ops.signs import EXP2_NONPOSITIVE, with_nonpositive_exponentials
from kgen.ops.storage import infinity_bits, sign_bit
from kgen.spec import Elementwise
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import fuses, multiply_add
from kgen.targets.cpu.plan.vectors import UPPER_HALF, Vector
from kgen.targets.expressions import BitsRenderer
from kgen.targets.llvm_expressions import LlvmRenderer, LlvmWholeRenderer, moved
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Primitives that round values to a narrower type.
NARROWED = frozenset({P.TO_F32, P.TO_F16, P.TO_BF16})
#: Smallest power of two from which all floats are whole numbers; adding it to a smaller number
#: rounds that number to a whole one.
WHOLE = {DType.F32: 2.0**23, DType.F64: 2.0**52}


@frozen
class CpuRenderer(LlvmRenderer):
    """Renderer of floats. SSE2 lacks two instructions: additions replace rounding to whole numbers,
    and f64 arithmetic, in which the product of two f32 is exact, replaces fused multiply-adds."""

    target: Target
    #: Functions of the module that its kernel writes itself.
    inlined: frozenset[str] = frozenset()

    @property
    def native(self) -> frozenset[str]:
        return self.inlined | {EXP2_NONPOSITIVE}

    @property
    def rounds(self) -> bool:
        """Whether an instruction rounds to whole numbers."""
        return bool(self.target.features & {"sse4_1", "asimd"})

    def functions(self, *expressions: Expression) -> tuple[str, ...]:
        """Return the names of the module's functions that expressions call."""
        found = map(function_of, steps(*map(self.lowered, expressions)))
        return tuple(sorted({name for name in found if name} - self.inlined))

    def lowered(self, expression: Expression) -> Expression:
        return with_nonpositive_exponentials(super().lowered(expression), self.type.dtype)

    def intrinsic(self, primitive: P) -> str | None:
        if primitive in (P.EXP2, P.LOG2, P.MAXNUM):
            return None
        if primitive in (P.FLOOR, P.ROUND) and not self.rounds:
            return None
        if primitive is P.FMA and not fuses(self.target):
            return multiply_add(self.target) if self.type.dtype is DType.F64 else None
        return super().intrinsic(primitive)

    def flags(self, primitive: P) -> str:
        """Return fast-math flags. With nsz, x86 needs far fewer instructions for a maximum."""
        return "nsz " if primitive in (P.MIN, P.MAX) else ""

    def declarations(self, *expressions: Expression) -> Iterator[str]:
        yield from super().declarations(*expressions)
        if P.REMAINDER.value in self.functions(*expressions):
            yield from Remainder(type=self.type).declarations
        if not self.rounds:
            t = self.type
            yield f"{t} @llvm.fabs.{t.suffix}({t})"
            yield f"{t} @llvm.copysign.{t.suffix}({t}, {t})"

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        t, p = self.type, step.primitive
        if p is P.MAXNUM:
            # One x86 instruction computes this; its result is the second operand if one is NaN.
            return [
                f"{result}.above = fcmp ogt {t} {', '.join(operands)}",
                f"{result} = select {t.condition} {result}.above, {t} {operands[0]}, "
                f"{t} {operands[1]}",
            ]
        if (name := function_of(step)) is not None:
            typed = ", ".join(f"{t} {operand}" for operand in operands)
            return [f"{result} = call {t} @{name}({typed})"]
        if p in NARROWED and t.dtype is DType.F64:
            return self.by_single(step, result, operands[0])
        if p is P.TO_BF16:
            return self.to_bf16(result, operands[0])
        if p is P.TO_F16 and not self.target.features & {"f16c", "asimd"}:
            return self.to_f16_by_magic(result, operands[0])
        if p is P.FMA and not (fuses(self.target) or t.dtype is DType.F64):
            return self.fma_by_double(result, operands)
        if p is P.ROUND and not self.rounds:
            return self.round_by_magic(result, operands[0])
        if p is P.FLOOR and not self.rounds:
            return [
                *self.round_by_magic(f"{result}.near", operands[0]),
                f"{result}.above = fcmp ogt {t} {result}.near, {operands[0]}",
                f"{result}.less = fsub {t} {result}.near, {t.constant(1.0)}",
                f"{result} = select {t.condition} {result}.above, {t} {result}.less, "
                f"{t} {result}.near",
            ]
        return super().instruction(step, result, operands)

    def by_single(self, step: Expression, result: str, x: str) -> list[str]:
        """Return the lines that round f64 to f32, then to the type of `step`, and widen to f64."""
        t, single = self.type, self.type.of(DType.F32)
        near, lines = f"{result}.single", [f"{result}.single = fptrunc {t} {x} to {single}"]
        if step.primitive is not P.TO_F32:
            renderer, near = CpuRenderer(type=single, target=self.target), f"{result}.near"
            lines += renderer.instruction(step, near, [f"{result}.single"])
        return [*lines, f"{result} = fpext {single} {near} to {t}"]

    def fma_by_double(self, result: str, operands: Sequence[str]) -> list[str]:
        t, wide = self.type, FloatType(dtype=DType.F64, lanes=self.type.lanes)
        names = [f"{result}.{letter}" for letter in "xyz"]
        return [
            *(
                f"{name} = fpext {t} {operand} to {wide}"
                for name, operand in zip(names, operands, strict=True)
            ),
            f"{result}.product = fmul {wide} {names[0]}, {names[1]}",
            f"{result}.sum = fadd {wide} {result}.product, {names[2]}",
            f"{result} = fptrunc {wide} {result}.sum to {t}",
        ]

    def to_bf16(self, result: str, x: str) -> list[str]:
        """Return the lines that round f32 to bf16, the upper half of its bits. They add 0x7FFF, or
        0x8000 if the lowest bit of the upper half is set, so ties round to even. A NaN gets a bit
        in the upper half, so that it stays a NaN."""
        t, bits = self.type, self.type.of(DType.S32)
        return [
            f"{result}.bits = bitcast {t} {x} to {bits}",
            f"{result}.high = lshr {bits} {result}.bits, {bits.constant(16)}",
            f"{result}.odd = and {bits} {result}.high, {bits.constant(1)}",
            f"{result}.half = add {bits} {result}.bits, {bits.constant(0x7FFF)}",
            f"{result}.up = add {bits} {result}.half, {result}.odd",
            f"{result}.nan = fcmp uno {t} {x}, {x}",
            f"{result}.quiet = or {bits} {result}.bits, {bits.constant(0x400000)}",
            f"{result}.any = select {t.condition} {result}.nan, {bits} {result}.quiet, "
            f"{bits} {result}.up",
            f"{result}.kept = and {bits} {result}.any, {bits.constant(UPPER_HALF)}",
            f"{result} = bitcast {bits} {result}.kept to {t}",
        ]

    def to_f16_by_magic(self, result: str, x: str) -> list[str]:
        """Return the lines that round f32 to the values of f16. They add 1.5 * 2^13 * p to the
        magnitude and subtract it again, which rounds to ten bits; p is the magnitude's power of
        two, at least 2^-14. A result of 65520 or more is infinite."""
        t, bits = self.type, self.type.of(DType.S32)
        least, shift = bits.constant((127 - 14) << 23), bits.constant((13 << 23) + (1 << 22))
        infinity = t.constant(math.inf)
        return [
            f"{result}.bits = bitcast {t} {x} to {bits}",
            f"{result}.sign = and {bits} {result}.bits, {bits.constant(-(2**31))}",
            f"{result}.size.bits = and {bits} {result}.bits, {bits.constant(0x7FFFFFFF)}",
            f"{result}.size = bitcast {bits} {result}.size.bits to {t}",
            f"{result}.own = and {bits} {result}.bits, {bits.constant(0x7F800000)}",
            f"{result}.normal = icmp sgt {bits} {result}.own, {least}",
            f"{result}.power = select {t.condition} {result}.normal, {bits} {result}.own, "
            f"{bits} {least}",
            f"{result}.magic.bits = add {bits} {result}.power, {shift}",
            f"{result}.magic = bitcast {bits} {result}.magic.bits to {t}",
            f"{result}.sum = fadd {t} {result}.size, {result}.magic",
            f"{result}.rounded = fsub {t} {result}.sum, {result}.magic",
            f"{result}.beyond = fcmp oge {t} {result}.size, {t.constant(65520.0)}",
            f"{result}.any = select {t.condition} {result}.beyond, {t} {infinity}, "
            f"{t} {result}.rounded",
            f"{result}.any.bits = bitcast {t} {result}.any to {bits}",
            f"{result}.signed = or {bits} {result}.any.bits, {result}.sign",
            f"{result} = bitcast {bits} {result}.signed to {t}",
        ]

    def round_by_magic(self, result: str, x: str) -> list[str]:
        """Return the lines that round to a whole number; they leave large numbers, infinity and
        NaN unchanged."""
        t, magic = self.type, self.type.constant(WHOLE[self.type.dtype])
        return [
            f"{result}.size = call {t} @llvm.fabs.{t.suffix}({t} {x})",
            f"{result}.shifted = fadd {t} {result}.size, {magic}",
            f"{result}.whole = fsub {t} {result}.shifted, {magic}",
            f"{result}.signed = call {t} @llvm.copysign.{t.suffix}({t} {result}.whole, {t} {x})",
            f"{result}.small = fcmp olt {t} {result}.size, {magic}",
            f"{result} = select {t.condition} {result}.small, {t} {result}.signed, {t} {x}",
        ]


@frozen
class CpuWholeRenderer(LlvmWholeRenderer):
    """Renderer of integers. CPUs lack vector instructions for integer division; f64 divides s32
    exactly."""

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        t, wide = self.type, self.type.of(DType.F64)
        if step.primitive is not P.QUOTIENT or t.dtype is not DType.S32:
            return super().instruction(step, result, operands)
        x, y = operands
        return [
            f"{result}.x = sitofp {t} {x} to {wide}",
            f"{result}.y = sitofp {t} {y} to {wide}",
            f"{result}.exact = fdiv {wide} {result}.x, {result}.y",
            f"{result} = fptosi {wide} {result}.exact to {t}",
        ]


@frozen
class CpuBitsRenderer(BitsRenderer):
    """Renderer of the bits of 16-bit elements, as vectors of integers."""

    type: Vector

    def literal(self, bits: int) -> str:
        if not bits:
            return "zeroinitializer"
        # LLVM reads integers whose highest bit is set as negative numbers.
        sign = sign_bit(self.dtype)
        return self.type.splat(bits if bits < sign else bits - 2 * sign)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        t, p, x = self.type, step.primitive, operands[0]
        infinity = self.literal(infinity_bits(self.dtype))
        sign, magnitude = sign_bit(self.dtype), self.literal(sign_bit(self.dtype) - 1)
        if step.name == "relu":
            return [
                f"{result}.distance = sub {t} {x}, {self.literal(sign)}",
                f"{result}.negative = icmp ule {t} {result}.distance, {infinity}",
                f"{result} = select {t.mask} {result}.negative, {t} zeroinitializer, {t} {x}",
            ]
        if step.name == "isnan":
            return [
                f"{result}.magnitude = and {t} {x}, {magnitude}",
                f"{result} = icmp ugt {t} {result}.magnitude, {infinity}",
            ]
        if p is P.NEG:
            return [f"{result} = xor {t} {x}, {self.literal(sign)}"]
        if p is P.ABS:
            return [f"{result} = and {t} {x}, {magnitude}"]
        if p is P.NOT:
            return [f"{result} = xor {t.mask} {x}, splat (i1 true)"]
        if p is P.SELECT:
            condition, chosen, other = operands
            return [f"{result} = select {t.mask} {condition}, {t} {chosen}, {t} {other}"]
        return [f"{result} = {p.value} {t.mask} {', '.join(operands)}"]

    def move(self, result: str, operand: str) -> str:
        return moved(self.type, result, operand)


def renderer_of(dtype: DType, lanes: int, target: Target) -> CpuRenderer | CpuWholeRenderer:
    type_ = FloatType(dtype=dtype, lanes=lanes)
    return (
        CpuWholeRenderer(type=type_) if dtype.is_integer else CpuRenderer(type=type_, target=target)
    )


def on_bits(spec: Elementwise) -> bool:
    """Return whether the kernel computes on the bits of 16-bit elements. The expression must be
    exact and use only primitives that CpuBitsRenderer has."""
    renderer = CpuBitsRenderer(dtype=spec.dtype, type=Vector(count=1, scalar="i16"))
    return spec.dtype.itemsize == 2 and spec.is_exact and renderer.has(*spec.calls)


def function_of(step: Expression) -> str | None:
    """Return the name of the module's function that computes a step; None for instructions."""
    if step.primitive is P.CALL:
        return step.name
    return step.primitive.value if step.primitive in (P.EXP2, P.LOG2, P.REMAINDER) else None
