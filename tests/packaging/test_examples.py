"""Examples run unchanged, in a folder with only their models; README contains two of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    if "import torch" in example.read_text():
        pytest.skip("takes PyTorch and a model's package; make bench SUITE=models runs it")
    for model in example.parent.glob("*.onnx"):
        shutil.copy(model, tmp_path)
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout and not done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("example", ["quickstart", "layer"])
def test_an_example_of_the_readme(example: str) -> None:
    readme = (ROOT / "README.md").read_text()
    code = (ROOT / "examples" / f"{example}.py").read_text().split('"""\n\n', 1)[1]
    assert f"```python\n{code}```" in readme
