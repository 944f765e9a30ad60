"""Kernels that write a part of their output: rows of a table, which they update in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def lies_upon(spec: Mapping[str, Any]) -> str | None:
    """The input that a kernel's output has to lie upon, since it leaves what it does not write: the
    table of a scatter. None of all other kernels."""
    if spec["op"] != "elementwise" or "scatter(" not in spec["expression"]:
        return None
    from kgen_runtime.expressions import views
    from kgen_runtime.expressions.formulas import formulas_in

    return views.table_of(formulas_in(spec["expression"]))
