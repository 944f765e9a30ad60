"""Variables of the environment that kgen and its runtime read."""

from __future__ import annotations

from kgen_runtime import settings
from scripts.reference.comments import constant_comments
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per variable."""
    found = constant_comments(settings)
    cells = ((f"`{v}`", text) for v, text in found if isinstance(v, str))
    return rows(("variable", "meaning"), cells)
