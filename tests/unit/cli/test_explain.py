"""kgen build --explain: candidates and terms of the cost model, remarks, and the choice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kgen.check.static.roofline import roofline_of
from kgen.cli.explain import LEGEND
from kgen.cli.main import main
from kgen.spec import Matmul
from kgen.targets import choose as choosing
from kgen.targets import family, find
from kgen.targets.choose import class_of, sizes_of
from kgen.targets.tuning.file import TuningSource
from kgen.tune.record import TuningFile

pytestmark = pytest.mark.integration

SHAPE = ("build", "--shape", "64x66x80", "--explain")


def explain(capsys: pytest.CaptureFixture[str], tmp_path: Path, *args: str) -> str:
    assert main([*SHAPE, "-o", str(tmp_path / "x.kgen"), *args]) == 0
    return capsys.readouterr().out


def test_candidates_and_choice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = explain(capsys, tmp_path, "--target", "sm_80")
    assert "(model: the fastest by the cost model)" in shown
    assert "4 bytes per thread by cp.async" in shown
    assert "its rows are multiples of 4 bytes" in shown
    (chosen,) = (line for line in shown.splitlines() if line.startswith("->"))
    assert "block_m=" in chosen
    assert "more that the cost model predicts to be slower" in shown


def test_an_override_is_said_to_be_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = explain(capsys, tmp_path, "--target", "sm_80", "--schedule", "num_stages=3,block_k=16")
    assert "num_stages=3" in shown.splitlines()[0] and "(set by --schedule)" in shown


def test_a_main_loop_can_be_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The best candidate with that main loop is used and marked, however slow it is predicted to
    be."""
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
    assert "(model: the fastest by the cost model)" in shown
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


def test_times_stand_side_by_side_with_what_they_assume(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = explain(capsys, tmp_path, "--target", "sm_80")
    lines = shown.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("time "))
    floor, predicted = lines[first + 2 : first + 4]
    assert floor.startswith("floor") and "every tensor read from memory once" in floor
    assert predicted.startswith("predicted") and "cost model of sm_80" in predicted


def test_terms_have_a_unit_and_a_legend(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for target in ("sm_80", "gfx942", "x86-64-v3"):
        shown = explain(capsys, tmp_path, "--target", target, "--dtype", "f16", "--json")
        (kernel,) = json.loads(shown)["kernels"]
        found = kernel["explanation"]
        assert found["unit"] == "clock cycles"
        for candidate in found["candidates"]:
            assert set(candidate["terms"]) <= set(LEGEND), target
    shown = explain(capsys, tmp_path, "--target", "sm_80")
    assert "\nterms in clock cycles: products = multiply-adds; shared = shared-memory" in shown


def test_measured_rows_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing has the row of the same sizes, the nearest other one, and one that is out of
    reach."""
    monkeypatch.setattr(choosing, "shipped", lambda core: None)
    target = find("sm_80")
    row = Matmul(m=64, n=66, k=80)
    path = tmp_path / "own.toml"
    file = TuningFile.opened(path, "sm_80")
    source = TuningSource(
        kind="measured", machine="a GPU", day="2026-01-02", commit="abc",
        conditions="warm, all threads; cold, all threads",
    )  # fmt: skip
    schedule = family("cuda").choose(row, target)
    file.add(class_of(row, target), sizes_of(row), schedule, source, gain=1.5, seconds=2e-6)
    file.save()
    words = ("--target", "sm_80", "--tuning", str(path))
    shown = explain(capsys, tmp_path, *words)
    assert "(measured: the row of the same sizes; a GPU, 2026-01-02, commit abc)" in shown
    assert re.search(r"\nmeasured +2 +a GPU: cold, all threads\n", shown)
    assert re.search(r"\n-> +64x66x80 +0 +1.5x +\S+own.toml +measured +mainloop=", shown)
    (kernel,) = json.loads(explain(capsys, tmp_path, *words, "--json"))["kernels"]
    found = kernel["explanation"]
    assert found["how"] == "measured" and found["neighbours"][0]["taken"]
    assert [each["time"] for each in found["times"]] == ["floor", "predicted", "measured"]
    for k, how, count in ((160, "neighbour", 1), (1280, "model", 0)):
        argv = ["build", "--shape", f"64x66x{k}", *words, "--explain", "--json"]
        assert main([*argv, "-o", str(tmp_path / "y.kgen")]) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        found = kernel["explanation"]
        assert (found["how"], len(found["neighbours"])) == (how, count)
        assert "measured" not in [each["time"] for each in found["times"]]


def test_the_floor_of_a_cpu_is_that_of_one_core() -> None:
    """The core does two multiply-adds of eight lanes per cycle at 3.7 GHz; no schedule is
    predicted below that."""
    spec, target = Matmul(m=1024, n=1024, k=1024, dtype="f32"), find("x86-64-v3")
    found = roofline_of(spec, target)
    assert found is not None and found.device == "one Zen 3 core at 3.7 GHz"
    assert found.floor == pytest.approx(1024**3 / (2 * 8 * 3.7e9))
    assert all(each.seconds >= found.floor for each in family("cpu").candidates(spec, target))
    assert roofline_of(spec, find("vulkan1.3")) is None
