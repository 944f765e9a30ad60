"""Dispatch of the opcode cp to the modules of its kinds."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.emulate.ptx.exec.operations import Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.memory import async_copy, bulk_copy, tensor_copy
from kgen.emulate.ptx.ops.synchronisation import mbarrier


def _copy(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    reduces = words.flag("reduce")
    require(words.flag("async"))
    if words.flag("bulk"):
        kind = tensor_copy.tensor if words.flag("tensor") else bulk_copy.bulk
        return kind(decoder, words, operands, reduces)
    require(not reduces)
    if words.flag("mbarrier"):
        return mbarrier.arrive_after_copies(decoder, words, operands)
    return async_copy.build(decoder, words, operands)


BUILDERS: dict[str, Builder] = {"cp": _copy}
