"""kgen build --explain: candidates and terms where a model ranked them, remarks, the choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen.cli.main import main

pytestmark = pytest.mark.integration

SHAPE = ("build", "--shape", "64x66x80", "--explain")


def explain(capsys: pytest.CaptureFixture[str], tmp_path: Path, *args: str) -> str:
    assert main([*SHAPE, "-o", str(tmp_path / "x.kgen"), *args]) == 0
    return capsys.readouterr().out


def test_candidates_and_choice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = explain(capsys, tmp_path, "--target", "sm_80")
    assert "(the fastest by the cost model)" in shown
    assert "4 bytes per thread by cp.async" in shown
    assert "its rows are multiples of 4 bytes" in shown
    (chosen,) = (line for line in shown.splitlines() if line.startswith("->"))
    assert "block_m=" in chosen
    assert "more that the cost model predicts to be slower" in shown


def test_an_override_is_said_to_be_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = explain(capsys, tmp_path, "--target", "sm_80", "--schedule", "num_stages=3,block_k=16")
    assert "num_stages=3" in shown.splitlines()[0] and "(set by --schedule)" in shown


def test_a_main_loop_can_be_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The best candidate that has it is taken, and marked, however slow the model thinks it."""
    args = ("--shape", "1024x1024x1024", "--target", "sm_90a", "--schedule", "mainloop=mma")
    assert main(["build", *args, "-o", str(tmp_path / "x.kgen"), "--explain"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert "mainloop=mma," in first and "(set by --schedule)" in first
    (chosen,) = (line for line in lines if line.startswith("->"))
    assert "mainloop=mma" in chosen
    assert any("mainloop=wgmma" in line for line in lines)


def test_the_schedule_that_is_printed_is_what_the_option_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shape = ("build", "--shape", "256x256x64", "--target", "sm_90a", "--layout", "nt", "--explain")
    command = [*shape, "-o", str(tmp_path / "x.kgen")]
    assert main(command) == 0
    printed = capsys.readouterr().out.split()[1]
    assert main([*command, "--schedule", printed]) == 0
    assert capsys.readouterr().out.split()[1] == printed


def test_what_is_chosen_without_a_model_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    args = ("build", "--op", "softmax", "--shape", "4x64", "--target", "gfx942", "--explain")
    assert main([*args, "-o", str(tmp_path / "x.kgen")]) == 0
    assert "(chosen by a rule, without a cost model)" in capsys.readouterr().out


def test_candidates_of_an_amd_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = explain(capsys, tmp_path, "--target", "gfx942")
    assert "(the fastest by the cost model)" in shown
    assert "workgroups/CU" in shown and "busy CUs" in shown


def test_json_has_all_candidates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (kernel,) = json.loads(explain(capsys, tmp_path, "--target", "sm_80", "--json"))["kernels"]
    found = kernel["explanation"]
    best = found["candidates"][0]
    assert found["chosen"] == best["schedule"] == kernel["schedule"]
    assert {"products", "shared", "issue", "latency", "l2", "dram", "output", "reduction"} == set(
        best["terms"]
    )
    assert best["notes"]["bound"] in best["terms"] and len(found["candidates"]) > 20
    assert len(found["remarks"]) == 2
