"""Scripts of `kgen completion`: bash runs its script; zsh and fish parse theirs if installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kgen import targets
from kgen.cli import shells
from kgen.cli.commands import completion
from kgen.cli.main import COMMANDS, main
from kgen.ops import functions
from kgen.spec import DType
from tests import needs

#: Calls the function that bash would, as for a command line that ends where the cursor is.
COMPLETE = """
source ./kgen.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kgen
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the scripts, and a file to complete."""
    folder = tmp_path_factory.mktemp("shell")
    for shell, script in shells.SCRIPTS.items():
        (folder / f"kgen.{shell}").write_text(script(completion.commands()))
    (folder / "my layer.kgen").touch()
    return folder


def completed(folder: Path, *words: str) -> list[str]:
    command = ["bash", "--norc", "-c", COMPLETE, "bash", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kgen bui", ["build"]),
        ("kgen build --ta", ["--target"]),
        ("kgen build --target sm_8", ["sm_80", "sm_86", "sm_89"]),
        ("kgen build --target sm_80,gfx11", ["sm_80,gfx1100"]),
        ("kgen build --target = vulkan1.1", ["vulkan1.1"]),
        ("kgen build -o my", ["my layer.kgen"]),
        ("kgen build --dtype bf", ["bf16"]),
        ("kgen build --op softm", ["softmax"]),
        ("kgen build --epilogue bias,gelu_", ["bias,gelu_tanh"]),
        ("kgen build --dtype f16 --lay", ["--layout"]),
        ("kgen inspect my", ["my layer.kgen"]),
        ("kgen verify my.kgen --on em", ["emulator"]),
        ("kgen check --arch gfx120", ["gfx1201"]),
        ("kgen perf ch", ["check"]),
        ("kgen perf check --tier static,em", ["static,emulated"]),
        ("kgen devices sm", []),
        ("kgen completion f", ["fish"]),
    ],
)
def test_bash(line: str, expected: list[str], folder: Path) -> None:
    assert [word for word in completed(folder, *line.split()) if word] == expected


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "known"),
    [
        ((), [name for name, _ in COMMANDS]),
        (("build", "--target"), [t.name for f in targets.families() for t in f.targets]),
        (("build", "--dtype"), list(DType)),
        (("build", "--op"), ["matmul", *functions()]),
    ],
)
def test_bash_knows_all(words: tuple[str, ...], known: list[str], folder: Path) -> None:
    assert set(known) <= set(completed(folder, "kgen", *words, ""))


def test_every_option_that_takes_names_has_them() -> None:
    """A renamed option would otherwise lose its values without a message."""
    found = {n for c in completion.commands() for o in c.options if o.values for n in o.names}
    assert completion._values().keys() <= found
    assert set(completion.LISTS) <= found


@pytest.mark.integration
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_syntax(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        needs.absent(f"no {shell} here; apt install {shell}", by_apt=True)
    done = subprocess.run(
        [shell, "-n", folder / f"kgen.{shell}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_is_told_every_command_and_option(shell: str, folder: Path) -> None:
    script = (folder / f"kgen.{shell}").read_text()
    for command in completion.commands():
        for option in command.options:
            for name in option.names:
                assert (name.lstrip("-") if shell == "fish" else name) in script, command
        assert all(name in script for name, _ in command.children)


def test_the_command(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert script == (folder / "kgen.bash").read_text()
    assert main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"shell": "bash", "script": script}
