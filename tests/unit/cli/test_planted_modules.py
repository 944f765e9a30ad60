"""Commands run no Python file beside a model, whatever its name."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import pytest

from kgen.cli.main import COMMANDS
from tests.onnx_models import mlp

#: Every module that Python imports by a name of its own, and the packages that kgen imports.
PLANTED = (sys.stdlib_module_names - set(sys.builtin_module_names)) | {
    "jinja2", "kgen", "kgen_runtime", "llvmlite", "numpy", "onnx", "sitecustomize", "vulkan",
}  # fmt: skip
#: Appends its own name and the command line to a file, then fails.
MODULE = """import sys
with open({log!r}, "a") as log: print({name!r}, *sys.orig_argv, file=log)
raise ImportError({name!r})
"""
BUDGETS = """
[toolchain]
llvm = "llvmlite=={llvmlite}"

[[budget]]
kernel = "relu 40 f32"
target = "x86-64-v3"
why = "a test"
static = {{ hot_loop_spills = 0 }}

[[budget]]
kernel = "relu 48 f32"
target = "x86-64-v3"
why = "a test"
static = {{ hot_loop_spills = 0 }}
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
"""
#: A line or more for every command, with the options that start other processes.
LINES = (
    "build relu:40:f32 relu:48:f32 --target x86-64-v3,gfx942,vulkan1.3 --jobs 2 --verify -o k.kgen",
    "compile model.onnx --target x86-64-v3 --verify -o m.kgen",
    "inspect k.kgen --static",
    "run m.kgen --input x=x.npy",
    "profile m.kgen --input x=x.npy",
    "report m.kgen --verify --model model.onnx",
    "verify k.kgen",
    "bench k.kgen --rounds 1 --device cpu",
    "tune relu:8:f32 --target x86-64-v3",
    "bundle merge k.kgen m.kgen -o both.kgen",
    "check m.kgen --device cpu",
    "perf check --budgets budgets.toml --tier static",
    "perf diff k.kgen k.kgen",
    "emulate nothing.ptx --entry nothing --grid 1,1,1 --block 1,1,1",
    "cache",
    "devices",
    "targets",
    "completion bash",
)


def started(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Start a command as the installed script does: without the current folder on its path."""
    words = [word.replace(":", " ") for word in line.split()]
    cache = {"KGEN_CACHE": "1", "KGEN_CACHE_DIR": str(folder / "cache")}
    environment = {**os.environ, **cache}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, "-P", "-m", "kgen", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("downloaded")
    onnx.save(mlp(), str(place / "model.onnx"))
    np.save(place / "x.npy", np.zeros((5, 13), "f"))
    (place / "budgets.toml").write_text(BUDGETS.format(llvmlite=version("llvmlite")))
    (place / "nothing.ptx").write_text(PTX)
    for name in PLANTED:
        text = MODULE.format(log=str(place / "log"), name=name)
        (place / f"{name}.py").write_text(text)
    return place


def test_every_command_is_here() -> None:
    assert {line.split()[0] for line in LINES} == {name for name, _ in COMMANDS}


@pytest.mark.integration
def test_planted_modules_would_run(folder: Path) -> None:
    """Python without -P runs them, so the test can detect it."""
    subprocess.run([sys.executable, "-c", "import pickle"], cwd=folder, capture_output=True)
    assert (folder / "log").read_text().startswith("pickle ")
    (folder / "log").unlink()


@pytest.mark.integration
def test_planted_modules_do_not_run(folder: Path) -> None:
    """Commands run in turn, because later ones read what earlier ones have written."""
    log = folder / "log"
    for line in LINES:
        done = started(folder, line)
        assert not log.exists(), f"kgen {line}: {log.read_text()}"
        assert done.returncode == 0, done.stderr
