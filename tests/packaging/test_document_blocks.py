"""Code blocks of the documents: each one runs, or says why not and has at least no wrong words.

Blocks of instruction sets are excerpts of goldens, which tests/golden/test_excerpts.py compares;
`c` blocks are held by tests/device/cpu/c_runtime.
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
from onnx import helper

from kgen.cli.main import COMMANDS, parser
from scripts.documents import DOCUMENTS, ROOT, Block, blocks
from tests import needs
from tests.onnx_models import DECODER, Maker

LANGUAGES = {"sh", "console", "python", "toml", "yaml", "text", "c", "ptx", "llvm", "spvasm"}
BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]
RUN = [
    path
    for path in DOCUMENTS
    if any(b.language in ("sh", "console", "python") for b in blocks(path))
]
#: Programs that shell blocks may call without being marked.
PROGRAMS = {"kgen", "python", "make", "cd", "cc", "./encoder"}


def words(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " ").replace(".venv/bin/", ""), comments=True)


def test_every_document_is_found() -> None:
    assert len(RUN) >= 8 and len([b for b in BLOCKS if b.language == "python"]) >= 15


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_well_formed(block: Block) -> None:
    assert block.language in LANGUAGES, "name the language of a block; text for what is no code"
    if block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language in ("sh", "console"):
        assert block.commands
        for command, _ in block.commands:
            check_words(words(command), is_run=not block.not_run)


def check_words(command: list[str], *, is_run: bool) -> None:
    """A command's program and its arguments."""
    assert command and (command[0] in PROGRAMS or not is_run), command
    if command[0] == "kgen":
        assert command[1] in dict(COMMANDS)
        parser(command[1:]).parse_args(command[1:])  # exits where an argument is unknown
    elif command[0] == "make":
        rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(command[1:]) <= set(rules)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that blocks name: those of the repository, and small models."""
    for name in ("examples", "tests/emulate/data"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "runtime").symlink_to(ROOT / "runtime")
    shutil.copy(ROOT / "examples/encoder.onnx", tmp_path)
    shutil.copy(DECODER["step"], tmp_path / "step.onnx")
    m = Maker()
    y = m.linear(m.input("x", ("batch", 16)), 16, 4)
    (tmp_path / "mlp.onnx").write_bytes(m.model(y).SerializeToString())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(text: str) -> str:
    """Without line breaks, lengths of rules and times, which differ."""
    return " ".join(re.sub(r"\d+\.\d+ s\b|-{3,}", "#", text).split())


def run_command(command: str, expected: str, folder: Path, missing: list[str]) -> Path:
    """Run a command of a shell block; the folder that the next command runs in. What it needs and
    is not installed here is added to `missing`."""
    if command.startswith("cd "):
        return folder / command[3:]
    if words(command)[0] == "make":
        return folder  # test_a_block_is_well_formed finds its rule
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command.replace(".venv/bin/", "")],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = printed(done.stdout + done.stderr)
    if expected:
        for part in expected.split("..."):
            assert printed(part) in shown, command
    elif done.returncode == 2 and "; pip install" in done.stderr:
        missing.append(done.stderr.strip())
    else:
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("document", RUN, ids=lambda path: path.stem)
def test_the_blocks_of_a_document_run(document: Path, folder: Path) -> None:
    """In turn, in one folder; the Python of a document is one program."""
    scope: dict[str, Any] = {}
    here, missing = folder, list[str]()
    if document.stem == "runtime":
        make_model(folder)
    for block in blocks(document):
        if block.not_run:
            continue
        if block.language == "python":
            os.chdir(here)
            exec(compile(block.text, block.place, "exec"), scope)
        elif block.language in ("sh", "console"):
            for command, expected in block.commands:
                here = run_command(command, expected, here, missing)
    if missing:
        needs.absent("; ".join(missing))


def make_model(folder: Path) -> None:
    """The model.kgen of docs/runtime.md, which has an input x as the page's kernels have it."""
    import kgen

    m = Maker()
    m.input("x", (32, 384))
    m.nodes.append(helper.make_node("Relu", ["x"], ["y"]))
    (folder / "model.onnx").write_bytes(m.model("y").SerializeToString())
    kgen.compile_model(folder / "model.onnx", ["native"]).bundle.save(folder / "model.kgen")
