"""Conversions: cvt (PTX ISA 9.7.9.21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.floats import flush, integer_odd, round_towards
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.arithmetic import convert_fp8
from kgen.emulate.ptx.types import (
    CANONICAL_NAN_32,
    TYPES,
    Array,
    PtxType,
    canonical,
    narrow,
    pack,
    widen,
)

Function = Callable[[Array], Array]

_TO_INTEGER: dict[str, Function] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_F32, _B32 = TYPES["f32"], TYPES["b32"]


def _convert(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    fp8 = words.choice(*convert_fp8.PAIRS)
    if fp8 is not None:
        return convert_fp8.build(decoder, words, operands, fp8)
    if words.flag("pack"):
        return _convert_pack(decoder, words, operands)
    source, target = words.type(), words.type()
    if target.lanes == 2:
        return _convert_pair(decoder, words, operands, target)
    if target.name == "tf32":
        return _convert_tf32(decoder, words, operands, source)
    if source.kind in ("float", "bfloat"):
        function = _from_float(words, source, target)
    elif target.kind in ("float", "bfloat"):
        function = _integer_to_float(words, target)
    else:
        function = _between_integers(words, source, target)
    words.finish()
    return apply(decoder, operands, function, [source], target)


def _from_float(words: OpcodeWords, source: PtxType, target: PtxType) -> Function:
    whole = words.choice(*_TO_INTEGER)
    rounding = words.choice("rn", "rz", "rm", "rp") or "rn"
    ftz, saturate, relu = words.flag("ftz"), words.flag("sat"), words.flag("relu")

    def value(register: Array) -> Array:
        number = widen(source, register)
        if ftz and source is _F32:
            number = flush(number)
        return number if whole is None else _TO_INTEGER[whole](number)

    if target.kind in ("signed", "unsigned", "bits"):
        if whole is None:
            raise Unsupported
        nan = 1 << (8 * target.size - 1) if 8 in (source.size, target.size) else 0
        return lambda register: _clamp_to_integer(value(register), target, nan)

    def convert(register: Array) -> Array:
        number = canonical(value(register))
        if saturate:
            number = np.fmin(np.fmax(number, number.dtype.type(0)), number.dtype.type(1))
        if relu:
            number = np.maximum(number, number.dtype.type(0))
        result = narrow(target, number, rounding)
        return flush(result) if ftz and target is _F32 else result

    return convert


def _clamp_to_integer(number: Array, target: PtxType, nan: int) -> Array:
    """Convert to an integer, clamped to the range. NaN becomes `nan`.

    `nan` has only the highest bit set if the conversion is from f64 or to 64 bits, else it is 0
    (PTX ISA, "cvt").
    """
    limits = np.iinfo(target.dtype)
    exact = number.astype(np.float64)
    inside = (exact > float(limits.min)) & (exact < float(limits.max))
    result = np.where(inside, exact, 0).astype(target.dtype)
    result = np.where(exact >= float(limits.max), target.dtype.type(limits.max), result)
    result = np.where(exact <= float(limits.min), target.dtype.type(limits.min), result)
    bits = np.array(nan, np.uint64).astype(target.dtype)
    return np.where(np.isnan(exact), bits, result)


def _integer_to_float(words: OpcodeWords, target: PtxType) -> Function:
    rounding = words.one_of("rn", "rz", "rm", "rp")

    def convert(number: Array) -> Array:
        if rounding == "rn" and target.size >= 4:
            return number.astype(target.dtype)
        if target.size == 8:
            return round_towards(number.astype(np.longdouble), target.dtype, rounding)
        return narrow(target, integer_odd(number), rounding)

    return convert


def _between_integers(words: OpcodeWords, source: PtxType, target: PtxType) -> Function:
    if not words.flag("sat"):
        return lambda number: number.astype(target.dtype)
    low = max(np.iinfo(source.dtype).min, np.iinfo(target.dtype).min)
    high = min(np.iinfo(source.dtype).max, np.iinfo(target.dtype).max)
    least, most = source.dtype.type(low), source.dtype.type(high)
    return lambda number: np.clip(number, least, most).astype(target.dtype)


def _convert_pair(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], target: PtxType
) -> Action:
    """cvt.f16x2.f32 d, a, b: a becomes the upper half."""
    rounding = words.one_of("rn", "rz")
    relu = words.flag("relu")
    words.finish()
    require(target.element.kind in ("float", "bfloat"))

    def half(number: Array) -> Array:
        if relu:
            number = np.maximum(number, np.float32(0))
        return narrow(target.element, number, rounding)

    return apply(decoder, operands, lambda a, b: pack(half(b), half(a)), [_F32, _F32], target)


def _convert_pack(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """cvt.pack.sat.T.s32 d, a, b: saturated a above b; with .b32 c, the low half of c above both
    (PTX ISA, "cvt.pack")."""
    rest = [_B32] if words.last == "b32" else []
    words.drop(frozenset({"b32"}))
    source, target = words.type(), words.type()
    saturates = words.flag("sat")
    words.finish()
    fits = target.size == (1 if rest else 2) and target.kind in ("signed", "unsigned")
    require(saturates and source.name == "s32" and fits)
    limits, bits = np.iinfo(target.dtype), np.uint32(8 * target.size)

    def code(number: Array) -> Array:
        wide = np.clip(number, limits.min, limits.max).astype(np.int64)
        found: Array = wide.astype(np.uint32) & np.uint32((1 << int(bits)) - 1)
        return found

    def pack_codes(a: Array, b: Array, *above: Array) -> Array:
        both: Array = code(a) << bits | code(b)
        return both | above[0] << np.uint32(16) if above else both

    return apply(decoder, operands, pack_codes, [source, source, *rest], _B32)


def _convert_tf32(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], source: PtxType
) -> Action:
    """cvt.rna.tf32.f32: 10 bits of mantissa, ties away from zero; cvt.rn: ties to even."""
    rounding = words.one_of("rna", "rn")
    words.finish()
    require(source is _F32)

    def convert(number: Array) -> Array:
        bits = np.ascontiguousarray(number).view(np.uint32)
        odd = (bits >> np.uint32(13)) & np.uint32(1)
        half = np.uint32(0x1000) if rounding == "rna" else np.uint32(0xFFF) + odd
        rounded = (bits + half) & np.uint32(0xFFFFE000)
        return np.where(np.isnan(number), CANONICAL_NAN_32.view(np.uint32), rounded)

    return apply(decoder, operands, convert, [_F32], TYPES["tf32"])


BUILDERS: dict[str, Builder] = {"cvt": _convert}
