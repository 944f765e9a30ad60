"""Bundles and weights that change while a program uses them, or are not regular files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kgen_runtime
from kgen.cli.main import main
from kgen_runtime.files import replacing
from tests.programs import ROWS, WIDE, answer, mlp_bundle, parameters

pytestmark = pytest.mark.integration

X = np.random.default_rng(3).standard_normal((ROWS, WIDE)).astype("f")
#: Loads a bundle, and gives what becomes of it.
LOADER = """
import sys, kgen_runtime
try:
    kgen_runtime.load(sys.argv[1], device="cpu")
except kgen_runtime.KgenError as error:
    print(error)
"""


@pytest.fixture(params=[False, True], ids=["inside", "beside"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a bundle with its weights inside, or in files beside it."""
    return mlp_bundle("x86-64-v3").save(tmp_path / "m.kgen", external_weights=request.param)


def files(path: Path) -> list[Path]:
    return [path, *path.parent.glob("weights/*")]


def overwritten(path: Path) -> None:
    """Overwrite a file as `cp` does."""
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


def cut(path: Path) -> None:
    """Truncate a file; reading a mapping of it would kill the process."""
    os.truncate(path, 0)


@pytest.mark.parametrize("change", [overwritten, cut, Path.unlink])
@pytest.mark.parametrize("verify", ["code", "all"])
def test_what_is_in_memory_stays(path: Path, verify: str, change: Callable[[Path], None]) -> None:
    with kgen_runtime.load(path, device="cpu", map=False, verify=verify) as kernels:  # type: ignore[arg-type]
        for file in files(path):
            change(file)
        found = kernels.program.run(x=X)
    np.testing.assert_allclose(found, answer(X, parameters()), rtol=2e-5, atol=2e-5)


def test_what_is_mapped_stays_when_a_new_file_has_its_name(path: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        for file in files(path):
            with replacing(file) as new:
                new.write(bytes(file.stat().st_size))
        found = kernels.program.run(x=X)
    np.testing.assert_allclose(found, answer(X, parameters()), rtol=2e-5, atol=2e-5)


def test_mapped_weights_are_the_file(path: Path) -> None:
    """Mapping is the default: nothing is read before it is used, and processes share the pages."""
    with kgen_runtime.load(path, device="cpu") as kernels:
        for file in files(path):
            overwritten(file)
        found = kernels.program.run(x=X)
    assert not np.allclose(found, answer(X, parameters()), rtol=2e-5, atol=2e-5)


def loaded(path: Path) -> str:
    """Return a process's message about a bundle; a wait for a pipe fails the test."""
    command = [sys.executable, "-c", LOADER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_pipe_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    why = "cannot read: it is a pipe or device, not a plain file; give a file that can be read"
    assert loaded(pipe) == f"{pipe}: {why}"
    assert loaded(Path(os.devnull)) == f"{os.devnull}: {why}"
    for command in ("verify", "inspect", "check", "run"):
        assert main([command, str(pipe)]) == 2
        assert why in capsys.readouterr().err


def test_a_pipe_is_no_file_of_weights(tmp_path: Path) -> None:
    path = mlp_bundle("x86-64-v3").save(tmp_path / "m.kgen", external_weights=True)
    weights = sorted((tmp_path / "weights").iterdir())[0]
    weights.unlink()
    os.mkfifo(weights)
    assert f"{weights.name}: cannot read: it is a pipe or device" in loaded(path)
