"""`kgen run`, `profile`, `inspect` and `check` on programs."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kgen.cli.main import main
from tests.programs import ROWS, WIDE, answer, counted_bundle, mlp_bundle, parameters

pytestmark = pytest.mark.integration

X = np.random.default_rng(3).standard_normal((ROWS, WIDE)).astype("f")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("programs")
    mlp_bundle("native", "sm_80").save(place / "mlp.kgen")
    mlp_bundle("native", programs=("one", "two")).save(place / "two.kgen")
    np.save(place / "x.npy", X)
    np.save(place / "short.npy", X[:2])
    return place


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def data(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    status, out, err = run(capsys, *argv, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("file", ["y.npz", "y.npy"])
def test_run(capsys: pytest.CaptureFixture[str], file: str) -> None:
    arguments = ("run", "mlp.kgen", "--input", "x=x.npy", "--device", "cpu", "-o", file)
    status, out, _ = run(capsys, *arguments)
    assert status == 0 and "out     5x24   f32" in out and f"on cpu:0, saved to {file}" in out
    y = np.load(file) if file.endswith("npy") else np.load(file)["out"]
    np.testing.assert_allclose(y, answer(X, parameters()), rtol=2e-5, atol=2e-5)
    (found,) = data(capsys, *arguments)["outputs"]
    assert found["largest"] == pytest.approx(y.max()) and found["least"] == pytest.approx(y.min())


def test_run_of_outputs_whose_sizes_depend_on_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, x = tmp_path / "counted.kgen", tmp_path / "x.npy"
    counted_bundle("x86-64-v3").save(path)
    arguments = ("run", str(path), "--input", f"x={x}", "--device", "cpu", "--check")
    for numbers, sizes in (([0] * 7, (0, 1)), ([0, 2, 0, 5, 0, 0, 0], (2, 3))):
        np.save(x, np.array(numbers, "f"))
        assert run(capsys, *arguments)[0] == 0
        places, values = data(capsys, *arguments)["outputs"]
        assert (places["shape"], values["shape"]) == (f"1x{sizes[0]}", f"{sizes[1]}")
        assert places["largest"] == (None if not sizes[0] else 3)
    np.save(x, np.arange(7, dtype="f"))
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "") and f"--capacity {places['name']}=6" in err
    _, out, _ = run(capsys, "inspect", str(path))
    assert f"  output  {places['name']}" in out and f"output  {places['name']}.count" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "missing inputs: x (5x24 f32); give each as --input NAME=FILE.npy"),
        (
            ("--input", "x"),
            "--input x does not have the form NAME=FILE.npy; give one",
        ),
        (("--input", "x=x.npy", "--input", "x=x.npy"), "--input x is given twice"),
        (("--input", "y=x.npy"), "main: no argument is called y; it takes x"),
        (("--input", "x=no.npy"), "input x: 'no.npy' cannot be read: No such file"),
        (("--input", "x=mlp.kgen"), "input x: mlp.kgen is not a .npy file"),
        (("--input", "x=short.npy"), "main: x has shape 2x24; expected 5x24"),
        (("--input", "x=x.npy", "-o", "y.txt"), "-o y.txt does not end in .npy or .npz"),
        (("--input", "x=x.npy", "-o", "no/y.npy"), "output=no/y.npy: no is not a directory"),
        (("--input", "x=x.npy", "--program", "z"), "--program z is unknown; the bundle has main"),
        (("--device", "hip"), "no AMD driver on this machine"),
    ],
)
def test_what_cannot_be_run(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = run(capsys, "run", "mlp.kgen", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_profile(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "profile", "mlp.kgen", "--device", "cpu", "--input", "x=x.npy")
    assert found["steps"][0]["nodes"] == ["MatMul_0", "Gelu_1"]
    assert found["seconds"] == pytest.approx(sum(step["seconds"] for step in found["steps"]))
    status, out, _ = run(capsys, "profile", "mlp.kgen", "--device", "cpu", "--threads", "1")
    assert status == 0 and "native/main on cpu:0" in out and "MatMul_0 Gelu_1" in out
    assert run(capsys, "profile", "two.kgen", "--device", "cpu")[0] == 2
    assert run(capsys, "profile", "two.kgen", "--device", "cpu", "--program", "two")[0] == 0


def test_inspect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, "inspect", "mlp.kgen")
    weights = sum(weight.nbytes for weight in mlp_bundle("x86-64-v3").manifest.programs[0].weights)
    assert status == 0 and f"arena   1504 bytes  weights {weights} bytes" in out
    assert "a=h (arena), b=w2 (weights w2)" in out and "LayerNorm_3" in out
    programs = data(capsys, "inspect", "mlp.kgen")["programs"]
    assert [program["target"] for program in programs] == ["native", "sm_80"]
    changed = tmp_path / "changed.kgen"
    bias = parameters()["b1"].tobytes()
    changed.write_bytes(Path("mlp.kgen").read_bytes().replace(bias, bias[::-1]))
    status, _, err = run(capsys, "inspect", str(changed))
    assert status == 2 and "was changed after it was built" in err
    status, _, err = run(capsys, "check", str(changed), "--arch", "sm_80")
    assert status == 2 and "was changed after it was built" in err


@pytest.mark.parametrize(
    "command", ["report", "inspect --graph", "run --device cpu --input x=x.npy"]
)
def test_an_output_on_a_full_disk(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("kgen_runtime.files.os", SimpleNamespace(**vars(os) | {"open": full}))
    name, *options = command.split()
    place = tmp_path / "out.npz"
    status, out, err = run(capsys, name, "mlp.kgen", *options, "-o", str(place))
    why = "cannot be written: No space left on device; choose another place with -o"
    assert (status, out, err) == (2, "", f"kgen {name}: output={place} {why}\n")


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    """A program's kernels for other targets need not run."""
    status, out, _ = run(capsys, "check", "mlp.kgen", "--arch", "sm_86")
    assert status == 0 and "program main" in out and "native/" not in out
    status, out, _ = run(capsys, "check", "mlp.kgen", "--arch", "gfx942")
    assert status == 1 and "no: the bundle has no code for gfx942; compile for it too" in out
