"""Keys of an entry in a file of budgets."""

from __future__ import annotations

from kgen.check.gate import budgets, foreign
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per key: kernels that kgen builds, then files."""
    owners = {"kernel": budgets.MEANINGS, "file": foreign.MEANINGS}
    cells = [(f"`{k}`", of, text) for of, found in owners.items() for k, text in found.items()]
    return rows(("key", "entry", "meaning"), cells)
