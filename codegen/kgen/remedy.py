"""Remedy for a schedule that does not fit: the nearest value that does, found by trying.

A family's own advice looks at one limit at a time, and following it may meet the next one. A remedy
is therefore planned before it is printed: one field is changed, and the whole plan must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.errors import KgenError, ScheduleError

#: Values worth trying for any field: all small ones, and powers of two.
CANDIDATES = frozenset(range(65)) | {2**i for i in range(7, 17)}


def proven(
    error: ScheduleError, overrides: Mapping[str, int], attempt: Callable[[dict[str, int]], object]
) -> ScheduleError:
    """The error with advice that works; as it was if no change of one field makes a plan.

    `attempt` plans with the given overrides and raises KgenError if they do not fit.
    """
    reason = str(error).partition("; try ")[0]
    for name, value in overrides.items():
        for candidate in sorted(CANDIDATES, key=lambda c: abs(c - value)):
            if candidate != value and _fits(attempt, {**overrides, name: candidate}):
                return ScheduleError(f"{reason}; try {name}={candidate}")
    return error


def _fits(attempt: Callable[[dict[str, int]], object], overrides: dict[str, int]) -> bool:
    try:
        attempt(overrides)
    except KgenError:
        return False
    return True
