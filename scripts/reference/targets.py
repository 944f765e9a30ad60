"""Targets: the data types of each operation, and how the tests prove them."""

from __future__ import annotations

from kgen.support import support_table
from scripts.reference.markdown import rows


def table() -> str:
    """Return the rows of `kgen targets --json`."""
    found = support_table()
    operations = [*found[0]["ops"]]
    header = ["target", *operations, "`--math`", "`--b-dtype`", "verified by `make test`"]
    cells = []
    for row in found:
        types = [" ".join(row["ops"][op]) or "not yet" for op in operations]
        columns = (row["math"] + row["conv_math"], row["narrow"])
        options = [" ".join(column) or "–" for column in columns]
        cells.append([f"`{row['target']}`", *types, *options, row["proof"]])
    return rows(header, cells)
