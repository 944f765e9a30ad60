"""Integer intrinsics: minimum, maximum, bit counts, rotation, overflow checks, byte selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.bits import leading_zeros, reversed_bits
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import integer, signed, wrap
from kgen.emulate.llvm.types import Array


def _extremum(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    name = ins.callee.split(".")[1]
    pick = np.minimum if name.endswith("min") else np.maximum
    type_ = integer(ins.type)
    if name.startswith("u"):
        return lambda a, b: pick(a, b)
    return lambda a, b: wrap(pick(signed(a, type_), signed(b, type_)), type_)


def _three_way(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """llvm.ucmp and llvm.scmp: return -1, 0 or 1 for less, equal or greater."""
    of, to = integer(ins.operands[0].type), integer(ins.type)

    def compare(a: Array, b: Array) -> Array:
        if "scmp" in ins.callee:
            a, b = signed(a, of), signed(b, of)
        return wrap((a > b).astype(np.int8) - (a < b).astype(np.int8), to)

    return compare


def _absolute(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    type_ = integer(ins.type)
    return lambda a, _: wrap(np.abs(signed(a, type_)), type_)


def _leading_zeros(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    width = integer(ins.type).width
    return lambda a, _: leading_zeros(a, width).astype(a.dtype)


def _trailing_zeros(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    type_ = integer(ins.type)

    def count(a: Array, _: Array) -> Array:
        below = wrap(~a & (a - a.dtype.type(1)), type_)  # ones below the lowest set bit
        return np.bitwise_count(below).astype(a.dtype)

    return count


def _funnel_shift(ins: LlvmInstruction) -> Callable[[Array, Array, Array], Array]:
    """Shift the concatenation ``a:b`` and return its high half (fshl) or its low half (fshr)."""
    type_ = integer(ins.type)
    width = type_.width
    left = "fshl" in ins.callee

    def shift(a: Array, b: Array, amount: Array) -> Array:
        amount = amount % amount.dtype.type(width)
        rest = (amount.dtype.type(width) - amount) % amount.dtype.type(width)
        if left:
            moved = wrap((a << amount) | np.where(amount == 0, 0, b >> rest).astype(a.dtype), type_)
            return moved
        return wrap((b >> amount) | np.where(amount == 0, 0, a << rest).astype(a.dtype), type_)

    return shift


def _reverse_bits(ins: LlvmInstruction) -> Callable[[Array], Array]:
    width = integer(ins.type).width
    return lambda a: reversed_bits(a, width)


def _with_overflow(ins: LlvmInstruction) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Return the wrapped result and whether it wrapped.

    Numpy computes in Python integers: slow, but exact at every width.
    """
    type_ = integer(ins.operands[0].type)
    name = ins.callee.split(".")[1]
    operation: Any = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name[1:]]

    def compute(a: Array, b: Array) -> tuple[Array, Array]:
        if name[0] == "s":
            exact = operation(signed(a, type_).astype(object), signed(b, type_).astype(object))
            low, high = -(1 << (type_.width - 1)), (1 << (type_.width - 1)) - 1
        else:
            exact = operation(a.astype(object), b.astype(object))
            low, high = 0, (1 << type_.width) - 1
        wrapped = np.asarray(exact % (1 << type_.width)).astype(type_.dtype)
        return wrapped, np.asarray((exact < low) | (exact > high)).astype(np.bool_)

    return compute


