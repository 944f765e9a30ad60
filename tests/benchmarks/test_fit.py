"""Fit of the CPU cost model: coefficients that are known are found again, and stored."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit
from kgen.targets.cpu.schedule.cost_model import EventCounts

KNOWN = {"steps": 0.5, "tiles": 7.0, "pack_b": 2.0, "first_l2": 1.0, "first_far": 3.0}
#: A cache level without measurements takes the cycles of the level before.
EXPECTED = {**KNOWN, "first_memory": 3.0}
LINES = (2.0, 3.0)


def groups() -> list[list[fit.Timed]]:
    """Timings of 20 kernels with 12 candidates each, computed from KNOWN."""
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
            cycles = arithmetic + sum(KNOWN[name] * count for name, count in events.items())
            group.append(
                fit.Timed(
                    kind="32", mainloop="blis", counts=(counts, counts), cycles=(cycles, 2 * cycles)
                )
            )
        found.append(group)
    return found


def test_known_coefficients_are_found_again() -> None:
    measured = groups()
    found = fit.Fit(measured, "32", LINES)
    table = dict(zip(fit.EVENTS, found.solution[1:] / found.solution[0], strict=True))
    for name in fit.EVENTS:
        assert table[name] == pytest.approx(EXPECTED.get(name, 0.0), rel=0.02, abs=0.02)
    assert found.regret == pytest.approx(1.0) and found.errors["error_blis"] < 0.01
    found.solution = np.array([1.0, *np.random.default_rng(1).uniform(0, 50, len(fit.EVENTS))])
    assert found.regret > 1.05 and found.errors["error"] > 0.1


def test_only_the_section_of_the_core_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "coefficients.toml"
    before = fit.FILE.read_text(encoding="utf-8")
    file.write_text(before, encoding="utf-8")
    monkeypatch.setattr(fit, "FILE", file)
    fit.written("Zen 4", "64", {"steps": 0.25}, "measured today")
    fit.written("Gracemont", "32", {"steps": 0.75}, "measured today")
    old, new = tomllib.loads(before)["cores"], tomllib.loads(file.read_text())["cores"]
    assert new["Zen 4"]["64"] == {"steps": 0.25} and new["Gracemont"]["32"] == {"steps": 0.75}
    assert {**new["Zen 4"], "64": old["Zen 4"]["64"]} == old["Zen 4"]
    assert {name: new[name] for name in ("Zen 5", "Golden Cove")} == {
        name: old[name] for name in ("Zen 5", "Golden Cove")
    }
