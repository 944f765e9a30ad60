"""Expressions as SPIR-V, on 32-bit floats or on the bits of stored elements.

Errors (Vulkan 1.3, "Precision and Operation of SPIR-V Instructions"): division 2.5 ulp, Sqrt as 1
over InverseSqrt (2 ulp), Exp2 3 + 2 |x| ulp, Log2 3 ulp, or 2^-21 absolute next to 1.

Drivers preserve NaN and infinity, but guarantee it only with float controls. They replace x - x,
x * 0 and 0 / x by 0, and x / 0 by infinity. So kernels test for NaN by its bits.

A driver may move a constant from one addition to another unless NoContraction forbids it: Mesa
computes c + (x - y) as (c + x) - y, whose error is that of c + x even if x and y are close, and can
exceed the formula's tolerance. So additions and subtractions of formulas are `ordered`: the module
decorates them with NoContraction. The additions that fold a row are not, because their order is not
specified.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.storage import infinity_bits, sign_bit
from kgen.spec import DType, Elementwise
from kgen.targets.expressions import BitsRenderer, Renderer
from kgen.targets.vulkan.plan.declarations import pair_name
from kgen_runtime.values import frozen

OPCODES: Mapping[P, str] = {
    P.ADD: "OpFAdd %float",
    P.SUB: "OpFSub %float",
    P.MUL: "OpFMul %float",
    P.DIV: "OpFDiv %float",
    P.FMA: "OpExtInst %float %glsl Fma",
    P.NEG: "OpFNegate %float",
    P.ABS: "OpExtInst %float %glsl FAbs",
    P.MAXNUM: "OpExtInst %float %glsl FMax",
    P.SQRT: "OpExtInst %float %glsl Sqrt",
    P.RECIPROCAL: "OpFDiv %float %float_1",
    P.EXP2: "OpFunctionCall %float %exp2",
    P.LOG2: "OpFunctionCall %float %log2",
    P.REMAINDER: "OpFunctionCall %float %remainder",
    P.FLOOR: "OpExtInst %float %glsl Floor",
    P.ROUND: "OpExtInst %float %glsl RoundEven",
    P.LESS: "OpFOrdLessThan %bool",
    P.LESS_EQUAL: "OpFOrdLessThanEqual %bool",
    P.EQUAL: "OpFOrdEqual %bool",
    P.AND: "OpLogicalAnd %bool",
    P.OR: "OpLogicalOr %bool",
    P.NOT: "OpLogicalNot %bool",
    P.SELECT: "OpSelect %float",
}


#: Types to which primitives round.
NARROW: Mapping[P, DType] = {P.TO_F16: DType.F16, P.TO_BF16: DType.BF16}


class IdRenderer(Renderer):
    """Renders expressions on ids (with their %) of type `scalar`.

    Names of values that are computed from loaded elements end in `suffix`. Integers need neither
    helper functions nor constants: their ids are named for their values.
    """

    scalar: ClassVar[str] = "uint"
    suffix: ClassVar[str] = ""

    def move(self, result: str, operand: str) -> str:
        return f"{result} = OpCopyObject %{self.scalar} {operand}"

    def functions(self, *expressions: Expression) -> Iterator[str]:
        """Yield the helper functions of the module that expressions in calls need."""
        return iter(())

    def constants(self, *expressions: Expression, further: Iterable[float] = ()) -> dict[str, str]:
        """Return the expressions' constants, and further ones, as literals by name."""
        return {}


