"""Ctrl-C ends the command with status 130 and no message, at any time."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

#: `python -m kgen`, interrupted as by a key where something imports a module.
INTERRUPTED = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                if "SWALLOWED" in os.environ:
                    raise ImportError("please carefully study the documentation linked above")
                raise

# Ignored where the tests themselves run in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv[0] = "kgen"
runpy.run_module("kgen", run_name="__main__", alter_sys=True)
"""


@pytest.mark.integration
@pytest.mark.parametrize("how", [{}, {"SWALLOWED": "1"}], ids=["raised", "swallowed"])
@pytest.mark.parametrize(
    "module",
    ["kgen.cli.main", "argparse", "kgen.cli.output", "kgen.errors", "kgen.cli.commands.build",
     "kgen.spec",
     "kgen.pipeline", "jinja2", "kgen.targets.vulkan", "kgen.targets.vulkan.assemble",
     "kgen.render"],
)  # fmt: skip
def test_while_modules_are_imported(module: str, how: dict[str, str], tmp_path: Path) -> None:
    """The import may replace KeyboardInterrupt by another error, as numpy's C code does."""
    argv = ["build", "--shape", "8x8x8", "--target", "vulkan1.3", "-o", str(tmp_path / "x.kgen")]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *argv],
        env=os.environ | {"INTERRUPTED_AT": module} | how,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert not (tmp_path / "x.kgen").exists()


def test_the_script_begins_there() -> None:
    """The script `kgen` imports nothing before Ctrl-C is handled."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"kgen": "kgen.__main__:main"}
