"""Pieces of the sentences in which faults and warnings are told."""

from __future__ import annotations

from collections.abc import Iterable

#: Names that one message lists.
MOST_NAMES = 5


def numbers(noun: str, values: Iterable[int]) -> str:
    """Numbers in rising order as ranges: `lane 3`, `lanes 0 to 7, 9`."""
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
    """Names in a message, those nearest to the wanted one first; at most MOST_NAMES of them."""
    import difflib

    known = list(names)
    near = difflib.get_close_matches(wanted, known, n=MOST_NAMES)
    shown = [*near, *(name for name in known if name not in near)][:MOST_NAMES]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{', '.join(map(shorten, shown)) or 'none'}{more}"


def shorten(text: str, most: int = 60) -> str:
    """A piece of a program's text that fits into a message of one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."
