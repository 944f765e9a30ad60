"""match.sync: lanes of a warp with equal values (PTX ISA 9.7.13.14)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.operations import Collective
from kgen.emulate.ptx.exec.waiting.member_masks import bits_of
from kgen.emulate.ptx.frontend.decode import PRED, U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand

_BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


def _match(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """Build match: .any returns the members with the lane's value; .all returns all members if
    their values are equal."""
    mode = words.one_of("any", "all")
    type_ = words.type()
    require(words.flag("sync") and type_.size in (4, 8))
    words.finish()
    first, second = decoder.pair(operands[0])
    target = decoder.target(first, U32)
    agree = decoder.target(second, PRED) if second is not None else None
    value, members = decoder.source(operands[1], type_), decoder.source(operands[2], U32)
    machine = decoder.machine

    def run(mask: Mask) -> None:
        lanes, named = machine.active(mask), members()
        shape = np.broadcast_shapes(value().shape, lanes.shape, named.shape, (1, 1, WARP))
        values = np.broadcast_to(value(), shape)
        same = values[..., :, None] == values[..., None, :]
        same &= np.broadcast_to(lanes, shape)[..., None, :]
        bits = np.where(same, _BIT, np.uint32(0)).sum(axis=-1, dtype=np.uint32) & named
        if mode == "all":
            everyone = bits_of(lanes) & named
            whole = bits == everyone
            bits = np.where(whole, everyone, np.uint32(0))
            if agree is not None:
                agree(whole, mask)
        target(bits, mask)

    return Collective(action=run, members=members, spares_exited=True)


BUILDERS: dict[str, Builder] = {"match": _match}
