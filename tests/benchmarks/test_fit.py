"""Fit of the CPU cost model: known coefficients are recovered, and stored."""

from __future__ import annotations

import dataclasses
import itertools
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from benchmarks import fit
from kgen import targets
from kgen.spec import Matmul, text
from kgen.spec.choices import BType
from kgen.targets.base import Plan
from kgen.targets.choose import schedule_fields
from kgen.targets.cpu.cores import core_of
from kgen.targets.cpu.schedule import cost_model
from kgen.targets.cpu.schedule.cost_model import EventCounts
from kgen.tune.pairing import TimingCondition

KNOWN = {"steps": 0.5, "tiles": 7.0, "pack_b": 2.0, "first_l2": 1.0, "first_far": 3.0}
LINES, CALL = (2.0, 3.0), 2e4


def groups() -> list[list[fit.Timed]]:
    """Return timings of 20 kernels with 12 candidates each, computed from KNOWN and from CALL
    divided by a batch."""
    random, found = np.random.default_rng(3), []
    for _ in range(20):
        group = []
        for _ in range(12):
            arithmetic = float(random.uniform(1e4, 1e5))
            events = {name: float(random.uniform(0, 1e4)) for name in KNOWN}
            counts = EventCounts(
                arithmetic=np.array([arithmetic]),
                lines=(np.zeros(1), np.zeros(1)),
                events={name: np.array([count]) for name, count in events.items()},
            )
            calls = 1 / float(random.integers(1, 9))
            cycles = arithmetic + sum(KNOWN[name] * count for name, count in events.items())
            both = (cycles + CALL * calls,) * 2
            group.append(fit.Timed(kind="32", counts=(counts, counts), cycles=both, calls=calls))
        found.append(group)
    return found


def test_known_coefficients_are_found_again() -> None:
    found = fit.Fit(groups(), "32", LINES)
    assert found.solution[0] == 1.0
    assert found.predicted == pytest.approx(np.mean(found.cycles, axis=0), abs=0.1)
    for name, cycles in KNOWN.items():
        assert found.table[name] == pytest.approx(cycles, rel=0.2, abs=1.0)
    assert found.solution[-1] == pytest.approx(CALL, rel=0.2) and fit.CALL not in found.table
    assert found.table["first_memory"] >= found.table["first_far"] >= found.table["first_l2"]
    assert found.regret == pytest.approx(1.0, abs=0.01)
    found.solution = np.array([1.0, *np.random.default_rng(1).uniform(0, 50, len(fit.EVENTS) + 1)])
    assert found.regret > 1.05


def test_chosen_events_are_fitted_beside_the_stored_cycles_of_others() -> None:
    stored = {**KNOWN, "tiles": 0.1, "error": 0.0, "l3_line": LINES[0], "memory_line": LINES[1]}
    stored[fit.CALL] = CALL
    found = fit.Fit.of_table(groups(), "32", stored, ["tiles"])
    assert found.table["tiles"] == pytest.approx(KNOWN["tiles"], rel=0.2)
    assert {name: found.table[name] for name in KNOWN.keys() - {"tiles"}} == pytest.approx(
        {name: cycles for name, cycles in KNOWN.items() if name != "tiles"}
    )
    assert fit.Fit.of_table(groups(), "32", stored).table["tiles"] == 0.1


def test_the_error_is_that_of_the_least_regret() -> None:
    """A near neighbour is faster than the model's first candidate, but predicted to be slower."""
    measured = groups()
    for group in measured:
        best = min(group, key=lambda each: each.cycles)
        second = sorted(group, key=lambda each: each.cycles)[1]
        group[group.index(second)] = dataclasses.replace(
            second, cycles=(0.9 * best.cycles[0],) * 2, neighbour=(0.5, 0.0)
        )
    found = fit.Fit(measured, "32", LINES)
    error = found.table["error"]
    assert found.regret_beside(error) <= min(map(found.regret_beside, fit.TOLERANCES))
    assert found.regret_beside(error) < found.regret


