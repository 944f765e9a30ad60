"""Counters of the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kgen.emulate.counting.instructions import Events, Executed
from kgen.emulate.ptx.counting.classes import class_of, matrix_name
from kgen.emulate.ptx.frontend.syntax import PtxInstruction


class Counts:
    """Sums over all chunks, for each instruction by its index."""

    def __init__(self, instructions: Sequence[PtxInstruction]) -> None:
        self.instructions = instructions
        #: Warps that issued it.
        self.issued = [0] * len(instructions)
        #: Lanes for which it did something; all that reach it, for a branch.
        self.lanes = [0] * len(instructions)
        self.events = Events()

    def executed(self) -> list[Executed]:
        """The counts of every instruction."""
        named = cache(lambda words: (class_of(words), matrix_name(words)))
        counted = zip(self.instructions, self.issued, self.lanes, strict=True)
        return [Executed(i.line, *named(i.words), warps, lanes) for i, warps, lanes in counted]
