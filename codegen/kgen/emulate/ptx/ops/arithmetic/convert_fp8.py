"""Conversions from and to pairs of 8-bit floats: cvt (PTX ISA 9.7.9.21)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate import minifloat
from kgen.emulate.floats import F16_TO_F32
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array, narrow, pack, unpack

PAIRS = {f"{name}x2": name for name in ("e4m3", "e5m2")}
_B16, _F16, _F32, _F16X2 = TYPES["b16"], TYPES["f16"], TYPES["f32"], TYPES["f16x2"]


def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], pair: str) -> Action:
    """Build a conversion from or to `pair`, a pair of 8-bit floats that was removed from the
    words."""
    name, other = PAIRS[pair], words.type()
    narrows, relu = words.flag("satfinite"), words.flag("relu")
    require(words.flag("rn"))
    words.finish()

    def encode(number: Array) -> Array:
        positive = np.maximum(number, np.float32(0)) if relu else number
        return minifloat.encode(name, positive).astype(np.uint16)

    def from_f32(high: Array, low: Array) -> Array:
        found: Array = encode(low) | encode(high) << np.uint16(8)
        return found

    def from_f16(halves: Array) -> Array:
        low, high = (F16_TO_F32.take(half) for half in unpack(halves))
        return from_f32(high, low)

    def to_f16(codes: Array) -> Array:
        numbers = [
            minifloat.decode(name, code) for code in (codes & np.uint16(255), codes >> np.uint16(8))
        ]
        if relu:
            numbers = [np.maximum(number, np.float32(0)) for number in numbers]
        return pack(*(narrow(_F16, number) for number in numbers))

    if not narrows:
        require(other is _F16X2)
        return apply(decoder, operands, to_f16, [_B16], _F16X2)
    if other is _F32:
        return apply(decoder, operands, from_f32, [_F32, _F32], _B16)
    if other is _F16X2:
        return apply(decoder, operands, from_f16, [_F16X2], _B16)
    raise Unsupported
