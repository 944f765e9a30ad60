"""Extended-precision arithmetic: add.cc, addc, sub.cc, subc, mad.cc, madc (PTX ISA 9.7.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.memory.spaces import choose
from kgen.emulate.ptx.ops.arithmetic import integer
from kgen.emulate.ptx.types import TYPES, Array


class _Carry:
    """Condition code CC.CF of every lane: a carry or a borrow."""

    def __init__(self, machine: Machine) -> None:
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        self.flag: Array = np.zeros((1, 1, 1), bool)


def _extended(opcode: str, *, reads: bool) -> Builder:
    """Return the builder of an opcode with carry. `opcode` is add, sub or mad; .cc sets the
    carry."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        writes = words.flag("cc")
        part = words.choice("lo", "hi") if opcode == "mad" else None
        type_ = words.only_type()
        if type_.size not in (4, 8) or (opcode == "mad") != (part is not None):
            raise Unsupported
        unsigned = TYPES[f"u{type_.bits}"]
        target = decoder.target(operands[0], unsigned)
        sources = decoder.sources(operands[1:], unsigned)
        carry, signed = decoder.engine(_Carry), type_.kind == "signed"

        def run(mask: Mask) -> None:
            values = [read() for read in sources]
            if opcode == "mad":
                values = [_product(values[0], values[1], part or "lo", signed), values[2]]
            given = carry.flag.astype(unsigned.dtype) if reads else unsigned.dtype.type(0)
            combine = _subtract if opcode == "sub" else _add
            result, flag = combine(values[0], values[1], given)
            target(result, mask)
            if writes:
                carry.flag = choose(mask, flag, carry.flag)

        return run

    return build


def _add(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    half = a + b
    total = half + carry
    return total, np.asarray((half < a) | (total < half))


def _subtract(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    half = a - b
    total = half - borrow
    return total, np.asarray((a < b) | (half < borrow))


def _product(a: Array, b: Array, part: str, signed: bool) -> Array:
    if part == "lo":
        return a * b
    kind = f"i{a.dtype.itemsize}" if signed else a.dtype
    return integer.high_product(a.view(kind), b.view(kind)).view(a.dtype)


def either(plain: Builder, opcode: str) -> Builder:
    """Return the builder of add, sub or mad, with or without .cc."""
    extended = _extended(opcode, reads=False)

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        return (extended if words.has("cc") else plain)(decoder, words, operands)

    return build


BUILDERS: dict[str, Builder] = {
    "addc": _extended("add", reads=True),
    "subc": _extended("sub", reads=True),
    "madc": _extended("mad", reads=True),
}
