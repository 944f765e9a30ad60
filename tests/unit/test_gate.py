"""The gate: verdicts, tightening in place, the measured tier's noise, and the commands."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

import kgen
from kgen.bundle import Bundle
from kgen.check import budgets
from kgen.check.gate import entries, metrics, ratio, run, tighten
from kgen.check.gate.judge import EntryReport, Report, Verdict, judge
from kgen.check.gate.metrics import Bound, Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Values
from kgen.cli.main import main
from kgen.errors import BudgetError

ROOT = Path(__file__).parents[2]
FILE = """\
# Why these kernels, and not others.
[toolchain]
ptxas = "nvidia-cuda-nvcc-cu12==12.9.86"
[defaults]
spills = 0

[[budget]]
kernel = "relu 4096 f16"
target = "sm_80"
why = "small and quick"
static = { registers = 64, code_bytes = 10_000 } # two numbers
emulated = { global_sectors = 512, instructions=1000 }
"""
NUMBERS: dict[str, float] = {
    "registers": 16,
    "code_bytes": 10_000,
    "global_sectors": 513,
    "instructions": 999,
}


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kgen_perf(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(("perf", *argv))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def judged(
    text: str, numbers: Mapping[str, float], timed: Ratio | str | None = None
) -> EntryReport:
    (entry,) = budgets.parse_text(text, Path("b.toml")).entries
    return judge(entry, Values(numbers=numbers), timed, tuple(Tier))


def report_of(entry: EntryReport) -> Report:
    return Report(path="b.toml", entries=(entry,), seconds=0.0)


# ------------------------------------------------------------------------------------ verdicts


def test_verdicts_and_margins() -> None:
    report = judged(FILE, NUMBERS | {"spills": 0})
    found = {r.limit.metric.name: (r.verdict, r.margin) for r in report.results}
    assert found == {
        "registers": (Verdict.BETTER, 0.75),
        "code_bytes": (Verdict.OK, 0.0),
        "global_sectors": (Verdict.BROKEN, -1 / 512),
        "instructions": (Verdict.BETTER, 0.001),
        "spills": (Verdict.OK, 0.0),
    }
    assert not report.passed
    json.dumps(report.to_json())


def test_a_minimum_is_broken_from_below() -> None:
    text = FILE.replace("registers = 64", "matrix_share = 0.5")
    for share, verdict in ((0.4, Verdict.BROKEN), (0.5, Verdict.OK), (0.6, Verdict.BETTER)):
        result = judged(text, NUMBERS | {"matrix_share": share}).results[0]
        assert result.verdict is verdict
        assert result.margin == pytest.approx(share / 0.5 - 1)


def test_a_metric_that_the_kernel_does_not_have() -> None:
    """A default is left out; a limit of the kernel's own is a mistake."""
    assert "spills" not in [r.limit.metric.name for r in judged(FILE, NUMBERS).results]
    with pytest.raises(
        BudgetError, match="registers is no metric of this kernel; its static ones are code"
    ):
        judged(FILE, {k: v for k, v in NUMBERS.items() if k != "registers"})


# ------------------------------------------------------------------------------------ tightening


def test_tightening_changes_numbers_and_nothing_else() -> None:
    loaded = budgets.parse_text(FILE, Path("b.toml"))
    numbers = NUMBERS | {"code_bytes": 9_999, "spills": 0}
    proposals = tighten.proposals(report_of(judged(FILE, numbers)))
    expected = FILE.replace("registers = 64", "registers = 16")
    expected = expected.replace("10_000", "9_999").replace("instructions=1000", "instructions=999")
    assert tighten.rewrite(loaded, proposals) == expected


def test_defaults_and_measured_ratios_are_never_tightened() -> None:
    text = FILE.replace("spills = 0", "spills = 8")
    text += 'measured = { against = "torch", ratio = 1.0 }\n'
    timed = Ratio(reference=2.0, kernel=1.0, relative_noise=0.0, absolute_noise=0.0)
    report = judged(text, NUMBERS | {"spills": 0, "registers": 64, "instructions": 1000}, timed)
    assert tighten.proposals(report_of(report)) == []


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (3, Bound.MAXIMUM, 3),
        (1 / 3, Bound.MAXIMUM, 0.3334),
        (1 / 3, Bound.MINIMUM, 0.3333),
        (2.0, Bound.MINIMUM, 2),
    ],
)
def test_fractions_are_rounded_to_the_side_that_holds(
    value: float, bound: Bound, expected: float
) -> None:
    share = dataclasses.replace(metrics.find("matrix_share"), bound=bound)
    assert share.rounded(value) == expected


