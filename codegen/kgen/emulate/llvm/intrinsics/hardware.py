"""AMD-specific arithmetic intrinsics: V_SIN, V_FREXP, FP8 conversion, 24-bit products, V_SAD.

Sources: LLVM "User Guide for AMDGPU Backend" (intrinsics) and the CDNA3 and RDNA3 instruction set
manuals, under the instructions' names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate import minifloat
from kgen.emulate.bits import parts
from kgen.emulate.floats import fma
from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.intrinsics.matrix_operands import minifloat_name, minifloats
from kgen.emulate.llvm.numbers import floating, lifted, widen
from kgen.emulate.llvm.types import Array

# -- floating point -----------------------------------------------------------------------------


def _of_revolutions(function: Any) -> Callable[[LlvmInstruction], Callable[..., Array]]:
    """V_SIN and V_COS: apply ``function`` to 2 pi times the operand."""

    def turn(a: Array) -> Array:
        angle = np.remainder(a.astype(np.float64), 1.0) * (2 * np.pi)
        return np.asarray(function(angle)).astype(a.dtype)

    return lambda ins: lifted(turn, floating(ins.type))


def _multiply_legacy(a: Array, b: Array) -> Array:
    """V_MUL_LEGACY: multiply, with zero times anything being zero."""
    return np.where((a == 0) | (b == 0), a.dtype.type(0), a * b)


def _fused_legacy(a: Array, b: Array, c: Array) -> Array:
    zero = (a == 0) | (b == 0)
    return np.where(zero, c + a.dtype.type(0), fma(a, b, c))


def _exponent(ins: LlvmInstruction) -> Callable[[Array], Array]:
    """V_FREXP_EXP: return the exponent for a mantissa in [0.5, 1); 0 for infinity and NaN."""
    type_, dtype = floating(ins.operands[0].type), ins.type.dtype

    def exponent(a: Array) -> Array:
        value = widen(a, type_)
        found = np.where(np.isfinite(value), np.frexp(value)[1], 0)
        return np.asarray(found).astype(f"i{dtype.itemsize}").view(dtype)

    return exponent


def _mantissa(ins: LlvmInstruction) -> Callable[[Array], Array]:
    return lifted(lambda a: np.frexp(a)[0], floating(ins.type))


def _from_minifloat(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_CVT_F32_FP8 and V_CVT_PK_F32_FP8: convert the byte or byte pair that the second operand
    selects."""
    pair, kind = ".pk." in ins.callee, ins.callee[-3:]
    which = immediate(ins.operands[1])

    def convert(m: Machine, word: Array, _: Array) -> Array:
        codes = parts(word, np.uint8)
        table = minifloats(m, kind)
        return table.take(codes[..., 2 * which : 2 * which + 2] if pair else codes[..., which])

    return convert


