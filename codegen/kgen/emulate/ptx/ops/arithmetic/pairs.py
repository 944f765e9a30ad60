"""Pairs of f32 in 64 bits: add, sub, mul and fma with .f32x2 (PTX ISA 9.7.3, sm_100)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.floats import fma
from kgen.emulate.ptx.exec.operations import Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.arithmetic.floating import Function, Style, styled
from kgen.emulate.ptx.types import TYPES, Array

_WORD = "f32x2"
#: Function and number of operands of each opcode.
FUNCTIONS: dict[str, tuple[Function, int]] = {
    "add": (np.add, 2),
    "sub": (np.subtract, 2),
    "mul": (np.multiply, 2),
    "fma": (fma, 3),
}


def either(plain: Builder, opcode: str) -> Builder:
    """Return the builder of an opcode for pairs of f32; other types use the builder `plain`."""
    function, inputs = FUNCTIONS[opcode]
    registers = TYPES["b64"]

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        if words.last != _WORD:
            return plain(decoder, words, operands)
        words.ending(_WORD)
        style = Style(
            type=TYPES["f32"],
            rounding=words.choice("rn", "rz", "rm", "rp") or "rn",
            ftz=words.flag("ftz"),
        )
        words.finish()
        half = styled(function, style)

        def both(*values: Array) -> Array:
            pairs = [parts(value, np.float32) for value in values]
            found = half(*np.broadcast_arrays(*pairs))
            return np.ascontiguousarray(found).view(registers.dtype)[..., 0]

        return apply(decoder, operands, both, [registers] * inputs, registers)

    return build
