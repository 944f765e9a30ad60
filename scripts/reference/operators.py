"""ONNX operators that a model may use, with the opsets of each."""

from __future__ import annotations

from onnx import defs

from kgen.graph.operators import OPERATORS
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per operator, sorted by name."""
    found = sorted(OPERATORS.values(), key=lambda operator: operator.name)
    cells = [
        (f"`{o.name}`", opsets(o.name), o.family, o.becomes, o.unsupported.replace("; ", ", "))
        for o in found
    ]
    return rows(("operator", "opsets", "family", "becomes", "not supported"), cells)


def opsets(name: str) -> str:
    """Return the opsets of ONNX's own domain that define an operator."""
    schemas = [
        schema
        for schema in defs.get_all_schemas_with_history()
        if (schema.domain, schema.name) == ("", name)
    ]
    first = min(schema.since_version for schema in schemas)
    ended = [schema.since_version for schema in schemas if schema.deprecated]
    return f"{first} to {min(ended) - 1}" if ended else f"from {first}"
