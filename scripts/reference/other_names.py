"""Other names of functions and types."""

from __future__ import annotations

from kgen.ops.registry import ALIASES
from kgen_runtime.dtypes import OTHER_NAMES
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per name that has others."""
    names: dict[str, list[str]] = {}
    others = {other: str(dtype) for other, dtype in OTHER_NAMES.items()}
    for other, name in (ALIASES | others).items():
        if other != name:
            names.setdefault(name, []).append(f"`{other}`")
    cells = [(f"`{name}`", ", ".join(found)) for name, found in names.items()]
    return rows(("name", "also accepted"), cells)
