"""Suggestions for messages about an unknown name: all known names, or the nearest ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Most names and characters of a complete list in a message; number of names in a shorter list.
MOST_NAMES, MOST_CHARACTERS, FEW = 18, 300, 3


def near(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return up to `count` known names that start with `name`, else the most similar ones, which
    may be none."""
    import difflib

    known = list(known)
    whole = [k for k in known if len(name) > 1 and k.startswith(name)]
    return (whole or difflib.get_close_matches(name, known, n=count, cutoff=0.6))[:count]


def known_names(name: object, known: Iterable[str], subject: str = "known") -> str:
    """Return ``known are a, b``; for many names ``the nearest of 60 are a, b, c``, or ``known are
    a, b, c and 57 more`` if none is similar."""
    known = list(known)
    if not known:
        return "there are none" if subject == "known" else f"there are no {subject}"
    if are_few(known):
        return f"{subject} are {', '.join(known)}"
    if nearest := near(str(name), known, FEW):
        return f"the nearest of {len(known)} are {', '.join(nearest)}"
    rest = f" and {len(known) - FEW} more" if len(known) > FEW else ""
    return f"{subject} are {', '.join(known[:FEW])}{rest}"


def are_few(known: Sequence[str]) -> bool:
    """Return whether a message lists all of these names."""
    return len(known) <= MOST_NAMES and len(", ".join(known)) <= MOST_CHARACTERS
