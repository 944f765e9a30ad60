"""`kgen verify` of a target for which this machine has no device, driver or emulator."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from kgen.check.execute import runners
from kgen.check.execute.executor import Unavailable
from kgen.cli.main import main
from tests.onnx_models import mlp

pytestmark = pytest.mark.integration

REASON = (
    "vulkan1.1 kernels have no emulator; run this on a machine with a device or driver for them"
)


@pytest.fixture(autouse=True)
def compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(mlp(), "m.onnx")
    assert main(["compile", "m.onnx", "--target", "vulkan1.1", "-o", "m.kgen"]) == 0
    capsys.readouterr()

    def nowhere(*arguments: object) -> None:
        raise Unavailable

    monkeypatch.setattr(runners, "WAYS", (nowhere, runners._emulator))


def test_the_table_says_so_and_a_line_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "m.kgen", "--model", "m.onnx"]) == 1
    out = capsys.readouterr().out
    assert "failed" not in out and "0 of 0" not in out
    kernels, programs = out.split("steps correct")
    assert "not-executed" in kernels and "not-executed" in programs
    lines = [line for line in out.splitlines() if line.endswith(f": not executed: {REASON}")]
    named = [kernel.split()[0] for kernel in kernels.splitlines() if "not-executed" in kernel]
    assert len(named) == 3
    assert [line.partition(":")[0] for line in lines] == [
        *(f"vulkan1.1/{name}" for name in named),
        "vulkan1.1/main",
    ]


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "m.kgen", "--model", "m.onnx", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    for result in (*found["kernels"], *found["programs"]):
        assert (result["status"], result["reason"], result["passed"]) == (
            "not-executed",
            REASON,
            False,
        )
