"""Helpers for error messages: shortened quotes and shortened lists."""

from __future__ import annotations

from collections.abc import Sequence

#: Most characters quoted from another library's message.
MOST_QUOTED = 160
#: Most characters of a list in a message.
MOST_LISTED = 260


def shortened(error: object) -> str:
    """Return an error's text on one line, shortened."""
    words = " ".join(str(error).split())
    return f"{words[:MOST_QUOTED]}..." if len(words) > MOST_QUOTED else words


def listed(parts: Sequence[str], what: str) -> str:
    """Join parts with semicolons; count the parts that make the list too long."""
    kept = 1
    while kept < len(parts) and len("; ".join(parts[: kept + 1])) <= MOST_LISTED:
        kept += 1
    more = f"; and {len(parts) - kept} more {what}" if kept < len(parts) else ""
    first = "; ".join(parts[:kept])
    return (f"{first[:MOST_LISTED]}..." if len(first) > MOST_LISTED else first) + more
