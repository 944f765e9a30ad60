"""What somebody meant who mistyped a name: one wording for options, commands, names and targets."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that look most like this one; none if none does."""
    import difflib

    known = list(known)
    whole = [k for k in known if len(name) > 1 and k.startswith(name)]
    return (whole or difflib.get_close_matches(name, known, n=count, cutoff=0.6))[:count]


def meant(name: object, known: Iterable[str], *, after: str = "") -> str:
    """A question that names the nearest, before other words; nothing if none is near."""
    found = near(str(name), known)
    return f"did you mean {found[0]}?{after}" if found else ""


def unknown(given: str, name: object, known: Iterable[str]) -> str:
    """`given` is unknown: the name in it that is nearest, and all that there are."""
    known = list(known)
    question = meant(name, known, after=" ") if len(known) > 1 else ""
    return f"{given} is unknown; {question}known are {', '.join(known)}"
