"""Markdown of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def rows(header: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """Return a table with a header and a line for each row. `|` in a cell is escaped."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    for row in cells:
        assert len(row) == len(header), row
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |")
    return "\n".join(lines) + "\n"
