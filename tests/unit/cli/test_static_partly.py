"""`kgen inspect --static` of several targets if the disassembler of one is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen.check.static import disassemble
from kgen.cli.main import main

pytestmark = pytest.mark.integration

MISSING = (
    "kgen inspect: nvdisasm, which disassembles sm_80/relu_64_f16.cubin, is not installed; "
    "pip install nvidia-cuda-nvdisasm\n"
)


@pytest.fixture(autouse=True)
def bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = "sm_80,vulkan1.3"
    assert main(["build", "relu 64 f16", "--target", targets, "-o", "relu.kgen"]) == 0
    capsys.readouterr()
    found = disassemble._find
    monkeypatch.setattr(
        disassemble, "_find", lambda program: None if program == "nvdisasm" else found(program)
    )


def test_the_other_targets_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "relu.kgen", "--static"]) == 2
    captured = capsys.readouterr()
    assert captured.err == MISSING
    assert "vulkan1.3/relu_64_f16\n" in captured.out and "sm_80" not in captured.out
    assert "hot loop" in captured.out


def test_json_names_the_missing_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "relu.kgen", "--static", "--json"]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [kernel["kernel"] for kernel in document["kernels"]] == ["vulkan1.3/relu_64_f16"]
    assert list(document["missing"]) == ["sm_80/relu_64_f16"]
    assert "pip install nvidia-cuda-nvdisasm" in document["missing"]["sm_80/relu_64_f16"]
