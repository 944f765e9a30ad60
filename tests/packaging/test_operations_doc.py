"""docs/operations.md: its table is the registry's."""

from __future__ import annotations

import re
from pathlib import Path

from kgen.ops import Function, functions
from kgen.ops.registry import ALIASES, function_name
from kgen_runtime.dtypes import OTHER_NAMES, DType

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
BEGIN, END = "<!-- table of functions -->\n", "<!-- end of table -->"
BEGIN_ROWS = "<!-- table of row-wise functions -->\n"


def table() -> str:
    """The functions as the page shows them."""
    lines = ["| function | error | of |", "| --- | --- | --- |"]
    for f in functions().values():
        if f.rowwise:
            continue
        a = f.accuracy
        of_what = "m" if a.measure else "\\|x\\|"
        growth = f" + {a.growth:g} {of_what}" if a.growth else ""
        terms = [f"({a.roundings:g}{growth}) u" if growth else f"{a.roundings:g} u"]
        if a.amplified:
            terms.append(f"({a.transcendental:g} + {a.amplified:g} {of_what}) f")
        elif a.transcendental:
            terms.append(f"{a.transcendental:g} f")
        of = {"result": "the result", "argument": "the largest argument", "one": "1 or the result"}
        error, scale = (" + ".join(terms), of[a.scale]) if a.roundings else ("exact", "")
        lines.append(f"| {call(f)} | {error} | {scale} |")
    return "\n".join(lines) + "\n"


def call(f: Function) -> str:
    """A function as it is called, and its defaults."""
    shown = [f"`{p}={d:.4g}`" for p, d in zip(f.parameters[f.fewest :], f.defaults, strict=True)]
    return ", ".join([f"`{f.name}({', '.join(f.parameters[: f.fewest])})`", *shown])


def table_of_rows() -> str:
    """The row-wise functions as the page shows them."""
    lines = ["| function | result |", "| --- | --- |"]
    for f in functions().values():
        if f.rowwise:
            lines.append(f"| {call(f)} | {'a number for each row' if f.reduces else 'as x'} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_the_registry() -> None:
    text = PAGE.read_text()
    found = text.partition(BEGIN)[2].partition(END)[0]
    rows = text.partition(BEGIN_ROWS)[2].partition(END)[0]
    renew = "run tests/packaging/test_operations_doc.py to renew it"
    assert (found, rows) == (table(), table_of_rows()), renew


def test_the_page_lists_every_other_name() -> None:
    """Each name stands once, beside the name that it is accepted for."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", PAGE.read_text(), re.MULTILINE)
    listed = {other: name for name, others in rows for other in re.findall(r"`(\w+)`", others)}
    types = {name: str(dtype) for name, dtype in OTHER_NAMES.items() if name != dtype}
    expected = types | ALIASES
    # Names of 8-bit floats are those of ml_dtypes.
    assert listed == {n: d for n, d in expected.items() if not d.startswith(("e4m3", "e5m2"))}
    for other, name in listed.items():
        assert function_name(other) == name or DType(other) == name


if __name__ == "__main__":
    page = PAGE.read_text()
    for begin, made in ((BEGIN, table()), (BEGIN_ROWS, table_of_rows())):
        head, rest = page.split(begin)
        page = head + begin + made + END + rest.partition(END)[2]
    PAGE.write_text(page)
