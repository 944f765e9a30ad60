"""Write the table of a bundle's limits where it is read: C's header, and the format's page.

python -m scripts.bundle_limits
"""

from __future__ import annotations

from pathlib import Path

from kgen_runtime.schema.limits import COUNTED, LIMITS

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "runtime" / "c" / "limits.h"
PAGE = ROOT / "docs" / "bundle-format.md"
BEGIN, END = "<!-- table of limits -->\n", "<!-- end of table -->\n"


def header() -> str:
    """The limits as C's constants."""
    lines = [
        "/* Limits of a manifest, written by scripts/bundle_limits.py from the table of",
        " * kgen_runtime/schema/limits.py. Change that table, and run the script. */",
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
    rows = [
        f'{{"{field}", KGEN_MOST_{limit.upper()}, "{limit}"}}' for field, limit in fields.items()
    ]
    lines += ["", "/* Fields whose entries are counted: their limit, and its name. */"]
    lines += ["#define KGEN_COUNTED {" + " \\", *(f"    {row}, \\" for row in rows[:-1])]
    return "\n".join([*lines, f"    {rows[-1]}}}", "", "#endif", ""])


def table() -> str:
    """The limits as the page shows them."""
    lines = ["| limit | at most | what it counts |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {limit.most} | {limit.what} |" for name, limit in LIMITS.items()]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page's text with the table in it."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def main() -> None:
    HEADER.write_text(header())
    PAGE.write_text(page(PAGE.read_text()))


if __name__ == "__main__":
    main()
