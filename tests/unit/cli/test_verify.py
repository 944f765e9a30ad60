"""Text output of `kgen verify`: the meaning of its two numbers, and the remaining time."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import kgen
from kgen.cli.commands.verify import _part
from kgen.cli.main import main
from kgen.spec import DType, Matmul


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    spec = Matmul(m=24, n=24, k=24, dtype=DType.BF16)
    return str(kgen.build(spec, targets=["sm_80", "gfx942"]).save(tmp_path / "x.kgen"))


@pytest.mark.integration
def test_the_error_and_its_bound_are_named(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", bundle, "--on", "emulator"]) == 0
    shown, told = capsys.readouterr()
    assert not told  # Only a terminal shows the time left.
    assert "worst error  its bound  of it" in shown
    error, bound, part = re.findall(r"sm_80 +passed +(\S+) +(\S+) +(\d+)%", shown)[0]
    assert int(part) == pytest.approx(100 * float(error) / float(bound), abs=2)
    text = " ".join(shown.split())
    assert text.count("wrong above 100% of the bound") == 1
    assert "(half a step of its dtype) plus c sqrt(K) u |A| |B|" in text


@pytest.mark.integration
def test_a_terminal_is_told_what_is_left(
    bundle: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["verify", bundle, "--on", "emulator"]) == 0
    lines = capsys.readouterr().err.split("\r\033[K")
    line = re.compile(r"verifying 2 of 2, about \d+ s left of it: gfx.*")
    assert any(map(line.fullmatch, lines))
    assert all(len(shown) < 60 for shown in lines) and lines[-1] == ""


@pytest.mark.parametrize(
    ("error", "bound", "part"),
    [
        (0.062, 0.068, "91%"),
        (0.0, 0.0, "exact"),
        (0.0, 0.5, "0%"),
        (1.0, 0.0, "beyond"),
        (float("inf"), 0.5, "beyond"),
        (None, None, None),
    ],
)
def test_an_error_is_a_part_of_its_bound(
    error: float | None, bound: float | None, part: str | None
) -> None:
    assert _part(error, bound) == part
