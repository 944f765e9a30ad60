"""Moves between registers, and address conversions: mov, cvta, isspacep (PTX ISA 9.7.9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import GENERIC_WINDOW_BITS, Mask
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import PRED, Builder, Decoder, apply, window
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand, VectorOperand
from kgen.emulate.ptx.types import TYPES, UNSIGNED, Array

_B64 = TYPES["b64"]


def _move(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    type_ = words.only_type()
    target, source = operands
    if isinstance(target, VectorOperand):
        return _unpack(decoder, target, source, type_.size)
    if isinstance(source, VectorOperand):
        return _pack(decoder, target, source, type_.size)
    return apply(decoder, operands, lambda a: a, [type_], type_)


def _unpack(decoder: Decoder, target: VectorOperand, source: Operand, size: int) -> Action:
    part = TYPES[f"b{8 * size // len(target.elements)}"]
    read = decoder.source(source, TYPES[f"b{8 * size}"])
    writes = [decoder.target(element, part) for element in target.elements]

    def run(mask: Mask) -> None:
        parts = np.ascontiguousarray(read())[..., None].view(part.dtype)
        for i, write in enumerate(writes):
            write(np.ascontiguousarray(parts[..., i]), mask)

    return run


def _pack(decoder: Decoder, target: Operand, source: VectorOperand, size: int) -> Action:
    part = TYPES[f"b{8 * size // len(source.elements)}"]
    whole = TYPES[f"b{8 * size}"]
    reads = decoder.sources(source.elements, part)
    write = decoder.target(target, whole)

    def run(mask: Mask) -> None:
        result: Array = np.zeros((1, 1, 1), UNSIGNED[size])
        for i, read in enumerate(reads):
            result = result | (read().astype(whole.dtype) << whole.dtype.type(i * part.bits))
        write(result, mask)

    return run


def _convert_address(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """cvta: convert between an address in a state space and a generic address."""
    to_space = words.flag("to")
    space = words.one_of("global", "shared", "shared::cta", "local", "const", "param")
    type_ = words.only_type()
    require(type_.size == 8)
    base = np.uint64(window(space.removesuffix("::cta")))
    move = (lambda a: a - base) if to_space else (lambda a: a + base)
    return apply(decoder, operands, move, [_B64], _B64)


def _is_space(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """isspacep: whether a generic address lies in a state space's window."""
    space = words.one_of("global", "shared", "shared::cta", "local", "param", "param::entry")
    words.finish()
    number = window(space.partition("::")[0]) >> GENERIC_WINDOW_BITS
    highest = max(map(window, ("shared", "local", "param"))) >> GENERIC_WINDOW_BITS

    def inside(address: Array) -> Array:
        where = address >> np.uint64(GENERIC_WINDOW_BITS)
        return where > highest if space == "global" else where == number

    return apply(decoder, operands, inside, [_B64], PRED)


BUILDERS: dict[str, Builder] = {"mov": _move, "cvta": _convert_address, "isspacep": _is_space}
