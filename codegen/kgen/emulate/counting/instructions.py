"""Execution counts of instructions, and the report of a launch that is made of them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgen.emulate.counters import MEANING
from kgen.emulate.counting.traffic import TRAFFIC, LineTraffic
from kgen.emulate.report import Fault, Index3, LaunchReport, LineCounts


class Executed(NamedTuple):
    """Executions of one instruction of the text over a launch."""

    line: int
    #: Class of the instruction, as the counters name it.
    class_: str
    #: NAME of the counter `matrix.NAME`.
    matrix: str | None
    #: Warps or waves that issued the instruction.
    issued: int
    #: Active lanes, summed over all issues.
    lanes: int


@dataclass(kw_only=True)
class Events:
    """Events that do not follow from the execution counts of instructions."""

    #: Branches at which the lanes of a warp or wave diverged.
    divergent_branches: int = 0
    #: Largest number of barriers that one workgroup passed.
    barriers: int = 0


def report(
    executed: Sequence[Executed],
    events: Events,
    traffic: LineTraffic[Any] | None,
    *,
    workgroups: int,
    grid: Index3,
    start: float,
    subgroup_width: int = 32,
    warnings: Sequence[Fault] = (),
    printed: Sequence[str] = (),
) -> LaunchReport:
    """Return the report of a launch. `start` is the time at which it began, by
    `time.perf_counter`."""
    counters = {**_counters(executed), **vars(events)}
    return LaunchReport(
        workgroups_run=workgroups,
        workgroups_total=math.prod(grid),
        instructions=counters["instructions"],
        seconds=time.perf_counter() - start,
        subgroup_width=subgroup_width,
        counters=counters if traffic is None else {**counters, **traffic.counters()},
        lines={} if traffic is None else _lines(executed, traffic),
        warnings=tuple(warnings),
        printed=tuple(printed),
    )


def _counters(executed: Sequence[Executed]) -> dict[str, int]:
    """Return the number of issued instructions in all and by class."""
    found = Counter(dict.fromkeys((name for name in MEANING if name not in TRAFFIC), 0))
    for one in executed:
        found[one.class_] += one.issued
        found["instructions"] += one.issued
        found["lane_instructions"] += one.lanes
        if one.matrix is not None:
            found[f"matrix.{one.matrix}"] += one.issued
    return dict(found)


def _lines(executed: Sequence[Executed], traffic: LineTraffic[Any]) -> dict[int, LineCounts]:
    """Return the counts of every executed source line, in the order of the lines."""
    found: dict[int, LineCounts] = {}
    for one in executed:
        if one.issued:
            line = found.setdefault(one.line, LineCounts())
            line.kind = one.class_
            line.issued += one.issued
            line.lanes += one.lanes
    for number, moved in traffic.by_line.items():
        if number in found:
            moved.add_to(found[number])
    return dict(sorted(found.items()))
