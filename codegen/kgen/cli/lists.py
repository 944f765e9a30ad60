"""Lists on the command line: names separated by commas, spaces or both."""

from __future__ import annotations

import re


def comma_list(text: str | None) -> tuple[str, ...]:
    """Return the names; () for an option that was left out."""
    return () if text is None else tuple(re.split(r"\s*,\s*|\s+", text.strip()))
