"""Wording of faults and warnings: lists of numbers and names, shortened texts."""

from __future__ import annotations

from collections.abc import Iterable

#: Most names that a message lists.
MOST_NAMES = 5


def numbers(noun: str, values: Iterable[int]) -> str:
    """Return numbers in rising order as ranges: `lane 3`, `lanes 0 to 7, 9`."""
    listed = [int(value) for value in values]
    ranges: list[list[int]] = []
    for value in listed:
        if ranges and ranges[-1][1] == value - 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    text = ", ".join(
        str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in ranges
    )
    return f"{noun}{'' if len(listed) == 1 else 's'} {text}"


def listed(names: Iterable[str], wanted: str) -> str:
    """Return names for a message, those nearest to the wanted one first; at most MOST_NAMES."""
    import difflib

    known = list(names)
    near = difflib.get_close_matches(wanted, known, n=MOST_NAMES)
    shown = [*near, *(name for name in known if name not in near)][:MOST_NAMES]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{', '.join(map(shorten, shown)) or 'none'}{more}"


def shorten(text: str, most: int = 60) -> str:
    """Return a piece of a program's text, shortened for a message."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."
