"""Kernels that write a part of their output: rows of a table, which they update in place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A formula `scatter(table, ...)` or `name = scatter(table, ...)`; so does runtime/c/in_place.c.
_SCATTER = re.compile(r"(?:^|;)[ ;]*(?:\w+ *= *)?scatter\( *(\w+)", re.ASCII)


def lies_upon(spec: Mapping[str, Any]) -> str | None:
    """The input whose memory is the output's, since the kernel writes a part of it: the table of a
    scatter. None for all other kernels."""
    expression = spec.get("expression")
    if spec["op"] != "elementwise" or not isinstance(expression, str):
        return None
    found = _SCATTER.search(expression) if "scatter(" in expression else None
    return None if found is None else found[1]