class SpirvRenderer(IdRenderer):
    """Renders expressions on ids of 32-bit floats."""

    scalar: ClassVar[str] = "float"
    suffix: ClassVar[str] = "_float"

    @property
    def native(self) -> frozenset[str]:
        return frozenset({"relu", "isnan"})

    def constant(self, number: float) -> str:
        return f"%{_name(number)}"

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        joined = " ".join(operands)
        if step.name == "relu":
            return [f"{result} = OpFunctionCall %float %relu {joined}"]
        if step.name == "isnan":
            return _is_nan(result, operands[0])
        if step.primitive in (P.MIN, P.MAX):
            return _choose(step.primitive, result, operands)
        if step.primitive is P.SUB and not self.is_ordered(step):
            return _less_itself(result, operands[0])
        if step.primitive in (P.MUL, P.DIV) and any(map(_is_zero, step.arguments)):
            return _with_zero(step, result, operands)
        if step.primitive in NARROW:
            dtype = NARROW[step.primitive]
            return [
                f"{result}_bits = OpBitcast %uint {joined}",
                f"{result}_narrow = OpFunctionCall %uint %narrow_{dtype} {result}_bits",
                f"{result}_wide = OpFunctionCall %uint %widen_{dtype} {result}_narrow",
                f"{result} = OpBitcast %float {result}_wide",
            ]
        if step.primitive is P.RSQRT:
            return [
                f"{result}_root = OpExtInst %float %glsl Sqrt {joined}",
                f"{result} = OpFDiv %float %float_1 {result}_root",
            ]
        return [f"{result} = {OPCODES[step.primitive]} {joined}"]

    def is_ordered(self, step: Expression) -> bool:
        """Return whether a step is an addition or subtraction, but not of a number from itself."""
        if step.primitive is P.SUB:
            return step.arguments[0] is not step.arguments[1]
        return step.primitive is P.ADD

    def functions(self, *expressions: Expression) -> Iterator[str]:
        found = self.steps(expressions)
        if any(step.name == "relu" for step in found):
            yield "relu"
        for primitive in (P.EXP2, P.LOG2, P.REMAINDER):
            if any(step.primitive is primitive for step in found):
                yield primitive.value
        for primitive, dtype in NARROW.items():
            if any(step.primitive is primitive for step in found):
                yield from (f"narrow_{dtype}", f"widen_{dtype}")

    def constants(self, *expressions: Expression, further: Iterable[float] = ()) -> dict[str, str]:
        numbers = (s.number for s in self.steps(expressions) if s.primitive == "constant")
        return {_name(number): _literal(number) for number in (*numbers, *further)}


@frozen
class SpirvBitsRenderer(IdRenderer, BitsRenderer):
    """Renders expressions on ids of 32-bit integers that hold the bits of a `dtype`. So the
    device's arithmetic on NaN and subnormal numbers does not matter."""

    def literal(self, bits: int) -> str:
        return _uint(bits)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        joined, sign = " ".join(operands), sign_bit(self.dtype)
        magnitude = f"%uint_0x{sign - 1:x}"
        if step.name == "relu":
            return [f"{result} = OpFunctionCall %uint %relu_{self.dtype} {joined}"]
        if step.name == "isnan":
            return [
                f"{result}_magnitude = OpBitwiseAnd %uint {joined} {magnitude}",
                f"{result} = OpUGreaterThan %bool {result}_magnitude "
                f"%uint_0x{infinity_bits(self.dtype):x}",
            ]
        if step.primitive is P.NEG:
            return [f"{result} = OpBitwiseXor %uint {joined} %uint_0x{sign:x}"]
        if step.primitive is P.ABS:
            return [f"{result} = OpBitwiseAnd %uint {joined} {magnitude}"]
        opcode = "OpSelect %uint" if step.primitive is P.SELECT else OPCODES[step.primitive]
        return [f"{result} = {opcode} {joined}"]

    def functions(self, *expressions: Expression) -> Iterator[str]:
        if any(step.name == "relu" for step in self.steps(expressions)):
            yield f"relu_{self.dtype}"


WHOLE_OPCODES: Mapping[P, str] = {
    P.ADD: "OpIAdd %uint",
    P.SUB: "OpISub %uint",
    P.MUL: "OpIMul %uint",
    P.NEG: "OpISub %uint %uint_0",
    P.LESS: "OpSLessThan %bool",
    P.LESS_EQUAL: "OpSLessThanEqual %bool",
    P.EQUAL: "OpIEqual %bool",
    P.SELECT: "OpSelect %uint",
    **{logic: OPCODES[logic] for logic in (P.AND, P.OR, P.NOT)},
}


