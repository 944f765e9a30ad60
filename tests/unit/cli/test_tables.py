"""Tables of `kgen build` and `kgen compile`: every size has a unit, every unusual word a legend."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from kgen.cli.main import main
from tests.onnx_models import mlp

pytestmark = pytest.mark.integration

RESOURCES = ["registers", "spills (B)", "shared (B)", "files (B)", "build (s)"]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def header(out: str) -> list[str]:
    return re.split(r"  +", out.splitlines()[0].strip())


def legend(out: str) -> str:
    return " ".join(out.split("\n\n")[1].split())


@pytest.mark.parametrize(
    ("option", "first"),
    [([], ["kernel", "target", "mainloop", "tile"]), (["--verify"], ["kernel", "target"])],
    ids=["build", "verify"],
)
def test_columns_of_build(
    option: list[str], first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shape = ["--shape", "16x16x16", "--target", "sm_80", "-o", "x.kgen"]
    assert main(["build", *shape, *option]) == 0
    out = capsys.readouterr().out
    assert header(out)[: len(first)] == first and header(out)[-5:] == RESOURCES
    for word in ("registers", "spills", "shared", "files", "build"):
        assert re.search(rf"\b{word}[,:]", " ".join(out.split())), word
    if not option:
        assert legend(out).startswith("tile: block tile, MxNxK elements")


def test_columns_of_compile(capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(mlp(), "m.onnx")
    assert main(["compile", "m.onnx", "--target", "sm_80", "-o", "m.kgen"]) == 0
    out = capsys.readouterr().out
    columns = ["target", "steps", "kernels", "arena (B)", "least arena (B)", "weights (B)"]
    assert header(out) == columns
    for column in columns[1:]:
        assert f"{column.removesuffix(' (B)')}: " in legend(out)
