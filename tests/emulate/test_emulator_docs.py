"""docs/emulator.md is true: commands print what it says, its table has every class of fault."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.emulate.report import FAULTS, WARNINGS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "emulator.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in BLOCKS if not language and text.startswith("$ ")]
PYTHON = [text for language, text in BLOCKS if language == "python" and text.startswith("import")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's test data, in its place."""
    root = tmp_path_factory.mktemp("docs")
    data = Path("tests", "emulate", "data")
    shutil.copytree(ROOT / data, root / data)
    return root / data


def words(text: str) -> str:
    """Without line breaks, lengths of rules and times, which differ."""
    return " ".join(re.sub(r"\d+\.\d+ s\b|-{3,}", "#", text).split())


def commands(block: str) -> list[tuple[str, str]]:
    """(command, what it prints) of a block; a quote or a backslash goes on in the next line."""
    found: list[list[str]] = []
    for line in block.splitlines():
        going_on = found and (found[-1][0].count('"') % 2 or found[-1][0].endswith("\\"))
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif going_on and not found[-1][1]:
            found[-1][0] += "\n" + line
        else:
            found[-1][1] += line + "\n"
    return [(command, printed) for command, printed in found]


@pytest.mark.slow
def test_commands_print_what_the_page_says(folder: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, printed in (pair for block in SHELL for pair in commands(block)):
        if command.startswith("cd "):
            assert folder.match(command[3:])
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        shown = words(done.stdout + done.stderr)
        for part in printed.split("..."):
            assert words(part) in shown, command


@pytest.mark.slow
def test_the_python_of_the_page_runs(folder: Path) -> None:
    assert PYTHON
    for text in PYTHON:
        subprocess.run([sys.executable, "-c", text], cwd=folder, check=True)


def test_the_page_names_every_class_of_fault_and_warning() -> None:
    start = TEXT.index("## What it checks")
    section = TEXT[start : TEXT.index("\n## ", start + 1)]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == FAULTS.keys()
    warned = section[section.index("`warning:`") :]
    assert all(f"`{kind}`" in warned for kind in WARNINGS)
