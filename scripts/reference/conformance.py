"""ONNX's backend suite by operator, from the committed outcomes of its cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from scripts.reference.markdown import rows
from tests.conformance import record


def table() -> str:
    """Return one row per operator, and one for all of them."""
    by_operator: dict[str, list[record.Row]] = defaultdict(list)
    for row in record.read():
        by_operator[row.operator].append(row)
    every = [row for those in by_operator.values() for row in those]
    cells = [
        (title, right(those, "core"), right(those))
        for title, those in (
            ("**all**", every),
            *((f"`{name}`", by_operator[name]) for name in sorted(by_operator)),
        )
    ]
    return rows(("operator", "core group", "all cases"), cells)


def right(cases: Sequence[record.Row], group: str = "") -> str:
    """Return the number of right cases, of all cases of a group."""
    those = [row for row in cases if group in ("", row.group)]
    return f"{sum(row.is_right for row in those)} of {len(those)}" if those else ""
