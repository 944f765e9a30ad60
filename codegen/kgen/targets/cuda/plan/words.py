"""Words of the comments in a kernel."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 stage``, ``2 stages``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
