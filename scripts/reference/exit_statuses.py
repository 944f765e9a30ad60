"""Exit statuses of all commands."""

from __future__ import annotations

from kgen.cli.main import EXIT_STATUSES
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per status."""
    cells = [(str(status), meaning) for status, meaning in EXIT_STATUSES.items()]
    return rows(("exit status", "meaning"), cells)
