"""Runs of one launch under several schedules, which may show different faults."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kgen.emulate.report import Fault, LaunchReport

#: Default number of schedules: seeds 0, 1 and 2.
SCHEDULES = 3


def run_all(
    launch: Callable[[Sequence[Any], int], LaunchReport],
    arguments: Sequence[Any],
    seeds: Sequence[int],
) -> LaunchReport:
    """Run a launch with each seed, on the same data; the arguments hold the results of the first
    seed.

    The report is that of the first seed, with the warnings of all. Raises EmulationFault for the
    first fault.
    """
    # One deep copy, so that arrays with shared memory still share it.
    before = copy.deepcopy(list(arguments)) if len(seeds) > 1 else []
    report = launch(arguments, seeds[0])
    found = [launch(copy.deepcopy(before), seed) for seed in seeds[1:]]
    warnings = [warning for one in (report, *found) for warning in one.warnings]
    return replace(
        report, warnings=once(warnings), seconds=report.seconds + sum(one.seconds for one in found)
    )


def once(warnings: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the first warning of each kind and line."""
    found: dict[tuple[str, int], Fault] = {}
    for warning in warnings:
        found.setdefault((warning.kind, warning.line), warning)
    return tuple(found.values())