class SpirvWholeRenderer(IdRenderer):
    """Renders expressions on s32, in ids of unsigned integers. SPIR-V's instructions define the
    signedness of their operands; naga follows that only in comparisons."""

    suffix: ClassVar[str] = "_whole"

    @property
    def computes_in(self) -> DType:
        return DType.S32

    def constant(self, number: float) -> str:
        return _uint(int(number) & 0xFFFFFFFF)

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        p, x = step.primitive, operands[0]
        if p is P.ABS:
            opposite = f"{result}_opposite"
            return [self._line(P.NEG, opposite, x), *self._larger(result, x, opposite)]
        if p is P.MIN:
            less = self._line(P.LESS, f"{result}_compared", *operands)
            return [less, self._line(P.SELECT, result, f"{result}_compared", *operands)]
        if p is P.MAX:
            return self._larger(result, *operands)
        if p is P.QUOTIENT:
            return [
                *(
                    f"{result}_{n} = OpBitcast %int {x}"
                    for n, x in zip("xy", operands, strict=True)
                ),
                f"{result}_int = OpSDiv %int {result}_x {result}_y",
                f"{result} = OpBitcast %uint {result}_int",
            ]
        if p is P.BITS_AND:
            return [f"{result} = OpBitwiseAnd %{self.scalar} {' '.join(operands)}"]
        return [self._line(p, result, *operands)]

    def _larger(self, result: str, x: str, y: str) -> list[str]:
        less = self._line(P.LESS, f"{result}_compared", x, y)
        return [less, self._line(P.SELECT, result, f"{result}_compared", y, x)]

    def _line(self, primitive: P, result: str, *operands: str) -> str:
        return f"{result} = {WHOLE_OPCODES[primitive]} {' '.join(operands)}"


#: Primitives of s64 that are functions of the module, and the type of their values.
PAIR_FUNCTIONS: Mapping[P, tuple[str, str]] = {
    P.ADD: ("s64_add", "uvec2"),
    P.SUB: ("s64_sub", "uvec2"),
    P.MUL: ("s64_mul", "uvec2"),
    P.QUOTIENT: ("s64_quotient", "uvec2"),
    P.LESS: ("s64_less", "bool"),
    P.EQUAL: ("s64_equal", "bool"),
    P.SELECT: ("s64_select", "uvec2"),
}
#: Functions that other functions of the module call.
MADE_OF: Mapping[P, tuple[P, ...]] = {
    P.NEG: (P.SUB,),
    P.ABS: (P.SUB, P.LESS, P.SELECT),
    P.MIN: (P.LESS, P.SELECT),
    P.MAX: (P.LESS, P.SELECT),
    P.LESS_EQUAL: (P.LESS,),
}


class SpirvPairRenderer(SpirvWholeRenderer):
    """Renders expressions on s64, in ids of pairs of words (templates/spirv/lib/pairs.j2)."""

    scalar: ClassVar[str] = "uvec2"

    @property
    def computes_in(self) -> DType:
        return DType.S64

    def constant(self, number: float) -> str:
        return f"%{pair_name(int(number))}"

    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        if step.primitive is P.LESS_EQUAL:
            above = self._line(P.LESS, f"{result}_above", operands[1], operands[0])
            return [above, f"{result} = OpLogicalNot %bool {result}_above"]
        if step.primitive is P.QUOTIENT:
            return [self._line(P.QUOTIENT, result, *operands)]
        return super().instruction(step, result, operands)

    def _line(self, primitive: P, result: str, *operands: str) -> str:
        if primitive is P.NEG:
            return self._line(P.SUB, result, self.constant(0), *operands)
        if primitive not in PAIR_FUNCTIONS:
            return super()._line(primitive, result, *operands)
        name, type_ = PAIR_FUNCTIONS[primitive]
        return f"{result} = OpFunctionCall %{type_} %{name} {' '.join(operands)}"

    def functions(self, *expressions: Expression) -> Iterator[str]:
        found = {step.primitive for step in self.steps(expressions)}
        found |= {part for p in found for part in MADE_OF.get(p, ())}
        yield from (name for p, (name, _) in PAIR_FUNCTIONS.items() if p in found)


def renderer_for(spec: Elementwise) -> SpirvRenderer | SpirvBitsRenderer | SpirvWholeRenderer:
    """Return the renderer of a spec's expression: on integers if it is computed in integers, on
    bits if it is exact in the elements' type and bits suffice for all its steps, else on floats."""
    if spec.compute.is_integer:
        return SpirvPairRenderer() if spec.compute is DType.S64 else SpirvWholeRenderer()
    on_bits = SpirvBitsRenderer(dtype=spec.dtype)
    return on_bits if spec.is_exact and on_bits.has(*spec.calls) else SpirvRenderer()


