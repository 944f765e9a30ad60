"""Formats of a bundle's artifacts."""

from __future__ import annotations

from kgen_runtime.schema.formats import FORMATS
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per format."""
    header = ("format", "family", "role and content")
    cells = [(f"`{name}`", ", ".join(of), text) for name, (of, text) in FORMATS.items()]
    return rows(header, cells)
