"""Instruction counters of the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kgen.emulate.counting.instructions import Events, Executed
from kgen.emulate.ptx.counting.classes import class_of, matrix_name
from kgen.emulate.ptx.frontend.syntax import PtxInstruction


class Counts:
    """Sums over all chunks, by index of the instruction."""

    def __init__(self, instructions: Sequence[PtxInstruction]) -> None:
        self.instructions = instructions
        #: Warps that issued the instruction.
        self.issued = [0] * len(instructions)
        #: Lanes that executed the instruction; for a branch, all lanes that reached it.
        self.lanes = [0] * len(instructions)
        self.events = Events()

    def executed(self) -> list[Executed]:
        """Return the counts of every instruction."""
        named = cache(lambda words: (class_of(words), matrix_name(words)))
        counted = zip(self.instructions, self.issued, self.lanes, strict=True)
        return [Executed(i.line, *named(i.words), warps, lanes) for i, warps, lanes in counted]
