"""Lists on the command line: names between commas, with or without spaces."""

from __future__ import annotations


def comma_list(text: str | None) -> tuple[str, ...]:
    """The names; none of an option that was left out."""
    return () if text is None else tuple(part.strip() for part in text.split(","))
