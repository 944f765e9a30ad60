"""Integer arithmetic, with wrap-around (PTX ISA 9.7.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.ptx.exec.operations import Action, Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, UNSIGNED, Array, PtxType, double_width, pack, unpack

Binary = Callable[[Array, Array], Array]


def _function(function: Callable[..., Array], inputs: int) -> Builder:
    """Return the builder of an instruction without modifiers: a numpy function of operands of one
    type."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        type_ = words.only_type()
        if type_.lanes == 2:
            return apply(decoder, operands, _packed(function, type_), [type_] * inputs, type_)
        return apply(decoder, operands, function, [type_] * inputs, type_)

    return build


def _packed(function: Callable[..., Array], type_: PtxType) -> Callable[..., Array]:
    """Return a function of 16-bit integers applied to both halves of packed pairs."""
    dtype = type_.element.dtype

    def both(*values: Array) -> Array:
        halves = [[h.view(dtype) for h in unpack(value)] for value in values]
        low, high = (function(*half).view(np.uint16) for half in zip(*halves, strict=True))
        return pack(low, high)

    return both


def _add_or_subtract(function: Binary) -> Builder:
    plain = _function(function, 2)

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        if not words.flag("sat"):
            return plain(decoder, words, operands)
        type_ = words.only_type()
        require(type_.name == "s32")

        def saturating(a: Array, b: Array) -> Array:
            limits = np.iinfo(np.int32)
            return np.clip(function(a.astype(np.int64), b), limits.min, limits.max).astype(np.int32)

        return apply(decoder, operands, saturating, [type_, type_], type_)

    return build


def _extreme(function: Binary) -> Builder:
    """Return the builder of min or max; .relu clamps the result to zero or more."""
    plain, clipped = _function(function, 2), _function(_not_below_zero(function), 2)

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        if not words.flag("relu"):
            return plain(decoder, words, operands)
        require(words.last in ("s32", "s16x2"))
        return clipped(decoder, words, operands)

    return build


def _not_below_zero(function: Binary) -> Binary:
    def clipped(a: Array, b: Array) -> Array:
        result: Array = np.maximum(function(a, b), a.dtype.type(0))
        return result

    return clipped


def high_product(a: Array, b: Array) -> Array:
    """Return the upper half of the double-width product."""
    size = a.dtype.itemsize
    if size < 8:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        product: Array = a.astype(wide) * b.astype(wide)
        return (product >> wide(8 * size)).astype(a.dtype)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    upper = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        upper = upper - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    result: Array = upper.view(a.dtype)
    return result


def _multiply(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    return _product(decoder, words, operands, add=False)


def _multiply_add(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    return _product(decoder, words, operands, add=True)


def _product(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], *, add: bool
) -> Action:
    """Build mul or mad with .lo, .hi or .wide."""
    part = words.one_of("lo", "hi", "wide")
    type_ = words.only_type()
    output = double_width(type_) if part == "wide" else type_
    inputs = [type_, type_, output] if add else [type_, type_]

    def product(a: Array, b: Array) -> Array:
        if part == "hi":
            return high_product(a, b)
        result: Array = a.astype(output.dtype) * b.astype(output.dtype)
        return result

    if not add:
        return apply(decoder, operands, product, inputs, output)
    return apply(decoder, operands, lambda a, b, c: product(a, b) + c, inputs, output)


def _quotient(a: Array, b: Array) -> Array:
    """Divide, rounding towards zero. PTX does not specify the result of a division by zero; here it
    is -1."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    result = (a - np.fmod(a, divisor)) // divisor
    return np.where(b == 0, ~np.zeros_like(b), result).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    divisor = np.where(b == 0, b.dtype.type(1), b)
    return np.where(b == 0, a, np.fmod(a, divisor)).astype(a.dtype)


def _dot4(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """dp4a: d = a . b + c over four bytes (PTX ISA 9.7.1.23)."""
    second, first = words.type(), words.only_type()
    require({first.name, second.name} <= {"u32", "s32"})
    kinds = [np.dtype("u1" if t.name == "u32" else "i1") for t in (first, second)]
    output = TYPES["s32" if "s32" in (first.name, second.name) else "u32"]
    word = TYPES["b32"]

    def dot(a: Array, b: Array, c: Array) -> Array:
        total = (parts(a, kinds[0]).astype(np.int64) * parts(b, kinds[1])).sum(axis=-1)
        result: Array = total.astype(UNSIGNED[8]).astype(UNSIGNED[4]).view(output.dtype) + c
        return result

    return apply(decoder, operands, dot, [word, word, output], output)


BUILDERS: dict[str, Builder] = {
    "add": _add_or_subtract(np.add),
    "sub": _add_or_subtract(np.subtract),
    "mul": _multiply,
    "mad": _multiply_add,
    "div": _function(_quotient, 2),
    "rem": _function(_remainder, 2),
    "neg": _function(np.negative, 1),
    "abs": _function(np.abs, 1),
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
}
DOT_BUILDERS: dict[str, Builder] = {"dp4a": _dot4}
