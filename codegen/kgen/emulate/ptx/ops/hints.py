"""Hints to the scheduler and the caches, which do not affect results (PTX ISA 9.7.9, 9.7.16)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES


def _no_effect(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    return lambda mask: None


def _create_policy(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """createpolicy: an opaque cache hint; its register is set to zero."""
    target = decoder.target(operands[0], TYPES["b64"])
    return lambda mask: target(np.zeros((1, 1, 1), np.uint64), mask)


def _sleep(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """nanosleep: advances only the timer registers."""
    nanoseconds, machine = decoder.source(operands[0], U32), decoder.machine

    def run(mask: Mask) -> None:
        lanes = np.where(machine.active(mask), nanoseconds(), 0)
        machine.time += int(lanes.max())

    return run


BUILDERS: dict[str, Builder] = {
    "applypriority": _no_effect,
    "createpolicy": _create_policy,
    "nanosleep": _sleep,
    "prefetch": _no_effect,
    "prefetchu": _no_effect,
}