def _saturating(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    type_ = integer(ins.type)
    name = ins.callee.split(".")[1]
    if name[0] == "s":
        least = type_.dtype.type(1 << (type_.width - 1))

        def saturate(a: Array, b: Array) -> Array:
            """Clamp a sum or difference that overflows.

            A result that overflowed differs in sign from both terms. For a difference the second
            term is -b, which has the sign of ~b.
            """
            if "add" in name:
                total, other = wrap(a + b, type_), b
            else:
                total, other = wrap(a - b, type_), ~b
            wrapped = (a ^ total) & (other ^ total) & least != 0
            limit = np.where(a & least != 0, least, least - least.dtype.type(1))
            return np.where(wrapped, limit, total)

        return saturate
    if "add" in name:
        limit = (1 << type_.width) - 1
        return lambda a, b: np.where(b > limit - a, limit, a + b).astype(a.dtype)
    return lambda a, b: np.where(b > a, 0, a - b).astype(a.dtype)


def _permute_bytes(high: Array, low: Array, selector: Array) -> Array:
    """V_PERM_B32: build a word from four bytes chosen by the bytes of the selector.

    Selectors 0-7 name a byte of ``high:low``, 8-11 replicate the sign of one of its 16-bit halves,
    12 is 0x00, and 13 and above are 0xFF.
    """
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    result = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint64)
    for byte in range(4):
        at = (selector >> np.uint32(8 * byte)).astype(np.uint64) & np.uint64(0xFF)
        plain = (both >> (np.minimum(at, 7) * 8).astype(np.uint64)) & np.uint64(0xFF)
        half = (np.clip(at, 8, 11) - 8).astype(np.uint64)
        negative = (both >> (half * 16 + 15).astype(np.uint64)) & np.uint64(1)
        chosen = np.where(
            at < 8, plain, np.where(at < 12, negative * 0xFF, np.where(at == 12, 0, 0xFF))
        )
        result |= chosen.astype(np.uint64) << np.uint64(8 * byte)
    return result.astype(np.uint32)


def _bit_field(ins: LlvmInstruction) -> Callable[[Array, Array, Array], Array]:
    """V_BFE_U32 and V_BFE_I32: extract ``width`` bits from bit ``offset``, both modulo 32."""
    is_signed = "sbfe" in ins.callee

    def extract(value: Array, offset: Array, width: Array) -> Array:
        offset, width = offset & np.uint32(31), width & np.uint32(31)
        shifted = (value.view(np.int32) >> offset.view(np.int32)).view(np.uint32)
        field = (shifted if is_signed else value >> offset) & (
            (np.uint32(1) << width) - np.uint32(1)
        )
        if not is_signed:
            return np.asarray(field)
        sign = np.where(width == 0, 0, np.uint32(1) << (width - np.uint32(1)) % np.uint32(32))
        sign = sign.astype(np.uint32)
        return np.asarray((field ^ sign) - sign)

    return extract


def _shuffle_bytes(a: Array, index: Array) -> Array:
    """VPSHUFB (Intel SDM volume 2): select bytes of each 16-byte lane; 0 for a negative index."""
    lanes = (*a.shape[:-1], -1, 16)
    places = (index & np.uint8(15)).reshape(lanes).astype(np.intp)
    taken = np.take_along_axis(np.broadcast_to(a, index.shape).reshape(lanes), places, axis=-1)
    return np.where(index & np.uint8(128), np.uint8(0), taken.reshape(index.shape))


PURE: dict[str, Build] = {
    **dict.fromkeys((f"llvm.{name}" for name in ("umin", "umax", "smin", "smax")), _extremum),
    "llvm.ucmp": _three_way,
    "llvm.scmp": _three_way,
    "llvm.abs": _absolute,
    "llvm.ctpop": fixed(lambda a: np.bitwise_count(a).astype(a.dtype)),
    "llvm.ctlz": _leading_zeros,
    "llvm.cttz": _trailing_zeros,
    "llvm.fshl": _funnel_shift,
    "llvm.fshr": _funnel_shift,
    "llvm.bswap": fixed(lambda a: a.byteswap()),
    "llvm.bitreverse": _reverse_bits,
    **dict.fromkeys(
        (f"llvm.{sign}{name}.with.overflow" for sign in "us" for name in ("add", "sub", "mul")),
        _with_overflow,
    ),
    **dict.fromkeys(
        (f"llvm.{sign}{name}.sat" for sign in "us" for name in ("add", "sub")), _saturating
    ),
    "llvm.x86.avx2.pshuf.b": fixed(_shuffle_bytes),
    "llvm.amdgcn.perm": fixed(_permute_bytes),
    "llvm.amdgcn.ubfe": _bit_field,
    "llvm.amdgcn.sbfe": _bit_field,
}
