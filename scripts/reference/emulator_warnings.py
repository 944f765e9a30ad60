"""Warnings of the emulators."""

from __future__ import annotations

from kgen.emulate.report import WARNINGS
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row for each kind of warning."""
    cells = ((f"`{kind}`", meaning) for kind, meaning in WARNINGS.items())
    return rows(("warning", "meaning"), cells)
