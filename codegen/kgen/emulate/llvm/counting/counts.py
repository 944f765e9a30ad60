"""How often each instruction was executed, and how a report shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kgen.emulate.counters import MEANING
from kgen.emulate.llvm.counting.classes import class_of, matrix_name
from kgen.emulate.llvm.counting.traffic import Traffic
from kgen.emulate.llvm.exec.machine import Events
from kgen.emulate.llvm.frontend.module import Instruction
from kgen.emulate.llvm.frontend.program import Program, Segment
from kgen.emulate.report import LineCounts
from kgen.emulate.traffic import TRAFFIC


def counters(
    programs: Iterable[Program], events: Events, traffic: Traffic | None
) -> dict[str, int]:
    """The counters of a report; those of traffic only if it was counted."""
    found = Counter(dict.fromkeys((name for name in MEANING if name not in TRAFFIC), 0))
    for ins, class_, segment in _issued(programs):
        found[class_] += segment.waves
        found["instructions"] += segment.waves
        found["lane_instructions"] += segment.lanes
        if class_ == "matrix":
            found[f"matrix.{matrix_name(ins)}"] += segment.waves
    found["barriers"] = events.barriers
    found["divergent_branches"] = events.divergent_branches
    return dict(found) if traffic is None else {**found, **traffic.counters()}


def lines(programs: Iterable[Program], traffic: Traffic) -> dict[int, LineCounts]:
    """The counts of every source line that was executed, in the order of the lines."""
    found: dict[int, LineCounts] = {}
    for ins, class_, segment in _issued(programs):
        if segment.waves:
            line = found.setdefault(ins.line, LineCounts())
            line.kind = class_
            line.issued += segment.waves
            line.lanes += segment.lanes
    for number, moved in traffic.by_line.items():
        moved.add_to(found.setdefault(number, LineCounts()))
    return dict(sorted(found.items()))


def _issued(programs: Iterable[Program]) -> Iterator[tuple[Instruction, str, Segment]]:
    for program in programs:
        for segment in program.segments:
            for ins in segment.instructions:
                class_ = class_of(ins)
                if class_ is not None:
                    yield ins, class_, segment
