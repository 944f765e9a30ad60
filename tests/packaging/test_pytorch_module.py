"""examples/pytorch_module.py runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
CODE = (ROOT / "examples" / "pytorch_module.py").read_text("utf-8")
DATA = ROOT / "tests" / "data"


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
def test_an_exported_module_runs(
    exporter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines of the example that need no PyTorch run on a module that PyTorch 2.15 exported,
    with its result."""
    shutil.copy(DATA / f"module_{exporter}.onnx", tmp_path / "module.onnx")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    lines = [line for line in CODE.partition('"""\n\n')[2].splitlines() if "torch" not in line]
    exec("\n".join(lines), scope)
    with np.load(DATA / "module.npz") as arrays:
        y = scope["program"].run(x=arrays["x"])
        np.testing.assert_allclose(y, arrays["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_module_of_pytorch_runs(tmp_path: Path) -> None:
    """Both exporters of PyTorch write a module that compiles."""
    has_torch = importlib.util.find_spec("torch") is not None
    python = Path(sys.executable) if has_torch else ROOT / ".venv-bench/bin/python"
    if not python.exists():
        pytest.skip("takes PyTorch, which make bench SUITE=models installs")
    paths = {"PYTHONPATH": f"{ROOT / 'codegen'}:{ROOT / 'runtime'}"}
    done = subprocess.run(
        [str(python), "-c", CODE + CODE.replace("dynamo=True", "dynamo=False")],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **paths},
    )  # fmt: skip
    if "No module named 'onnx" in done.stderr or "No module named 'torch" in done.stderr:
        pytest.skip("takes PyTorch and onnxscript, which make bench SUITE=models installs")
    assert done.returncode == 0, done.stderr