def _to_minifloats(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_CVT_PK_FP8_F32: convert two numbers into the low or the high half of the old word.

    A number beyond the largest finite one becomes infinity or NaN, because kernels leave
    MODE.FP16_OVFL at 0.
    """
    kind, high = ins.callee.split(".")[4], immediate(ins.operands[3])

    def convert(m: Machine, a: Array, b: Array, old: Array, _: Array) -> Array:
        name = minifloat_name(m, kind)
        low, upper = (
            minifloat.encode(name, number, saturate=False).astype(np.uint32) for number in (a, b)
        )
        half, shift = low | upper << np.uint32(8), np.uint32(16 if high else 0)
        kept = old & ~(np.uint32(0xFFFF) << shift)
        return np.asarray(kept | half << shift)

    return convert


#: HW_REG_XCC_ID of gfx942 and gfx950. The operand of s_getreg is id | offset << 6 | (size - 1) <<
#: 11.
_XCC_ID, _XCC_PROCESSORS, _XCCS = 20, ("gfx942", "gfx950"), 8


def _get_register(ins: LlvmInstruction) -> Callable[..., Array]:
    """S_GETREG_B32 of HW_REG_XCC_ID: return the number of the XCD (CDNA3 manual, "Hardware register
    values").

    Neighbouring workgroups get different XCDs. A kernel may not rely on the assignment, so it
    changes with the launch's seed. Other registers and other processors are a fault.
    """
    asked = immediate(ins.operands[0])
    number, offset, size = asked & 63, asked >> 6 & 31, (asked >> 11 & 31) + 1

    def get(m: Machine, _: Array) -> Array:
        if number != _XCC_ID or m.processor not in _XCC_PROCESSORS:
            text = f"hardware register {number} of {m.processor}"
            raise fault(m, "trap", text, ins, m.selected())
        xcc = (m.coordinates.sum(axis=1, keepdims=True) + m.seed) % _XCCS
        return np.asarray(xcc >> offset & ((1 << size) - 1)).astype(np.uint32)

    return get


# -- integers -----------------------------------------------------------------------------------

_LOW_24 = 0xFFFFFF


def _multiply_24(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """V_MUL_U24, V_MUL_I24 and their high halves: multiply the lower 24 bits."""
    is_signed, high = ".i24" in ins.callee, "mulhi" in ins.callee
    dtype = ins.type.dtype

    def multiply(a: Array, b: Array) -> Array:
        a, b = (x.astype(np.int64) & _LOW_24 for x in (a, b))
        if is_signed:
            a, b = ((x ^ 0x800000) - 0x800000 for x in (a, b))
        product = a * b
        return np.asarray(product >> 32 if high else product).astype(dtype)

    return multiply


def _sum_of_differences(a: Array, b: Array, c: Array) -> Array:
    """V_SAD_U8: return c plus the absolute differences of the four bytes."""
    x, y = (parts(v, np.uint8).astype(np.int64) for v in (a, b))
    return np.asarray(np.abs(x - y).sum(axis=-1) + c).astype(np.uint32)


def _align_bytes(a: Array, b: Array, c: Array) -> Array:
    """V_ALIGNBYTE: return the four bytes of ``a:b`` from byte c (modulo 4) on."""
    both = a.astype(np.uint64) << np.uint64(32) | b
    return (both >> ((c.astype(np.uint64) & np.uint64(3)) * np.uint64(8))).astype(np.uint32)


def _dot_of_signs(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_DOT4_I32_IU8: return c plus four products of bytes.

    The flag operand before each factor says whether its bytes are signed.
    """
    first, second = (np.int8 if immediate(ins.operands[i]) else np.uint8 for i in (0, 2))
    if immediate(ins.operands[5]):
        raise TypeError("sudot4 with clamp")

    def dot(_: Array, a: Array, __: Array, b: Array, c: Array, *rest: Array) -> Array:
        total = (parts(a, first).astype(np.int64) * parts(b, second)).sum(axis=-1) + c
        return np.asarray(total).astype(np.uint32)

    return dot


PURE: dict[str, Build] = {
    "llvm.amdgcn.sin": _of_revolutions(np.sin),
    "llvm.amdgcn.cos": _of_revolutions(np.cos),
    "llvm.amdgcn.fmul.legacy": fixed(_multiply_legacy),
    "llvm.amdgcn.fma.legacy": fixed(_fused_legacy),
    "llvm.amdgcn.frexp.exp": _exponent,
    "llvm.amdgcn.frexp.mant": _mantissa,
    **{
        f"llvm.amdgcn.{mul}.{type_}": _multiply_24
        for mul in ("mul", "mulhi")
        for type_ in ("u24", "i24")
    },
    "llvm.amdgcn.sad.u8": fixed(_sum_of_differences),
    "llvm.amdgcn.alignbyte": fixed(_align_bytes),
    "llvm.amdgcn.sudot4": _dot_of_signs,
}
EFFECTS: dict[str, Build] = {
    f"llvm.amdgcn.cvt.{shape}f32.{kind}": _from_minifloat
    for shape in ("", "pk.")
    for kind in ("fp8", "bf8")
} | {
    "llvm.amdgcn.cvt.pk.fp8.f32": _to_minifloats,
    "llvm.amdgcn.cvt.pk.bf8.f32": _to_minifloats,
    "llvm.amdgcn.s.getreg": _get_register,
}
