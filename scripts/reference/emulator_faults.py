"""Faults that the emulators report, each with its fix."""

from __future__ import annotations

from kgen.emulate.report import FAULTS, FIXES
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row for each kind of fault."""
    cells = ((f"`{kind}`", meaning, FIXES[kind]) for kind, meaning in FAULTS.items())
    return rows(("fault", "meaning", "fix"), cells)
