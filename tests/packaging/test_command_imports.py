"""Each command imports only what it uses, because imports are most of its start-up time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kgen.targets import FAMILIES

#: What is large, or one of several of which a command needs one.
WATCHED = (
    *("numpy", "jinja2", "llvmlite", "kgen.spec", "kgen.pipeline", "kgen.emulate"),
    *(f"kgen.targets.{family}" for family in FAMILIES),
    *("importlib.metadata", "kgen_runtime.schema.decode"),
)
PRODUCT = ("--shape", "64x64x64")


def loaded(folder: Path, *arguments: str, status: int = 0) -> set[str]:
    """Return the listed modules that a process has loaded at the end of a command."""
    program = (
        "import sys\n"
        "from kgen.cli.main import main\n"
        "try:\n"
        "    status = main(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        "    status = end.code\n"
        f"print(status, *(m for m in {WATCHED!r} if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    ended, *found = done.stdout.splitlines()[-1].split()
    assert int(ended) == status, done.stdout + done.stderr
    return set(found)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_imports_nothing(tmp_path: Path, argument: str) -> None:
    assert loaded(tmp_path, argument) == set()


def test_help_on_a_command_imports_its_words(tmp_path: Path) -> None:
    assert loaded(tmp_path, "build", "--help") <= {"kgen.spec"}


@pytest.mark.parametrize(
    ("target", "family", "more"),
    [
        ("sm_80", "cuda", set()),
        ("sm_90a", "cuda", set()),
        ("gfx942", "amdgpu", {"llvmlite", "numpy"}),
        ("vulkan1.3", "vulkan", set()),
        ("x86-64-v3", "cpu", {"llvmlite", "numpy"}),
    ],
)
def test_build_imports_one_family(tmp_path: Path, target: str, family: str, more: set[str]) -> None:
    common = {"jinja2", "kgen.spec", "kgen.pipeline", f"kgen.targets.{family}"}
    assert loaded(tmp_path, "build", *PRODUCT, "--target", target) == common | more


def test_a_wrong_target_imports_no_tools(tmp_path: Path) -> None:
    found = loaded(tmp_path, "build", *PRODUCT, "--target", "sm_08", status=2)
    assert found <= {"kgen.spec", "kgen.pipeline", "kgen.targets.cuda"}


def test_inspect_reads_and_no_more(tmp_path: Path) -> None:
    """The listing loads specs, for names of formulas; other forms of the command load none."""
    assert loaded(tmp_path, "build", *PRODUCT, "--target", "vulkan1.3", "-o", "x.kgen")
    for arguments in ((), ("--source", "vulkan1.3"), ("--json",)):
        found = loaded(tmp_path, "inspect", "x.kgen", *arguments)
        specs = set() if arguments else {"kgen.spec"}
        assert found == {"kgen_runtime.schema.decode"} | specs
