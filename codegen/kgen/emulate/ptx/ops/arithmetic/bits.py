"""Logic, shifts and bit fields (PTX ISA 9.7.1, 9.7.8), and byte permutation (prmt)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.bits import leading_zeros, reversed_bits
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply, computed
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array, PtxType

Function = Callable[..., Array]

_U32 = TYPES["u32"]
#: Modes of prmt: the equivalent selector of the default mode for each selector (PTX ISA 9.7.9.7).
_MODES = {
    name: np.array(selectors, np.uint32)
    for name, selectors in {
        "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
        "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
        "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
        "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
        "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
        "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
    }.items()
}


def _logic(function: Function, inputs: int) -> Builder:
    return computed(lambda type_: function, *[None] * inputs)


def _shift_left(type_: PtxType) -> Function:
    bits = type_.bits

    def shift(a: Array, by: Array) -> Array:
        shifted: Array = a << np.minimum(by, bits - 1).astype(a.dtype)
        return np.where(by < bits, shifted, a.dtype.type(0)) if by.max() >= bits else shifted

    return shift


def _shift_right(type_: PtxType) -> Function:
    bits = type_.bits

    def shift(a: Array, by: Array) -> Array:
        shifted: Array = a >> np.minimum(by, bits - 1).astype(a.dtype)
        if type_.kind == "signed" or by.max() < bits:
            return shifted
        return np.where(by < bits, shifted, a.dtype.type(0))

    return shift


def _funnel(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """shf: a 32-bit window of the 64 bits {b, a}."""
    direction = words.one_of("l", "r")
    mode = words.one_of("wrap", "clamp")
    type_ = words.only_type()
    require(type_.name == "b32")

    def shift(low: Array, high: Array, by: Array) -> Array:
        amount = by & np.uint32(31) if mode == "wrap" else np.minimum(by, np.uint32(32))
        both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        right = amount if direction == "r" else np.uint32(32) - amount
        return (both >> right.astype(np.uint64)).astype(np.uint32)

    return apply(decoder, operands, shift, [type_, type_, _U32], type_)


def _extract(type_: PtxType) -> Function:
    """bfe: extract a field of `length` bits from `start`, sign-extended for signed types."""
    bits, signed = type_.bits, type_.kind == "signed"

    def extract(a: Array, start: Array, length: Array) -> Array:
        first = (start & np.uint32(0xFF)).astype(np.int64)
        count = (length & np.uint32(0xFF)).astype(np.int64)
        moved: Array = a >> np.minimum(first, bits - 1).astype(a.dtype)
        if not signed:
            moved = np.where(first < bits, moved, a.dtype.type(0))
        # Shifting left and right again extends the field by its sign, or by zeros if unsigned.
        spare = np.clip(bits - count, 0, bits - 1).astype(a.dtype)
        field: Array = (moved << spare) >> spare
        return np.where(count == 0, a.dtype.type(0), field)

    return extract


def _insert(type_: PtxType) -> Function:
    """bfi: insert the low `length` bits of a into b at `start`."""
    bits = type_.bits

    def insert(a: Array, b: Array, start: Array, length: Array) -> Array:
        first = (start & np.uint32(0xFF)).astype(np.uint64)
        count = np.minimum((length & np.uint32(0xFF)).astype(np.uint64), np.uint64(bits))
        one = np.uint64(1)
        ones = np.where(count >= 64, ~np.uint64(0), (one << (count & np.uint64(63))) - one)
        place = np.minimum(first, np.uint64(63))
        field = np.where(first < bits, ones << place, np.uint64(0))
        moved = np.where(first < bits, a.astype(np.uint64) << place, np.uint64(0))
        return ((b.astype(np.uint64) & ~field) | (moved & field)).astype(b.dtype)

    return insert


def _logic3(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """lop3: any function of three bits, given by its truth table."""
    type_ = words.only_type()
    table = decoder.constant(operands[4])

    def combine(a: Array, b: Array, c: Array) -> Array:
        result: Array = a & b & c & a.dtype.type(0)
        for row in range(8):
            if table >> row & 1:
                term = (a if row & 4 else ~a) & (b if row & 2 else ~b)
                result = result | (term & (c if row & 1 else ~c))
        return result

    return apply(decoder, operands[:4], combine, [type_] * 3, type_)


def _permute(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """prmt: each result byte is one of the eight bytes of {b, a}, by a selector or a mode's
    table."""
    mode = words.choice(*_MODES)
    type_ = words.only_type()

    def permute(a: Array, b: Array, selector: Array) -> Array:
        if mode is not None:
            selector = _MODES[mode][selector & np.uint32(3)]
        both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        result = np.zeros((1, 1, 1), np.uint32)
        for byte in range(4):
            pick = (selector >> np.uint32(4 * byte)).astype(np.uint64)
            value = (both >> ((pick & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
            sign = np.where(value >> np.uint64(7), np.uint64(0xFF), np.uint64(0))
            value = np.where(pick & np.uint64(8), sign, value)
            result = result | (value.astype(np.uint32) << np.uint32(8 * byte))
        return result

    return apply(decoder, operands, permute, [type_] * 3, type_)


def _count(function: Callable[[Array, int], Array]) -> Builder:
    """popc and clz: count bits; the result is u32."""
    return computed(
        lambda type_: lambda a: function(a, type_.bits).astype(np.uint32), None, output=_U32
    )


def _find_leading(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """bfind: the highest set bit (for negative numbers the highest clear bit); -1 if there is none.

    With .shiftamt, the left shift that moves this bit to the top.
    """
    from_top, type_ = words.flag("shiftamt"), words.only_type()

    def find(a: Array) -> Array:
        value = np.where(a < 0, ~a, a) if type_.dtype.kind == "i" else a
        zeros = leading_zeros(value.view(f"u{type_.size}"), type_.bits).astype(np.int32)
        found = np.where(zeros == type_.bits, -1, zeros) if from_top else type_.bits - 1 - zeros
        return found.astype(np.uint32)

    return apply(decoder, operands, find, [type_], _U32)


BUILDERS: dict[str, Builder] = {
    "and": _logic(np.bitwise_and, 2),
    "or": _logic(np.bitwise_or, 2),
    "xor": _logic(np.bitwise_xor, 2),
    "not": _logic(np.invert, 1),
    "cnot": _logic(lambda a: (a == 0).astype(a.dtype), 1),
    "shl": computed(_shift_left, None, _U32),
    "shr": computed(_shift_right, None, _U32),
    "shf": _funnel,
    "bfe": computed(_extract, None, _U32, _U32),
    "bfi": computed(_insert, None, None, _U32, _U32),
    "lop3": _logic3,
    "prmt": _permute,
    "popc": _count(lambda a, bits: np.bitwise_count(a)),
    "clz": _count(leading_zeros),
    "bfind": _find_leading,
    "brev": computed(lambda type_: lambda a: reversed_bits(a, type_.bits), None),
}