def _is_nan(result: str, x: str) -> list[str]:
    return [
        f"{result}_bits = OpBitcast %uint {x}",
        f"{result}_magnitude = OpBitwiseAnd %uint {result}_bits %uint_0x7fffffff",
        f"{result} = OpUGreaterThan %bool {result}_magnitude %uint_0x7f800000",
    ]


def _choose(primitive: P, result: str, operands: Sequence[str]) -> list[str]:
    """Return the lines of a minimum or maximum. FMin and FMax may return either operand if one is
    NaN; the result is their sum then."""
    x, y = operands
    word = primitive.value.capitalize()
    return [
        f"{result}_number = OpExtInst %float %glsl F{word} {x} {y}",
        f"{result}_sum = OpFAdd %float {x} {y}",
        *_is_nan(f"{result}_x_nan", x),
        *_is_nan(f"{result}_y_nan", y),
        f"{result}_nan = OpLogicalOr %bool {result}_x_nan {result}_y_nan",
        f"{result} = OpSelect %float {result}_nan {result}_sum {result}_number",
    ]


def _less_itself(result: str, x: str) -> list[str]:
    """Return the lines that compute x - x: 0, or NaN unless x is finite."""
    return [
        f"{result}_bits = OpBitcast %uint {x}",
        f"{result}_magnitude = OpBitwiseAnd %uint {result}_bits %uint_0x7fffffff",
        f"{result}_finite = OpULessThan %bool {result}_magnitude %uint_0x7f800000",
        f"{result}_nan = OpBitcast %float %uint_0x7fc00000",
        f"{result} = OpSelect %float {result}_finite %float_0 {result}_nan",
    ]


def _is_zero(argument: Expression) -> bool:
    """Return whether an argument is a constant that is zero in f32."""
    return argument.primitive is P.CONSTANT and not _bits(argument.number) & 0x7FFFFFFF


def _with_zero(step: Expression, result: str, operands: Sequence[str]) -> list[str]:
    """Return the lines of a product or quotient of x and a constant zero.

    The result has the sign of both operands. It is zero, or infinity for x / 0. It is NaN if x is
    NaN, if x is infinite in a product, or if x is zero in a quotient.
    """
    at = 1 if _is_zero(step.arguments[1]) else 0
    number, magnitude = _bits(step.arguments[at].number), f"{result}_magnitude"
    has_sign = [f"{result}_has_sign = OpULessThan %bool {magnitude} %uint_0x7f800000"]
    if step.primitive is P.DIV:
        number |= 0x7F800000 if at == 1 else 0
        has_sign = [
            # True from the smallest number to infinity.
            f"{result}_above = OpISub %uint {magnitude} %uint_0x1",
            f"{result}_has_sign = OpULessThan %bool {result}_above %uint_0x7f800000",
        ]
    return [
        f"{result}_bits = OpBitcast %uint {operands[1 - at]}",
        f"{magnitude} = OpBitwiseAnd %uint {result}_bits %uint_0x7fffffff",
        *has_sign,
        f"{result}_sign = OpBitwiseAnd %uint {result}_bits %uint_0x80000000",
        f"{result}_signed = OpBitwiseXor %uint {result}_sign {_uint(number)}",
        f"{result}_chosen = OpSelect %uint {result}_has_sign {result}_signed %uint_0x7fc00000",
        f"{result} = OpBitcast %float {result}_chosen",
    ]


def _uint(bits: int) -> str:
    """Return the id of an integer, which is named for its value."""
    return f"%uint_0x{bits:x}" if bits else "%uint_0"


def _bits(number: float) -> int:
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return int(bits)


def _name(number: float) -> str:
    """Return an id that names the value by the hexadecimal digits of its bits."""
    return f"f32_{_bits(number):08x}"


def _literal(number: float) -> str:
    """Return the literal of a number. SPIR-V assembly writes infinity and NaN as numbers with the
    exponent 128."""
    (rounded,) = struct.unpack("<f", struct.pack("<I", _bits(number)))
    if rounded != rounded:
        return "0x1.8p+128"
    if rounded in (float("inf"), float("-inf")):
        return f"{'-' if rounded < 0 else ''}0x1p+128"
    return repr(rounded)
