"""Advice for a schedule that does not fit: fields that were planned before they are printed.

A target family's own advice considers one limit at a time, and following it may exceed the next
limit. Candidates are therefore planned in this order, and the first that passes is printed:

- the family's advice;
- the nearest value of one of the user's fields;
- the advice of one limit after the other;
- the user's fields without one of them.

If none passes, the advice is to leave out all fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kgen.errors import KgenError, ScheduleError

#: Values tried for any field: all small ones, and powers of two.
CANDIDATES = frozenset(range(65)) | {2**i for i in range(7, 17)}


#: Number of successive limits whose advice is followed.
MOST_STEPS = 4
#: Fields that a user sets, and `mainloop`.
Fields = Mapping[str, int | str]


def proven(
    error: ScheduleError, overrides: Fields, attempt: Callable[[Fields], object]
) -> ScheduleError:
    """Return the error with advice that works, or unchanged if it has none and no value fits.

    `attempt` plans with the given overrides and raises KgenError if they do not fit.
    """
    reason, _, advice = str(error).partition("; try ")
    for fields in _alternatives(advice):
        if _fits(attempt, {**overrides, **fields}):
            return ScheduleError(f"{reason}; try {_line(fields)}")
    for name, value in overrides.items():
        if not isinstance(value, int):
            continue
        for candidate in sorted(CANDIDATES, key=lambda c: abs(c - value)):
            if candidate != value and _fits(attempt, {**overrides, name: candidate}):
                return ScheduleError(f"{reason}; try {name}={candidate}")
    if not advice:
        return error
    if followed := _followed(advice, overrides, attempt):
        return ScheduleError(f"{reason}; try {_line(followed)}")
    for name in overrides:
        if _fits(attempt, {k: v for k, v in overrides.items() if k != name}):
            return ScheduleError(f"{reason}; leave {name} out")
    return ScheduleError(f"{reason}; leave {', '.join(overrides)} out")


def _followed(
    advice: str, overrides: Fields, attempt: Callable[[Fields], object]
) -> dict[str, int | str]:
    """Return the fields of the advice, and of further advice, until the plan passes."""
    fields: dict[str, int | str] = {}
    for _ in range(MOST_STEPS):
        fields |= next(_alternatives(advice), {})
        try:
            attempt({**overrides, **fields})
        except KgenError as error:
            advice = str(error).partition("; try ")[2]
        else:
            return fields
    return {}


def _alternatives(advice: str) -> Iterator[dict[str, int | str]]:
    """Yield the fields of each alternative: "a=1,b=2 or a=2" has two."""
    for alternative in advice.split(" or "):
        if re.fullmatch(r"\w+=[\w-]+(,\w+=[\w-]+)*", alternative):
            pairs = (field.partition("=") for field in alternative.split(","))
            yield {name: int(v) if v.isdecimal() else v for name, _, v in pairs}


def _line(fields: Fields) -> str:
    return ",".join(f"{name}={value}" for name, value in fields.items())


def _fits(attempt: Callable[[Fields], object], overrides: dict[str, int | str]) -> bool:
    try:
        attempt(overrides)
    except KgenError:
        return False
    return True
