"""Execution counts of instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgen.emulate.counting.instructions import Executed
from kgen.emulate.llvm.frontend.program import CompiledFunction


def executed(
    programs: Iterable[CompiledFunction], waves: Mapping[object, int], lanes: Mapping[object, int]
) -> list[Executed]:
    """Return the counts of every instruction that does something, from those of segments."""
    return [
        Executed(line, class_, matrix, waves[segment], lanes[segment])
        for program in programs
        for segment in program.segments
        for line, class_, matrix in segment.counted
    ]
