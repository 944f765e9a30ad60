"""Names for a message about a name that is not known: all known names, or the nearest of many."""

from __future__ import annotations

from collections.abc import Iterable

#: A message lists all names up to this number of names and of characters, else the nearest ones.
MOST_NAMES, MOST_CHARACTERS, MOST_NEAREST = 16, 300, 3


def near(name: str, known: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return up to `count` known names that start with `name` or else look most like it; empty if
    none does."""
    import difflib

    known = list(known)
    whole = [k for k in known if len(name) > 1 and k.startswith(name)]
    return (whole or difflib.get_close_matches(name, known, n=count, cutoff=cutoff))[:count]


def known_names(name: object, known: Iterable[str], subject: str = "known") -> str:
    """Return ``known are a, b``, or ``the nearest of 60 are a, b, c``."""
    known = list(known)
    listed = ", ".join(known) or "none"
    if len(known) <= MOST_NAMES and len(listed) <= MOST_CHARACTERS:
        return f"{subject} are {listed}"
    nearest = near(str(name), known, MOST_NEAREST, cutoff=0.0)
    return f"the nearest of {len(known)} are {', '.join(nearest)}"
