"""Kernels that update rows of a table in place, so that their output shares memory with an
input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Formula `scatter(table, ...)` or `name = scatter(table, ...)`; runtime/c/in_place.c has the same
#: rule.
_SCATTER = re.compile(r"(?:^|;)[ ;]*(?:\w+ *= *)?scatter\( *(\w+)", re.ASCII)


def overwritten_table(spec: Mapping[str, Any]) -> str | None:
    """Return the name of the input whose memory the output reuses: the table of a scatter. None for
    all other kernels."""
    expression = spec.get("expression")
    if spec["op"] != "elementwise" or not isinstance(expression, str):
        return None
    found = _SCATTER.search(expression) if "scatter(" in expression else None
    return None if found is None else found[1]
