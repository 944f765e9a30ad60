"""kgen perf: check, update, add and diff on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import kgen
from kgen.cli.main import main
from tests.specs import relu_of
from tests.unit.check.gate.gate_budget import FILE

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kgen_perf(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(("perf", *argv))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.integration
def test_check_and_update(capsys: pytest.CaptureFixture[str]) -> None:
    Path("perf_budgets.toml").write_text(FILE)
    status, out, err = kgen_perf(capsys, "check", "--summary", "s.md")
    assert (status, err) == (0, ""), out
    assert (
        "at most" in out
        and "0 broken" in out
        and "3 budgets can be tightened: see kgen perf update" in out
    )
    assert "## Performance budgets: passed" in Path("s.md").read_text()
    status, out, _ = kgen_perf(capsys, "update")
    assert status == 0 and "--write puts these numbers into perf_budgets.toml" in out
    assert Path("perf_budgets.toml").read_text() == FILE
    assert kgen_perf(capsys, "update", "--write")[0] == 0
    tightened = Path("perf_budgets.toml").read_text()
    assert tightened != FILE and tightened.startswith("# Why these kernels")
    assert kgen_perf(capsys, "update")[:2] == (0, "perf_budgets.toml: no budget can be tightened\n")
    assert kgen_perf(capsys, "check")[0] == 0


@pytest.mark.integration
def test_update_moves_no_bar_but_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests hold the limits of tensor-core kernels; no update of budgets changes them."""
    bars = list((ROOT / "tests" / "assemble").glob("test_*bars.py"))
    before = {path: path.read_bytes() for path in (*bars, ROOT / "perf_budgets.toml")}
    Path("b.toml").write_text(FILE)
    assert kgen_perf(capsys, "update", "--write", "--budgets", "b.toml")[0] == 0
    assert [path.name for path in Path().iterdir()] == ["b.toml"]
    assert all(path.read_bytes() == text for path, text in before.items())
    assert len(bars) >= 2
    for path in bars:
        words = path.read_text()
        assert "perf_budgets" not in words and "kgen.check.gate" not in words, path
        assert "toml" not in words and "kgen.check.gate.budgets" not in words, path


@pytest.mark.integration
def test_a_broken_budget_names_the_metric_the_numbers_and_the_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("b.toml").write_text(FILE.replace("global_sectors = 512", "global_sectors = 500"))
    status, out, _ = kgen_perf(capsys, "check", "--budgets", "b.toml", "--summary", "s.md")
    assert status == 1
    sentence = "global_sectors is 512 sectors, the budget is at most 500, b.toml line 12"
    assert sentence in out and sentence in Path("s.md").read_text()
    assert "ld.global" in out and "st.global" in out
    assert kgen_perf(capsys, "update", "--budgets", "b.toml")[0] == 1


@pytest.mark.integration
def test_another_version_of_the_assembler(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE.replace("12.9.86", "12.8.1"))
    status, out, err = kgen_perf(capsys, "check", "--budgets", "b.toml")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "pip install nvidia-cuda-nvcc-cu12==12.8.1" in err
    assert kgen_perf(capsys, "check", "--budgets", "b.toml", "--tier", "emulated")[0] == 0
    Path("b.toml").write_text(FILE.replace("ptxas", "# ptxas"))
    status, _, err = kgen_perf(capsys, "check", "--budgets", "b.toml")
    assert status == 2 and 'add ptxas = "nvidia-cuda-nvcc-cu12==' in err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("check",), "budgets=perf_budgets.toml cannot be read"),
        (("check", "--budgets", "b.toml", "--target", "sm_75"), "b.toml has no budget for target"),
        (("check", "--budgets", "b.toml", "--tier", "guessed"), "known are static, emulated"),
        (("check", "--budgets", "b.toml", "--summary", "no/s.md"), "--summary no/s.md cannot be"),
        (("add", "relu 4 f16", "--target", "sm_0", "--why", "w"), "target=sm_0 is unknown"),
        (("add", "relu 4096 f16", "--target", "sm_80", "--why", "w", "--budgets", "b.toml",
          "--write"), "already has a budget on line 7"),
        (("diff", "a.kgen", "b.kgen"), "a.kgen: cannot read"),
    ],
)  # fmt: skip
def test_bad_input(argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE)
    status, out, err = kgen_perf(capsys, *argv)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err, err
    assert err.startswith(f"kgen perf {argv[0]}: ")
    assert [path.name for path in Path().iterdir()] == ["b.toml"]
    assert Path("b.toml").read_text() == FILE


@pytest.mark.parametrize(
    "command", [("add", "relu 4 f16", "--target", "sm_80", "--why", "w"), ("update",)]
)
def test_a_pipe_is_not_replaced(
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipe is refused before anything is built; reading it would wait for ever."""
    monkeypatch.setattr("kgen.check.gate.run.values_of", None)
    os.mkfifo("pipe")
    status, out, err = kgen_perf(capsys, *command, "--write", "--budgets", "pipe")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "budgets=pipe cannot be written: it is a device, pipe or folder" in err
    assert "name another file with --budgets" in err and Path("pipe").is_fifo()


@pytest.mark.integration
def test_add_starts_a_file_that_check_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("add", "relu 512 f16", "--target", "sm_80,gfx942,vulkan1.3", "--why", 'a "reason"')
    status, out, _ = kgen_perf(capsys, *argv)
    assert status == 0 and out.count("[[budget]]") == 3 and not Path("perf_budgets.toml").exists()
    assert kgen_perf(capsys, *argv, "--write")[0] == 0
    text = Path("perf_budgets.toml").read_text()
    assert 'llvm = "llvmlite==' in text and 'ptxas = "' in text
    status, out, _ = kgen_perf(capsys, "check", "--json")
    found = json.loads(out)
    assert status == 0 and found["passed"] and len(found["entries"]) == 3
    assert {r["verdict"] for e in found["entries"] for r in e["results"]} == {"ok"}


@pytest.mark.integration
def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    spec = relu_of((4096,))
    kgen.build(spec, targets=["sm_80"], schedule={"unroll": 1}).save("old.kgen")
    kgen.build(spec, targets=["sm_80", "gfx942"], schedule={"unroll": 2}).save("new.kgen")
    status, out, _ = kgen_perf(capsys, "diff", "old.kgen", "new.kgen")
    assert status == 0
    assert "only in new.kgen: gfx942/relu_4096_f16" in out
    assert "-// schedule:  mainloop=stream" in out and "+// schedule:  mainloop=stream" in out
    _, out, _ = kgen_perf(capsys, "diff", "old.kgen", "new.kgen", "--json")
    (kernel,) = json.loads(out)["kernels"]
    changes = {change["metric"]: change["verdict"] for change in kernel["changes"]}
    assert changes["global_sectors"] == "same" and "worse" in changes.values()
    _, out, _ = kgen_perf(capsys, "diff", "old.kgen", "old.kgen", "--metrics")
    assert "same: " in out and "@@" not in out


@pytest.mark.integration
def test_an_absent_device_skips_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE + 'measured = { against = "torch", ratio = 1.0 }\n')
    status, out, _ = kgen_perf(
        capsys, "check", "--budgets", "b.toml", "--tier", "measured", "--json"
    )
    (result,) = json.loads(out)["entries"][0]["results"]
    if result["verdict"] == "skipped":
        assert status == 0 and "cuda" in result["note"]
