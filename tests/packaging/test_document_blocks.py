"""Code blocks of the documents: each one runs, or says why not and has at least no wrong words.

A block whose first line is a comment with a file's name is saved under that name, and a command
below it compiles or runs the file. Other Python blocks of a page are one program. Blocks of
instruction sets are excerpts of goldens, which tests/golden/test_excerpts.py compares.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kgen.cli.main import COMMANDS, parser
from scripts.documents import DOCUMENTS, ROOT, Block, blocks, name_of
from tests import needs
from tests.wine import WINE

SHELL = ("sh", "console")
CODE = ("c", "cpp", "python")
LANGUAGES = {*SHELL, *CODE, "cmake", "toml", "yaml", "json", "text", "ptx", "llvm", "spvasm"}
BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]
RUN = [path for path in DOCUMENTS if any(b.language in ("python", *SHELL) for b in blocks(path))]
#: Programs that shell blocks may call without being marked, besides those that a page compiles.
PROGRAMS = {"kgen", "python", "make", "cd", "cc", "c++", "cmake", "cp", "sed", WINE}
#: Commands that set up the reader's shell. Tests run in a shell that is set up so: `$KGEN` is the
#: checkout, and its virtual environment is active.
SETUP = ("export KGEN=", '. "$KGEN/.venv/bin/activate"')


def words(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " ").replace(".venv/bin/", ""), comments=True)


def test_every_document_is_found() -> None:
    assert len(RUN) >= 8 and len([b for b in BLOCKS if b.language == "python"]) >= 15
    assert len({name_of(path) for path in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_well_formed(block: Block) -> None:
    assert block.language in LANGUAGES, "name the language of a block; text for what is no code"
    if block.language in ("c", "cpp"):
        assert block.file or block.not_run, "begin the block with a comment: the file's name"
    elif block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language in SHELL:
        assert block.commands
        for command, _ in block.commands:
            if not command.startswith(SETUP):
                check_words(words(command), is_run=not block.not_run)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_saved_program_is_run(document: Path) -> None:
    """A command below each saved block of code names its file, or includes it."""
    saved: set[str] = set()
    for block in blocks(document):
        if block.language in CODE and block.file:
            saved -= set(re.findall(r'^#include "(.+)"', block.text, re.MULTILINE))
            saved.add(block.file)
        elif block.language in SHELL:
            saved -= {word for command, _ in block.commands for word in words(command)}
    assert not saved


def check_words(command: list[str], *, is_run: bool) -> None:
    """Check a command's program and its arguments."""
    assert command and (command[0] in PROGRAMS or command[0][:2] == "./" or not is_run), command
    if command[0] == "kgen":
        assert command[1] in dict(COMMANDS)
        parser(command[1:]).parse_args(command[1:])  # exits where an argument is unknown
    elif command[0] == "make":
        rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(command[1:]) <= set(rules)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the files of the repository that blocks name, and go there."""
    for name in ("examples", "tests/emulate/data"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "examples/encoder.onnx", tmp_path)
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "wine"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(text: str) -> str:
    """Return the text without line breaks, lengths of rules and times, which differ."""
    return " ".join(re.sub(r"\d+\.\d+ s\b|-{3,}", "#", text).split())


def run_command(command: str, expected: str, folder: Path, missing: list[str]) -> Path:
    """Run a command of a shell block; return the folder in which the next command runs.
    Requirements of the command that this machine lacks are added to `missing`."""
    if command.startswith("cd "):
        return folder / command[3:]
    program = words(command)[0]
    if program == "make" or command.startswith(SETUP):
        return folder  # test_a_block_is_well_formed finds its rule
    if program in ("cc", "c++") and not shutil.which(program):
        missing.append(f"{program}: install gcc and g++")
    if program == WINE and not Path(WINE).exists():
        missing.append("wine64: install it")
        return folder
    if missing and program[:2] == "./":
        return folder  # the compiler of this program is missing
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command.replace(".venv/bin/", "")],
        cwd=folder,
        env=os.environ | {"PATH": path, "KGEN": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = printed(done.stdout + done.stderr)
    if expected.strip(".\n"):
        for part in expected.split("..."):
            assert printed(part) in shown, command
    elif done.returncode == 2 and "; pip install" in done.stderr:
        missing.append(done.stderr.strip())
    else:
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("document", RUN, ids=name_of)
def test_the_blocks_of_a_document_run(document: Path, folder: Path) -> None:
    """Run a document's blocks in turn, in one folder."""
    scope: dict[str, Any] = {}
    here, missing = folder, list[str]()
    for block in blocks(document):
        if block.not_run:
            continue
        if block.file:
            (here / block.file).write_text(block.text)
        elif block.language == "python":
            os.chdir(here)
            exec(compile(block.text, block.place, "exec"), scope)
        elif block.language in SHELL:
            for command, expected in block.commands:
                here = run_command(command, expected, here, missing)
    if missing:
        needs.absent("; ".join(missing))
