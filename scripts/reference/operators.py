"""ONNX operators that `kgen compile` supports."""

from __future__ import annotations

from kgen.graph.operators import OPERATORS
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row for each operator, by name."""
    found = sorted(OPERATORS.values(), key=lambda operator: operator.name)
    header = ["operator", "family", "becomes", "limits"]
    return rows(header, [[o.name, o.family, o.becomes, o.limits] for o in found])
