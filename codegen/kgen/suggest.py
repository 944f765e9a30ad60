"""Suggestions for a mistyped name, with one wording for options, commands and targets."""

from __future__ import annotations

from collections.abc import Iterable

from kgen_runtime.known_names import are_few, known_names
from kgen_runtime.known_names import near as near


def meant(name: object, known: Iterable[str], *, after: str = "") -> str:
    """Return a question with the nearest known name, followed by `after`; empty if none is near."""
    found = near(str(name), known)
    return f"did you mean {found[0]}?{after}" if found else ""


def unknown(given: str, name: object, known: Iterable[str]) -> str:
    """Return that `given` is unknown, the known name that is nearest to `name`, and the others."""
    known = list(known)
    question = meant(name, known, after=" ") if len(known) > 1 and are_few(known) else ""
    return f"{given} is unknown; {question}{known_names(name, known)}"
