"""The Python runtime's wheel for Windows, on Python for Windows under Wine."""

from __future__ import annotations

import dataclasses
import itertools
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import kgen
from tests import needs
from tests.device.cpu.c_runtime import differential
from tests.packaging import on_windows
from tests.packaging.on_windows import B
from tests.programs import ROWS, WIDE, answer, mlp_bundle, parameters
from tests.wine import Wine

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("on_windows.py")
TARGET = "x86-64-v3"

pytestmark = pytest.mark.slow
#: Mutated bundles that it judges.
CASES = 1000


class Python:
    """Python for Windows in a folder, with numpy and the wheel."""

    def __init__(self, wine: Wine, wheel: Path, folder: Path) -> None:
        self.wine, self.folder = wine, folder
        self.program = needs.driver("windows-python") / "python.exe"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")

    def run(self, *checks: str) -> list[str]:
        """Run checks of on_windows.py. Return the names of checks that hold."""
        # This Python reads no PYTHONPATH, and does not search the folder of a program.
        start = "import runpy, sys; sys.path.insert(0, 'site'); sys.argv.pop(0); runpy.run_path"
        words = [self.program, "-c", f"{start}(sys.argv[0], run_name='__main__')", PROGRAM]
        done = self.wine.run([*words, *checks], self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.split()


@pytest.fixture
def python(wine: Wine, distributions: Mapping[str, Path], tmp_path: Path) -> Python:
    return Python(wine, distributions["win_amd64"], tmp_path)


def write_bundles(folder: Path) -> None:
    """Write the bundles that the checks load, and the expected result of one."""
    matmul = kgen.Matmul(m=96, n=80, k=64, dtype="f32")
    packing = dataclasses.replace(matmul, constant=("b",))
    kgen.build(matmul, [TARGET]).save(folder / "matmul.kgen")
    kgen.build(packing, [TARGET]).save(folder / "packed.kgen")
    kgen.build(packing, [TARGET], constants={"b": B}).save(folder / "stored.kgen")
    encoder = kgen.compile_model(ROOT / "examples" / "encoder.onnx", [TARGET])
    encoder.bundle.save(folder / "encoder.kgen")
    tensors = {
        n: helper.make_tensor_value_info(n, 1, [2, 4]) for n in ("x", "past", "present", "y")
    }
    add = helper.make_node("Add", ["x", "past"], ["present"])
    relu = helper.make_node("Relu", ["present"], ["y"])
    inputs, outputs = [tensors["x"], tensors["past"]], [tensors["y"], tensors["present"]]
    onnx.save(
        helper.make_model(helper.make_graph([add, relu], "total", inputs, outputs)),
        folder / "total.onnx",
    )
    total = kgen.compile_model(folder / "total.onnx", [TARGET], states={"past": "present"})
    total.bundle.save(folder / "total.kgen")
    (folder / "beside").mkdir()
    mlp_bundle(TARGET).save(folder / "beside" / "mlp.kgen", external_weights=True)
    x = np.random.default_rng(1).standard_normal((ROWS, WIDE)).astype("f")
    np.save(folder / "x.npy", x)
    np.save(folder / "mlp.npy", answer(x, parameters()).astype("f"))


def test_everything_on_windows(python: Python, tmp_path: Path) -> None:
    needs.cpu(TARGET)
    write_bundles(tmp_path)
    checks = [check.__name__ for check in on_windows.CHECKS]
    assert python.run(*checks) == checks and len(checks) == 11
    assert python.run("hidden_features") == ["hidden_features"]


def test_the_same_verdicts(python: Python, tmp_path: Path) -> None:
    """Class and message of each error for mutated bundles are those of this system."""
    mutated = [case.data for case in itertools.islice(differential.cases(8), CASES)]
    differential.write_pack(tmp_path / "pack", mutated)
    assert python.run("verdicts") == ["verdicts"]
    found = (tmp_path / "verdicts").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(found) == CASES and found.count("") > CASES / 20 and len(set(found)) > CASES / 4
    for data, line in zip(mutated, found, strict=True):
        assert line == on_windows.verdict(data)
