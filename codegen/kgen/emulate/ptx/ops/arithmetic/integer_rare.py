"""Rare integer instructions: mul24, mad24, sad, bmsk, szext, dp2a (PTX ISA 9.7.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import U32, Builder, Decoder, apply, computed
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array

_B32 = TYPES["b32"]


def _times_24(add: bool) -> Builder:
    """Return the builder of mul24 or mad24: the low or high 32 bits of the 48-bit product of 24-bit
    numbers."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        part, type_ = words.one_of("lo", "hi"), words.only_type()
        require(type_.name in ("u32", "s32"))

        def product(a: Array, b: Array) -> Array:
            # Shifts in the operand's own type sign-extend signed numbers only.
            x, y = (((v << v.dtype.type(8)) >> v.dtype.type(8)).astype(np.int64) for v in (a, b))
            whole = x * y >> 16 if part == "hi" else x * y
            bits: Array = whole.astype(np.uint64).astype(np.uint32)
            return bits.view(type_.dtype)

        if not add:
            return apply(decoder, operands, product, [type_] * 2, type_)
        return apply(decoder, operands, lambda a, b, c: product(a, b) + c, [type_] * 3, type_)

    return build


def _absolute_difference(a: Array, b: Array, c: Array) -> Array:
    """sad: c + |a - b|."""
    return c + np.where(a < b, b - a, a - b)


def _in_range(position: Array, mode: str) -> tuple[Array, Array]:
    """Limit a bit position by .clamp or .wrap: return a position of 0 to 32, and whether it is in
    range."""
    if mode == "wrap":
        return position & np.uint32(31), np.ones_like(position, bool)
    return np.minimum(position, np.uint32(32)), position < 32


def _bit_mask(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """bmsk: b ones from bit a on."""
    mode, type_ = words.one_of("clamp", "wrap"), words.only_type()
    require(type_ is _B32)

    def function(a: Array, b: Array) -> Array:
        first, _ = _in_range(a, mode)
        count, _ = _in_range(b, mode)
        ones = (np.uint64(1) << count.astype(np.uint64)) - np.uint64(1)
        return (ones << first.astype(np.uint64)).astype(np.uint32)

    return apply(decoder, operands, function, [U32, U32], _B32)


def _extend(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """szext: the low b bits of a, extended by zeros or by the sign."""
    mode, type_ = words.one_of("clamp", "wrap"), words.only_type()
    require(type_.name in ("u32", "s32"))

    def function(a: Array, b: Array) -> Array:
        count, _ = _in_range(b, mode)
        gap = (32 - count.astype(np.int64)).astype(np.uint64)
        wide = a.astype(np.uint32).astype(np.uint64) << gap << np.uint64(32)
        if type_.name == "s32":
            result = wide.view(np.int64) >> (gap + np.uint64(32)).astype(np.int64).clip(0, 63)
        else:
            result = wide >> np.minimum(gap + np.uint64(32), np.uint64(63))
        return np.where(count == 0, 0, result).astype(np.uint64).astype(np.uint32).view(type_.dtype)

    return apply(decoder, operands, function, [_B32, U32], type_)


def _dot2(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """dp2a: the two 16-bit numbers of a times the low or high two bytes of b, plus c."""
    second, first = words.type(), words.type()
    half = words.one_of("lo", "hi")
    words.finish()
    require({first.name, second.name} <= {"u32", "s32"})
    kinds = ["u" if t.name == "u32" else "i" for t in (first, second)]
    output = TYPES["s32" if "s32" in (first.name, second.name) else "u32"]
    start = 0 if half == "lo" else 2

    def dot(a: Array, b: Array, c: Array) -> Array:
        x, y = parts(a, f"{kinds[0]}2").astype(np.int64), parts(b, f"{kinds[1]}1")
        total = (x * y[..., start : start + 2]).sum(axis=-1)
        found: Array = total.astype(np.uint64).astype(np.uint32).view(output.dtype) + c
        return found

    return apply(decoder, operands, dot, [_B32, _B32, output], output)


BUILDERS: dict[str, Builder] = {
    "mul24": _times_24(add=False),
    "mad24": _times_24(add=True),
    "sad": computed(lambda type_: _absolute_difference, None, None, None),
    "bmsk": _bit_mask,
    "szext": _extend,
    "dp2a": _dot2,
}
