"""Functions of row-wise expressions."""

from __future__ import annotations

from kgen.ops import ScalarFunction, functions
from scripts.reference.comments import summary
from scripts.reference.element_functions import call
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per function, in the order of the registry."""
    found = [f for f in functions().values() if f.rowwise]
    return rows(
        ("function", "result", "meaning"),
        [(call(f), shape(f), summary(f.expand)) for f in found],
    )


def shape(f: ScalarFunction) -> str:
    """Return the shape of a function's result."""
    return "one number per row" if f.reduces else "the shape of x"
