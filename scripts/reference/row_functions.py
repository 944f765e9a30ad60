"""Functions of row-wise expressions."""

from __future__ import annotations

from kgen.ops import functions
from scripts.reference.element_functions import call
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per function, in the order of the registry."""
    found = [f for f in functions().values() if f.rowwise]
    return rows(
        ("function", "result"),
        [(call(f), "one number per row" if f.reduces else "the shape of x") for f in found],
    )
