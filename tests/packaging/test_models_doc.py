"""docs/models.md: its table is the registry's, and its Python and its commands run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from kgen.graph.operators import OPERATORS
from tests.onnx_models import DECODER

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN, END = "<!-- table of operators -->\n", "<!-- end of table -->"


def table() -> str:
    lines = ["| operator | family | becomes | limits |", "| --- | --- | --- | --- |"]
    for o in sorted(OPERATORS.values(), key=lambda o: o.name):
        lines.append(f"| {o.name} | {o.family} | {o.becomes} | {o.limits} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_the_registry() -> None:
    found = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert found == table(), "run tests/packaging/test_models_doc.py to renew it"


def test_the_python_and_the_commands_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 2 and all(len(block.splitlines()) < 16 for block in blocks)
    subprocess.run([sys.executable, "-c", "".join(blocks)], check=True, cwd=tmp_path)
    commands = re.findall(r"^\.venv/bin/kgen (.*?) *(?:#.*)?$", PAGE.read_text(), re.M)
    assert len(commands) == 5
    shutil.copy(DECODER["step"], tmp_path / "step.onnx")
    for command in (*commands[1:3], commands[4]):
        words = shlex.split(command)
        subprocess.run(
            [sys.executable, "-m", "kgen", *words], check=True, cwd=tmp_path, capture_output=True
        )


if __name__ == "__main__":
    head, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(head + BEGIN + table() + END + rest.partition(END)[2])
