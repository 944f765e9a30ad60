"""Whether the halves of a ping-pong loop alternate, read from its text."""

from __future__ import annotations

import re

BARRIER = re.compile(r"\bs[._]barrier\b")


def segments(loop: list[str]) -> list[list[str]]:
    """The lines of a loop between its barriers, what is behind the last one before the first."""
    found: list[list[str]] = [[]]
    for line in loop:
        if BARRIER.search(line):
            found.append([])
        else:
            found[-1].append(line)
    return [found[-1] + found[0], *found[1:-1]]


def alternate(loop: list[str], multiplies: re.Pattern[str], moves: re.Pattern[str]) -> bool:
    """While a half multiplies, the other, one barrier behind, moves data: segments do either, and
    each does what the one before does not."""
    kinds = []
    for segment in segments(loop):
        products, accesses = (any(map(p.search, segment)) for p in (multiplies, moves))
        if products == accesses:
            return False
        kinds.append(products)
    return all(kind != kinds[i - 1] for i, kind in enumerate(kinds))
