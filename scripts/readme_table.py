"""Rewrite README's support table from `kgen targets --json`; with --check, only compare."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- support table: make readme -->\n", "<!-- end of support table -->"


def table() -> str:
    """The Markdown table of what `kgen targets --json` prints."""
    kgen = Path(sys.executable).with_name("kgen")
    out = subprocess.run([kgen, "targets", "--json"], check=True, capture_output=True).stdout
    rows = json.loads(out)["targets"]
    ops = list(rows[0]["ops"])
    lines = [
        "| "
        + " | ".join(["target", *ops, "`--math`", "`--b-dtype`", "proven by `make test`"])
        + " |",
        "|" + " --- |" * (len(ops) + 4),
    ]
    for row in rows:
        cells = [" ".join(row["ops"][op]) or "not yet" for op in ops]
        cells += [" ".join(row[option]) or "–" for option in ("math", "narrow")]
        lines.append("| " + " | ".join([f"`{row['target']}`", *cells, row["proof"]]) + " |")
    return "\n".join(lines) + "\n"


def rewritten(text: str) -> str:
    head, rest = text.split(BEGIN)
    return head + BEGIN + table() + END + rest.split(END)[1]


def main() -> int:
    old = README.read_text()
    new = rewritten(old)
    if "--check" in sys.argv[1:]:
        if old != new:
            print("README.md: the support table is not what kgen targets says; run make readme")
        return int(old != new)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
