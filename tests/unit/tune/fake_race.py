"""Race whose times follow from the schedules: nothing is built or timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kgen import targets
from kgen.schedule import BlockedMatmul
from kgen.spec import Matmul
from kgen.targets import choose as choosing
from kgen.targets.base import Candidate, Plan, Target
from kgen.targets.contraction.candidate_table import Fixed
from kgen.targets.cpu.schedule import cost_model
from kgen.tune.pairing import ONE_THREAD, TimingCondition
from kgen.tune.record import TuningFile
from kgen.tune.tuner import Tuner

TARGET = targets.find("x86-64-v3")
CORE = targets.family(TARGET.family).core(TARGET)
Cost = Callable[[Plan], float]


def rows_of_a_tile(plan: Plan) -> float:
    """Return seconds: kernels with fewer rows in a register tile are faster."""
    return float(plan.schedule.to_json().get("mr", 1))


class FakeRace:
    """Race with times by a rule. `races` are the plans of each race, with its condition."""

    def __init__(self, cost: Cost = rows_of_a_tile) -> None:
        self.cost = cost
        self.races: list[tuple[Sequence[Plan], TimingCondition]] = []

    def __call__(self, plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        self.races.append((plans, condition))
        return [self.cost(plan) for plan in plans]


class FakeClock:
    """Clock that advances with every reading."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def tuner_of(
    path: Path,
    race: FakeRace,
    clock: FakeClock | None = None,
    target: Target = TARGET,
    commit: str = "abc",
) -> Tuner:
    core = targets.family(target.family).core(target)
    return Tuner(
        file=TuningFile.opened(path, core),
        target=target,
        race=race,
        conditions=ONE_THREAD,
        commit=commit,
        clock=clock or FakeClock(0.0),
    )


Ranking = tuple[Candidate[BlockedMatmul], ...]
_RANKED: dict[tuple[object, ...], Ranking] = {}
_rank = cost_model.candidates


def ranked_once(
    spec: Matmul,
    target: Target,
    fixed: Fixed | None = None,
    mainloop: str | None = None,
    *,
    most: int | None,
    by_kind: bool = False,
) -> Ranking:
    """Rank the candidates of each kernel once per process: tests search the same kernels many
    times."""
    key = (spec, target.name, tuple((fixed or {}).items()), mainloop, most, by_kind)
    if key not in _RANKED:
        _RANKED[key] = _rank(spec, target, fixed, mainloop, most=most, by_kind=by_kind)
    return _RANKED[key]


def hide_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the tuning files that kgen ships, and rank the candidates of a matmul once."""
    monkeypatch.setattr(choosing, "shipped", lambda core: None)
    monkeypatch.setattr(cost_model, "candidates", ranked_once)
