"""docs/operations.md: its table is the registry's, and its Python runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from kgen.ops import functions

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
BEGIN, END = "<!-- table of functions -->\n", "<!-- end of table -->"


def table() -> str:
    """The functions as the page shows them."""
    lines = ["| function | error | of |", "| --- | --- | --- |"]
    for f in functions().values():
        shown = [
            f"`{p}={d:.4g}`" for p, d in zip(f.parameters[f.fewest :], f.defaults, strict=True)
        ]
        a = f.accuracy
        growth = f" + {a.growth:g} \\|x\\|" if a.growth else ""
        terms = [f"({a.roundings:g}{growth}) u" if growth else f"{a.roundings:g} u"]
        terms += [f"{a.transcendental:g} f"] if a.transcendental else []
        of = {"result": "the result", "argument": "the largest argument", "one": "1 or the result"}
        error, scale = (" + ".join(terms), of[a.scale]) if a.roundings else ("exact", "")
        call = f"`{f.name}({', '.join(f.parameters[: f.fewest])})`"
        lines.append(f"| {', '.join([call, *shown])} | {error} | {scale} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_the_registry() -> None:
    text = PAGE.read_text()
    found = text.partition(BEGIN)[2].partition(END)[0]
    assert found == table(), "run tests/packaging/test_operations_doc.py to renew it"


def test_the_python_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


if __name__ == "__main__":
    head, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(head + BEGIN + table() + END + rest.split(END)[1])