# ------------------------------------------------------------------------------------ measured


def test_noise_widens_a_ratio_and_never_narrows_it() -> None:
    quiet = ratio.of([1.0] * 5, [1.0] * 5, [1.0] * 5, [0.0] * 5)
    assert (quiet.value, quiet.least(1.0)) == (1.0, 1.0)
    noisy = ratio.of([1.0, 1.1, 0.9], [1.0, 1.0, 1.0], [1.1, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert noisy.relative_noise == pytest.approx(0.1)
    assert noisy.least(1.0) == pytest.approx(1 / 1.1)
    tiny = ratio.of([1e-6] * 3, [1e-6] * 3, [1e-6] * 3, [1e-6] * 3)
    assert tiny.least(1.0) == pytest.approx(0.5)


def test_a_slower_kernel_breaks_its_ratio_only_beyond_the_noise() -> None:
    text = FILE + 'measured = { against = "torch", ratio = 1.0 }\n'
    for kernel, verdict in ((1.04, Verdict.OK), (1.06, Verdict.BROKEN)):
        timed = Ratio(reference=1.0, kernel=kernel, relative_noise=0.05, absolute_noise=0.0)
        found = next(
            r for r in judged(text, NUMBERS, timed).results if r.limit.metric.name == "ratio"
        )
        assert found.verdict is verdict


def test_a_budget_is_broken_by_three_measurements_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = kgen.build(kgen.Relu(shape=(8,), dtype=kgen.DType.F32), targets=["native"])
    kernels = iter([2.0, 1.0, 9.0, 4.0, 2.0, 3.0])

    def measured(bundle: Bundle, against: str) -> Ratio:
        kernel = next(kernels)
        return Ratio(reference=1.0, kernel=kernel, relative_noise=0.1, absolute_noise=0.0)

    monkeypatch.setattr(ratio, "measure", measured)
    assert ratio.settled(bundle, "numpy", 1.0).value == 1.0  # The second one keeps it.
    broken = ratio.settled(bundle, "numpy", 1.0)  # Of 9, 4 and 2: the best, though not enough.
    assert broken.value == 0.5 and not broken.keeps(1.0)
    assert next(kernels) == 3.0


def test_an_absent_device_skips_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE + 'measured = { against = "torch", ratio = 1.0 }\n')
    status, out, _ = kgen_perf(
        capsys, "check", "--budgets", "b.toml", "--tier", "measured", "--json"
    )
    (result,) = json.loads(out)["entries"][0]["results"]
    if result["verdict"] == "skipped":
        assert status == 0 and "cuda" in result["note"]


def test_a_ratio_is_measured_where_the_device_is() -> None:
    bundle = kgen.build(kgen.Relu(shape=(65536,), dtype=kgen.DType.F32), targets=["native"])
    found = ratio.measure(bundle, "numpy", rounds=3)
    assert found.value > 0 and math.isfinite(found.least(1.0))


# ------------------------------------------------------------------------------------ commands


def test_check_and_update(capsys: pytest.CaptureFixture[str]) -> None:
    Path("perf_budgets.toml").write_text(FILE)
    status, out, err = kgen_perf(capsys, "check", "--summary", "s.md")
    assert (status, err) == (0, ""), out
    assert "at most" in out and "0 broken" in out and "kgen perf update proposes" in out
    assert "## Performance budgets: passed" in Path("s.md").read_text()
    status, out, _ = kgen_perf(capsys, "update")
    assert status == 0 and "--write puts these numbers into perf_budgets.toml" in out
    assert Path("perf_budgets.toml").read_text() == FILE
    assert kgen_perf(capsys, "update", "--write")[0] == 0
    tightened = Path("perf_budgets.toml").read_text()
    assert tightened != FILE and tightened.startswith("# Why these kernels")
    assert kgen_perf(capsys, "update")[:2] == (0, "perf_budgets.toml: no budget has room\n")
    assert kgen_perf(capsys, "check")[0] == 0


def test_update_moves_no_bar_but_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The bars of the tensor-core kernels stand in tests; no budget and no update reaches them."""
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
        assert "toml" not in words and "kgen.check.budgets" not in words, path


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


def test_another_version_of_the_assembler(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE.replace("12.9.86", "12.8.1"))
    status, out, err = kgen_perf(capsys, "check", "--budgets", "b.toml")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "pip install nvidia-cuda-nvcc-cu12==12.8.1" in err
    assert kgen_perf(capsys, "check", "--budgets", "b.toml", "--tier", "emulated")[0] == 0
    Path("b.toml").write_text(FILE.replace("ptxas", "# ptxas"))
    status, _, err = kgen_perf(capsys, "check", "--budgets", "b.toml")
    assert status == 2 and 'write ptxas = "nvidia-cuda-nvcc-cu12==' in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("check",), "budgets=perf_budgets.toml cannot be read"),
        (("check", "--budgets", "b.toml", "--target", "sm_75"), "b.toml has no budget for target"),
        (("check", "--budgets", "b.toml", "--tier", "guessed"), "known are static, emulated"),
        (("check", "--budgets", "b.toml", "--summary", "no/s.md"), "--summary no/s.md cannot be"),
        (("add", "relu 4 f16", "--target", "sm_0", "--why", "w"), "target=sm_0 is unknown"),
        (("add", "relu 4096 f16", "--target", "sm_80", "--why", "w", "--budgets", "b.toml",
          "--write"), "stands on line 7 already"),
        (("diff", "a.kgen", "b.kgen"), "a.kgen: cannot read"),
    ],
)  # fmt: skip
def test_bad_input(argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.toml").write_text(FILE)
    status, out, err = kgen_perf(capsys, *argv)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err, err
    assert [path.name for path in Path().iterdir()] == ["b.toml"]
    assert Path("b.toml").read_text() == FILE


def test_a_kernel_that_cannot_be_counted_is_named_with_its_line() -> None:
    loaded = budgets.parse_text(FILE.replace("4096", "100000000"), Path("b.toml"))
    with pytest.raises(BudgetError, match=r"b.toml:7: sm_80: relu .*takes too long"):
        run.check(loaded, loaded.entries, tiers=(Tier.EMULATED,))


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


def test_an_added_entry_has_the_headlines_and_what_breaks_a_default() -> None:
    (entry,) = budgets.parse_text(FILE, Path("b.toml")).entries
    entry = dataclasses.replace(entry, limits=entry.limits[-1:])
    values = Values(numbers={"registers": 9, "spills": 8, "stack": 4, "copies_in_flight": 0})
    assert list(entries.numbers(entry, values)) == ["static = { registers = 9, spills = 8 }\n"]
    values = Values(numbers={"spills": 0, "barriers": 2})
    assert list(entries.numbers(entry, values)) == ["emulated = { barriers = 2 }\n"]


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    spec = kgen.Relu(shape=(4096,))
    kgen.build(spec, targets=["sm_80"], schedule={"unroll": 1}).save("old.kgen")
    kgen.build(spec, targets=["sm_80", "gfx942"], schedule={"unroll": 2}).save("new.kgen")
    status, out, _ = kgen_perf(capsys, "diff", "old.kgen", "new.kgen")
    assert status == 0
    assert "only in new.kgen: gfx942/relu_4096_f16" in out
    assert "-// stream schedule" in out and "+// stream schedule" in out
    _, out, _ = kgen_perf(capsys, "diff", "old.kgen", "new.kgen", "--json")
    (kernel,) = json.loads(out)["kernels"]
    changes = {change["metric"]: change["verdict"] for change in kernel["changes"]}
    assert changes["global_sectors"] == "same" and "worse" in changes.values()
    _, out, _ = kgen_perf(capsys, "diff", "old.kgen", "old.kgen", "--metrics")
    assert "same: " in out and "@@" not in out
