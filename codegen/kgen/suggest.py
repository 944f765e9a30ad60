"""What somebody meant who mistyped a name: one wording for options, commands, names and targets."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that look most like this one; none if none does."""
    import difflib

    return difflib.get_close_matches(name, list(known), n=count, cutoff=0.6)


def unknown(given: str, name: object, known: Iterable[str]) -> str:
    """`given` is unknown: the name in it that is nearest, and all that there are."""
    known = list(known)
    found = near(str(name), known)
    meant = f"did you mean {found[0]}? " if found and len(known) > 1 else ""
    return f"{given} is unknown; {meant}known are {', '.join(known)}"
