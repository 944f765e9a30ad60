"""PTX instructions: a module for each group of chapter 9 of the ISA, and the table of all
opcodes."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.emulate.ptx.exec.operations import Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops import hints, printing
from kgen.emulate.ptx.ops.arithmetic import (
    bits,
    carry,
    compare,
    convert,
    floating,
    integer,
    integer_rare,
    move,
    pairs,
    video,
)
from kgen.emulate.ptx.ops.matrix import ldmatrix, mma, wgmma, wmma
from kgen.emulate.ptx.ops.memory import atomics, copy, loadstore, tensor_map
from kgen.emulate.ptx.ops.synchronisation import cluster, control, match, mbarrier, proxy, warp
from kgen.emulate.ptx.types import TYPES


def _by_type(integers: Builder, floats: Builder) -> Builder:
    """Return the builder of an opcode for integers and floats; the last word of the opcode
    decides."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        require(words.last in TYPES)
        floating_point = TYPES[words.last].kind in ("float", "bfloat")
        return (floats if floating_point else integers)(decoder, words, operands)

    return build


_SHARED = integer.BUILDERS.keys() & floating.BUILDERS.keys()

_DECODERS: dict[str, Builder] = {
    **integer.BUILDERS,
    **floating.BUILDERS,
    **{name: _by_type(integer.BUILDERS[name], floating.BUILDERS[name]) for name in _SHARED},
    **integer.DOT_BUILDERS,
    **video.BUILDERS,
    **integer_rare.BUILDERS,
    **carry.BUILDERS,
    **floating.FUNCTION_BUILDERS,
    **bits.BUILDERS,
    **compare.BUILDERS,
    **convert.BUILDERS,
    **move.BUILDERS,
    **loadstore.BUILDERS,
    **atomics.BUILDERS,
    **control.BUILDERS,
    **hints.BUILDERS,
    **printing.BUILDERS,
    **warp.BUILDERS,
    **match.BUILDERS,
    **ldmatrix.BUILDERS,
    **mma.BUILDERS,
    **wmma.BUILDERS,
    **copy.BUILDERS,
    **tensor_map.BUILDERS,
    **mbarrier.BUILDERS,
    **wgmma.BUILDERS,
    **cluster.BUILDERS,
    **proxy.BUILDERS,
}

#: Builder of each opcode, by its first word.
BUILDERS: dict[str, Builder] = {
    **_DECODERS,
    **{name: pairs.either(_DECODERS[name], name) for name in pairs.FUNCTIONS},
    **{name: pairs.either(carry.either(_DECODERS[name], name), name) for name in ("add", "sub")},
    "mad": carry.either(_DECODERS["mad"], "mad"),
}
