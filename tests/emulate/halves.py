"""Whether the halves of a ping-pong loop alternate, read from its text."""

from __future__ import annotations

import re

BARRIER = re.compile(r"\bs[._]barrier\b")


def segments(loop: list[str]) -> list[list[str]]:
    """Return the lines between barriers of a loop; lines after the last barrier precede the
    first."""
    found: list[list[str]] = [[]]
    for line in loop:
        if BARRIER.search(line):
            found.append([])
        else:
            found[-1].append(line)
    return [found[-1] + found[0], *found[1:-1]]


def alternate(loop: list[str], multiplies: re.Pattern[str], moves: re.Pattern[str]) -> bool:
    """Whether each segment either multiplies or moves data, and never does what the previous one
    does. The other half is one barrier behind, so it does the opposite."""
    kinds = []
    for segment in segments(loop):
        products, accesses = (any(map(p.search, segment)) for p in (multiplies, moves))
        if products == accesses:
            return False
        kinds.append(products)
    return all(kind != kinds[i - 1] for i, kind in enumerate(kinds))
