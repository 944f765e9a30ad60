"""The gate: verdicts, new entries, and tightening in place."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from kgen.check.gate import budgets, entries, metrics, run, summary, tighten
from kgen.check.gate.judge import GateReport, Verdict
from kgen.check.gate.metrics import BudgetSide, Tier
from kgen.check.gate.ratio import Ratio
from kgen.check.gate.values import Values
from kgen.errors import BudgetError
from tests.unit.check.gate.gate_budget import FILE, NUMBERS, judged, report_of

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


def test_one_broken_budget_breaks_the_report() -> None:
    broken, kept = judged(FILE, NUMBERS), judged(FILE, NUMBERS | {"global_sectors": 512})
    assert not broken.passed and kept.passed
    for reports in ((broken, kept), (kept, broken)):
        assert not GateReport(path="b.toml", entries=reports, seconds=0.0).passed
    assert GateReport(path="b.toml", entries=(kept, kept), seconds=0.0).passed


def test_a_metric_that_the_kernel_does_not_have() -> None:
    """A default is ignored; a budget in the kernel's own entry is an error."""
    assert "spills" not in [r.limit.metric.name for r in judged(FILE, NUMBERS).results]
    with pytest.raises(
        BudgetError, match="registers is not a metric of this kernel; its static metrics are code"
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


def test_tightening_in_nested_tables() -> None:
    """Each table's registers are told apart, whatever stands beside them."""
    nested = "registers = 64, radv = {occupancy = 4, registers=64 }, nvk = { registers = 48 }"
    text = FILE.replace("registers = 64", nested)
    numbers = NUMBERS | {"code_bytes": 10_000, "instructions": 1000}
    numbers |= {"radv.registers": 60, "radv.occupancy": 6, "nvk.registers": 48}
    expected = text.replace("registers = 64, radv", "registers = 16, radv")
    expected = expected.replace("occupancy = 4, registers=64 ", "occupancy = 6, registers=60 ")
    loaded = budgets.parse_text(text, Path("b.toml"))
    assert tighten.rewrite(loaded, tighten.proposals(report_of(judged(text, numbers)))) == expected


def test_defaults_and_measured_ratios_are_never_tightened() -> None:
    text = FILE.replace("spills = 0", "spills = 8")
    text += 'measured = { against = "torch", ratio = 1.0 }\n'
    timed = Ratio(reference=2.0, kernel=1.0, relative_noise=0.0, absolute_noise=0.0)
    report = judged(text, NUMBERS | {"spills": 0, "registers": 64, "instructions": 1000}, timed)
    assert tighten.proposals(report_of(report)) == []
    (line,) = summary.conclusion(report_of(report))
    assert "tightened" not in line


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (3, BudgetSide.MAXIMUM, 3),
        (1 / 3, BudgetSide.MAXIMUM, 0.3334),
        (1 / 3, BudgetSide.MINIMUM, 0.3333),
        (2.0, BudgetSide.MINIMUM, 2),
    ],
)
def test_fractions_are_rounded_to_the_side_that_holds(
    value: float, bound: BudgetSide, expected: float
) -> None:
    share = dataclasses.replace(metrics.find("matrix_share"), bound=bound)
    assert share.rounded(value) == expected


@pytest.mark.integration
def test_a_kernel_that_cannot_be_counted_is_named_with_its_line() -> None:
    loaded = budgets.parse_text(FILE.replace("4096", "100000000"), Path("b.toml"))
    with pytest.raises(BudgetError, match=r"b.toml:7: sm_80: relu .*workgroups takes too long"):
        run.check(loaded, loaded.entries, tiers=(Tier.EMULATED,))


# ------------------------------------------------------------------------------------ entries


def test_an_added_entry_has_the_headlines_and_what_breaks_a_default() -> None:
    (entry,) = budgets.parse_text(FILE, Path("b.toml")).entries
    entry = dataclasses.replace(entry, limits=entry.limits[-1:])
    values = Values(numbers={"registers": 9, "spills": 8, "stack": 4, "copies_in_flight": 0})
    assert list(entries.numbers(entry, values)) == ["static = { registers = 9, spills = 8 }\n"]
    values = Values(numbers={"spills": 0, "barriers": 2})
    assert list(entries.numbers(entry, values)) == ["emulated = { barriers = 2 }\n"]
