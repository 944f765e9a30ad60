"""Commands that read machine code, if the disassembler is not installed."""

from __future__ import annotations

import sys

import pytest

from kgen.check.static import disassemble
from kgen.cli.main import main

pytestmark = pytest.mark.integration

MESSAGE = (
    "kgen inspect: nvdisasm, which disassembles sm_80/relu_64_f16.cubin, is not installed; "
    "pip install nvidia-cuda-nvdisasm\n"
)


@pytest.fixture(autouse=True)
def bundle(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert main(["build", "relu 64 f16", "--target", "sm_80", "-o", "relu.kgen"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(disassemble, "_find", lambda program: None)


@pytest.mark.parametrize("option", [["--static"], ["--disassemble", "sm_80/relu_64_f16"]])
def test_one_line_says_what_to_install(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "relu.kgen", *option]) == 2
    captured = capsys.readouterr()
    assert captured.err == MESSAGE and not captured.out


def test_the_line_replaces_the_progress_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["inspect", "relu.kgen", "--static"]) == 2
    assert capsys.readouterr().err.endswith(f"counting sm_80/relu_64_f16\r\033[K{MESSAGE}")
