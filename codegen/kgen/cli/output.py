"""Output of all commands: tables, JSON, numbers and progress."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: Any) -> None:
    """Print a JSON object; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_finite(value), indent=1))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


#: Headers of a kernel's resources, in the tables of `kgen build` and `kgen build --verify`.
RESOURCES = ("registers", "spills (B)", "shared (B)", "files (B)", "build (s)")
#: Legend of RESOURCES.
RESOURCES_LEGEND = """\
registers, spills: registers and spilled bytes of a thread; shared: shared memory (LDS, workgroup
memory) of a workgroup; files: machine code, portable form and source text in the bundle; build:
time to render and assemble."""


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with columns of minimal width; numbers are right-aligned."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(c) for c in column) for column in zip(header, *cells, strict=True)]
    right = [all(_is_number(row[i]) for row in rows) and bool(rows) for i in range(len(header))]
    for line in (list(header), ["-" * w for w in widths], *cells):
        aligned = (
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)
        )
        print("  ".join(aligned).rstrip())


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"


def progress(message: str) -> None:
    """Show progress in one line of a terminal; silent when piped."""
    if sys.stderr.isatty():
        shown = message[: shutil.get_terminal_size().columns - 1]
        print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    progress("")
