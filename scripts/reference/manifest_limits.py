"""Limits of a manifest, for the reference of the bundle format and for the C runtime."""

from __future__ import annotations

from pathlib import Path

from kgen_runtime.schema.limits import COUNTED, LIMITS
from scripts.reference.markdown import rows

HEADER = Path(__file__).parents[2] / "runtime" / "c" / "manifest_limits.h"


def table() -> str:
    """Return the limits, one a row."""
    cells = [(f"`{name}`", str(limit.most), limit.what) for name, limit in LIMITS.items()]
    return rows(("limit", "at most", "what it counts"), cells)


def header() -> str:
    """Return the text of runtime/c/manifest_limits.h."""
    lines = [
        "/* Limits of a manifest, generated from kgen_runtime/schema/limits.py. Change that table,",
        " * then run make reference. */",
        "#ifndef KGEN_LIMITS_H",
        "#define KGEN_LIMITS_H",
        "",
    ]
    for name, limit in LIMITS.items():
        lines.append(f"/* {limit.what.replace('`', '')} */")
        suffix = "" if limit.most < 2**31 else "LL"
        lines.append(f"#define KGEN_MOST_{name.upper()} {limit.most}{suffix}")
    fields = {place.partition(".")[2]: limit for place, limit in COUNTED.items()}
    assert all(fields[place.partition(".")[2]] == limit for place, limit in COUNTED.items())
    counted = [
        f'{{"{field}", KGEN_MOST_{limit.upper()}, "{limit}"}}' for field, limit in fields.items()
    ]
    lines += ["", "/* Fields whose entries are counted: their limit, and its name. */"]
    lines += ["#define KGEN_COUNTED {" + " \\", *(f"    {row}, \\" for row in counted[:-1])]
    return "\n".join([*lines, f"    {counted[-1]}}}", "", "#endif", ""])
