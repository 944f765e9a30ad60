"""The measured tier of the gate: ratios, their noise, and how often one must be broken."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import kgen
from kgen.bundle import Bundle
from kgen.check.gate import budgets, ratio, summary
from kgen.check.gate.judge import Verdict, judge
from kgen.check.gate.metrics import Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Values
from tests.specs import relu_of
from tests.unit.check.gate.gate_budget import FILE, NUMBERS, judged, report_of


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


def test_a_broken_ratio_of_a_core_names_it() -> None:
    text = """\
[[budget]]
kernel = "relu 4096 f32"
target = "x86-64-v3"
why = "copy speed"
measured = { against = "numpy", ratio = 0.5, by_core = { "Zen 4" = 2 } }
"""
    (entry,) = budgets.parse_text(text, Path("b.toml")).entries
    timed = Ratio(reference=1.0, kernel=1.0, relative_noise=0.0, absolute_noise=0.0)
    values = Values(numbers={})
    for core, broken in (("Zen 3", False), ("Zen 4", True)):
        report = report_of(judge(entry.on(core), values, timed, tuple(Tier)))
        lines = [line.strip() for line in summary.broken_lines(report)]
        sentence = "ratio on Zen 4 is 1 times, the budget is at least 2, b.toml line 5"
        assert (sentence in lines) is broken and report.passed is not broken
        assert report.entries[0].results[0].to_json()["core"] == (core if broken else None)


@pytest.mark.integration
def test_a_budget_is_broken_by_three_measurements_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = kgen.build(relu_of((8,), dtype=kgen.DType.F32), targets=["native"])
    kernels = iter([2.0, 1.0, 9.0, 4.0, 2.0, 3.0])

    def measured(bundle: Bundle, against: str) -> Ratio:
        kernel = next(kernels)
        return Ratio(reference=1.0, kernel=kernel, relative_noise=0.1, absolute_noise=0.0)

    monkeypatch.setattr(ratio, "measure", measured)
    assert ratio.settled(bundle, "numpy", 1.0).value == 1.0  # The second one keeps it.
    broken = ratio.settled(bundle, "numpy", 1.0)  # Of 9, 4 and 2: the best, though not enough.
    assert broken.value == 0.5 and not broken.keeps(1.0)
    assert next(kernels) == 3.0


@pytest.mark.integration
def test_a_ratio_is_measured_where_the_device_is() -> None:
    bundle = kgen.build(relu_of((65536,), dtype=kgen.DType.F32), targets=["native"])
    found = ratio.measure(bundle, "numpy", rounds=3)
    assert found.value > 0 and math.isfinite(found.least(1.0))