def test_measured_times_are_fitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--timings` keeps the times; a run without minutes fits them and measures nothing."""
    file, target = tmp_path / "timings", targets.find("x86-64-v4")

    def race(plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        return [1e-6 * (1 + number + condition.is_cold) for number in range(len(plans))]

    spec = Matmul(m=6, n=64, k=64, dtype="f32")
    monkeypatch.setattr(fit, "DeviceRace", lambda: race)
    monkeypatch.setattr(fit, "find", lambda _: target)
    monkeypatch.setattr(fit, "STEPS", 3)
    row = fit.measured(spec, target, Random(0))
    file.write_text(f"{json.dumps(row)}\n")
    monkeypatch.setattr("sys.argv", ["fit", "--minutes", "0", "--timings", str(file)])
    assert fit.main() == 0 and "1 GEMMs" in capsys.readouterr().out
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        json.loads(json.dumps(row))
    ]


def test_counts_and_cycles_are_those_of_one_element_of_a_batch() -> None:
    """Batches of proportional times have equal counts and cycles."""
    target, found = targets.find("x86-64-v4"), []
    for batch in (1, 12):
        spec = Matmul(m=20, n=32, k=20, dtype="f32", batch=batch)
        fields = schedule_fields(cost_model.choose(spec, target))
        row = [fields, [batch * 1e-6, batch * 3e-6], None]
        found += fit.counted({"work": text.form(spec), "rows": [row]}, target)
    one, twelve = found
    assert twelve.cycles == pytest.approx(one.cycles)
    assert twelve.cycles == pytest.approx([core_of(target).clock * each for each in (1e-6, 3e-6)])
    assert twelve.counts[0].arithmetic == one.counts[0].arithmetic
    assert one.calls == 1.0 and 12 * twelve.calls == pytest.approx(1.0)


def test_only_the_section_of_the_core_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "coefficients.toml"
    before = fit.FILE.read_text(encoding="utf-8")
    file.write_text(before, encoding="utf-8")
    monkeypatch.setattr(fit, "FILE", file)
    fit.written("Zen 4", "64", {"steps": 0.25}, "measured today")
    fit.written("Gracemont", "32", {"steps": 0.75}, "measured today")
    fit.written("Gracemont", "32", {"steps": 0.75}, "and again", keeps_source=True)
    assert "# measured today\n# and again\nsteps = 0.75\n" in file.read_text(encoding="utf-8")
    old, new = tomllib.loads(before)["cores"], tomllib.loads(file.read_text())["cores"]
    assert new["Zen 4"]["64"] == {"steps": 0.25} and new["Gracemont"]["32"] == {"steps": 0.75}
    assert {**new["Zen 4"], "64": old["Zen 4"]["64"]} == old["Zen 4"]
    assert {name: new[name] for name in ("Zen 5", "Golden Cove")} == {
        name: old[name] for name in ("Zen 5", "Golden Cove")
    }


def test_kernels_of_the_fit_are_gemms_of_all_types_and_those_of_the_regret() -> None:
    found = list(itertools.islice(fit.specs(Random(4)), 150))
    each, others, heads = (found[kind::3] for kind in range(3))
    assert all(spec.m * spec.n * spec.k <= 2 * fit.LARGEST for spec in each)
    kinds = {(spec.dtype, spec.b_dtype, spec.layout, bool(spec.constant)) for spec in each}
    assert kinds == {(d, b and BType(b), layout, packed) for d, b, layout, packed in fit.OPERANDS}
    assert {(spec.dtype, spec.layout, spec.constant) for spec in others} == {("f32", "nn", ())}
    assert max(spec.m for spec in others) > max(fit.ROWS)
    assert {spec.layout for spec in heads} == {"nn", "nt"} and max(s.batch for s in heads) > 1


def test_instructions_of_a_target_are_fitted_on_the_core_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """AVX2 vectors of 32 bytes on a CPU with AVX-512 use that CPU's core and caches."""
    wide = targets.find("x86-64-v4")
    here = dataclasses.replace(wide, device="Zen 5", limits={**wide.limits, "l2_bytes": 12345})
    monkeypatch.setattr(fit, "find", lambda name: here if name == "native" else targets.find(name))
    found = fit.target_here("x86-64-v3")
    assert (found.name, found.device, found.limits["l2_bytes"]) == ("x86-64-v3", "Zen 5", 12345)
    assert found.limits["vector_bytes"] == 32 and fit.target_here("native") == here


def test_the_least_time_of_several_races_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([3.0, 1.0, 5.0, 9.0])

    def race(plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        now = next(seconds)
        return [now + number for number in range(len(plans))]

    monkeypatch.setattr(fit, "DeviceRace", lambda: race)
    row = fit.measured(Matmul(m=6, n=64, k=64, dtype="f32"), targets.find("x86-64-v4"), Random(0))
    times = [list(each) for _, each, _ in row["rows"]]
    assert times == [[1.0 + number, 5.0 + number] for number in range(len(times))]
