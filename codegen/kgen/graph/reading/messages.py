"""Parts of messages: another library's words, and lists that may be long."""

from __future__ import annotations

from collections.abc import Sequence

#: Characters of another library's message that ours repeats.
MOST_QUOTED = 160
#: Characters of a list in a message.
MOST_LISTED = 260


def shortened(error: object) -> str:
    """An error's text on one line, cut to a bearable length."""
    words = " ".join(str(error).split())
    return f"{words[:MOST_QUOTED]}..." if len(words) > MOST_QUOTED else words


def listed(parts: Sequence[str], what: str) -> str:
    """Parts with semicolons between them; those that make the list too long are counted."""
    kept = 1
    while kept < len(parts) and len("; ".join(parts[: kept + 1])) <= MOST_LISTED:
        kept += 1
    more = f"; and {len(parts) - kept} more {what}" if kept < len(parts) else ""
    first = "; ".join(parts[:kept])
    return (f"{first[:MOST_LISTED]}..." if len(first) > MOST_LISTED else first) + more
