"""Search of schedules: candidates, steps, the confirmation, and recorded rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgen import pipeline, targets
from kgen.errors import TargetError
from kgen.schedule import BlockedMatmul, ScheduleOrigin
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets.base import Plan
from kgen.targets.choose import How, choose, class_of, sizes_of
from kgen.targets.tuning.file import TuningSource, read
from kgen.tune import local_search, search
from kgen.tune.pairing import ALL_THREADS, ONE_THREAD, TimingCondition
from kgen.tune.record import EXPORTED, TuningFile
from kgen.tune.search import Point
from tests.specs import relu_of, softmax_of
from tests.unit.tune.fake_race import CORE, TARGET, FakeClock, FakeRace, hide_shipped, tuner_of

SPEC = Matmul(m=64, n=64, k=64, dtype=DType.F32)
FAMILY = targets.family(TARGET.family)


@pytest.fixture(autouse=True)
def nothing_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_shipped(monkeypatch)


def point(spec: Spec = SPEC) -> Point:
    return Point(spec=spec, target=TARGET, current=FAMILY.choose(spec, TARGET))


def test_a_search_goes_on_to_the_best() -> None:
    race, steps = FakeRace(), list[int]()
    found = search.search(point(), race, steps.append)
    begun = point().current
    assert isinstance(found.schedule, BlockedMatmul) and isinstance(begun, BlockedMatmul)
    assert found.schedule.mr == 1 < begun.mr and found.schedule.origin is ScheduleOrigin.TUNED
    assert found.is_better and found.gain == pytest.approx(begun.mr)
    assert found.over_model == pytest.approx(begun.mr) and found.seconds == 1.0
    assert steps == list(range(1, found.steps + 1)) and len(steps) > 1


def test_a_winner_is_timed_again_under_all_conditions() -> None:
    """The winner is timed first, the current schedule after it."""
    race = FakeRace()
    found = search.search(point(), race)
    confirmations = race.races[-4:]
    assert [condition for _, condition in confirmations] == [*ONE_THREAD, *ALL_THREADS]
    for plans, _ in confirmations:
        assert plans[0].schedule == found.schedule and 2 <= len(plans) <= 3
    assert {condition for _, condition in race.races[:-4]} == set(ONE_THREAD)


class Lucky(FakeRace):
    """Race of equal kernels in which the first is always slower."""

    def __call__(self, plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        super().__call__(plans, condition)
        return [2.0, *[1.0] * (len(plans) - 1)]


def test_the_place_in_a_race_is_no_gain() -> None:
    assert not search.search(point(), Lucky()).is_better


class Mixed(FakeRace):
    """Race in which small tiles are faster in one thread, and slower in all threads."""

    def __call__(self, plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        super().__call__(plans, condition)
        sign = 1 if condition.threads == 1 else -0.1
        return [plan.schedule.to_json()["mr"] ** sign for plan in plans]


def test_a_winner_may_lose_under_no_condition() -> None:
    found = search.search(point(), Mixed())
    assert found.gain > search.GAIN and min(found.gains.values()) < search.LEAST
    assert not found.is_better


def test_a_kernel_that_does_not_run_is_never_the_best() -> None:
    def cost(plan: Plan) -> float:
        rows = float(plan.schedule.to_json()["mr"])
        return rows if rows > 1 else math.inf

    found = search.search(point(), FakeRace(cost))
    assert found.schedule.to_json()["mr"] == 2


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (SPEC, "x86-64-v3"),
        (Matmul(m=3, n=50, k=64, dtype=DType.F32, layout=Layout.NT), "x86-64-v3"),
        (Matmul(m=40, n=50, k=64, dtype=DType.BF16, layout=Layout.TN), "x86-64-v4+bf16"),
        (softmax_of(3, 70, dtype=DType.F32), "x86-64-v3"),
        (relu_of((1000,), dtype=DType.BF16), "x86-64-v3"),
        (Matmul(m=64, n=64, k=64), "sm_80"),
        (Matmul(m=64, n=64, k=64), "vulkan1.3"),
    ],
    ids=lambda each: getattr(each, "key", each),
)
def test_every_plan_has_neighbours(spec: Spec, name: str) -> None:
    here = pipeline.plan(spec, targets.find(name))
    found = local_search.distinct_neighbours(here)
    plans = search.planned(spec, here.target, [here.schedule, *found])
    assert len(plans) > 1 and here.schedule not in found
    assert len(found) == len(set(found))
    assert all(each.origin is ScheduleOrigin.TUNED for each in found)


def test_a_result_is_a_row_that_builds_take(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    (made,) = tuner_of(path, FakeRace()).tune([SPEC])
    assert made.found is not None and made.how is How.MODEL
    own = read(path)
    found = choose(SPEC, TARGET, own)
    assert found.how is How.MEASURED and found.schedule == made.schedule
    assert found.taken is not None
    assert found.taken.row.gain == pytest.approx(made.found.over_model, rel=0.01)
    assert found.taken.row.seconds == pytest.approx(1.0)
    source = found.taken.source
    assert source.kind == "measured" and source.commit and source.day and source.machine
    assert source.conditions.count(";") == 3


def test_a_kernel_without_a_faster_schedule_has_a_row_too(tmp_path: Path) -> None:
    """A second search then measures nothing."""
    path, race = tmp_path / "own.toml", FakeRace(lambda plan: 1.0)
    (made,) = tuner_of(path, race).tune([SPEC])
    assert made.found is not None and not made.found.is_better
    assert choose(SPEC, TARGET, read(path)).how is How.MEASURED
    (again,) = tuner_of(path, again_race := FakeRace()).tune([SPEC])
    assert again.found is None and not again_race.races
    assert again.schedule == dataclasses.replace(made.schedule, origin=ScheduleOrigin.TUNED)


def test_an_interrupted_search_continues(tmp_path: Path) -> None:
    specs = [Matmul(m=64, n=64, k=k, dtype=DType.F32) for k in (32, 64, 96)]
    path = tmp_path / "own.toml"

    class Stopped(FakeRace):
        def __call__(self, plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
            if plans[0].spec == specs[1]:
                raise KeyboardInterrupt
            return super().__call__(plans, condition)

    with pytest.raises(KeyboardInterrupt):
        tuner_of(path, Stopped()).tune(specs)
    race = FakeRace()
    made = tuner_of(path, race).tune(specs)
    assert [each.found is None for each in made] == [True, False, False]
    assert {plans[0].spec for plans, _ in race.races} == set(specs[1:])


def test_a_limit_of_time_leaves_kernels_for_later(tmp_path: Path) -> None:
    specs = [Matmul(m=64, n=64, k=k, dtype=DType.F32) for k in (32, 64, 96)]
    path = tmp_path / "own.toml"
    tuner = tuner_of(path, FakeRace(), FakeClock(60.0))
    tuner.limit(2)
    assert len(tuner.tune(specs)) == 2
    tuner = tuner_of(path, FakeRace())
    assert [each.found is None for each in tuner.tune(specs)] == [True, True, False]


def test_an_exported_row_is_measured_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    file = TuningFile.opened(path, CORE)
    exported = TuningSource(kind=EXPORTED, machine="m", day="d", commit="c")
    name, sizes = class_of(SPEC, TARGET), sizes_of(SPEC)
    file.add(name, sizes, FAMILY.choose(SPEC, TARGET), exported, gain=None)
    file.save()
    (made,) = tuner_of(path, FakeRace()).tune([SPEC])
    assert made.found is not None and made.how is How.MODEL
    (row,) = read(path).rows(name)
    assert row.fields["mr"] == 1 and row.gain is not None
    assert [source.kind for source in read(path).sources.values()] == ["measured"]


def test_a_device_must_run_the_target(tmp_path: Path) -> None:
    tuner = tuner_of(tmp_path / "own.toml", FakeRace(), target=targets.find("sm_80"))
    tuner.race = None
    with pytest.raises(TargetError, match=r"target=sm_80: its kernels run on cuda, not on cpu"):
        tuner.tune([SPEC])
    other = next(n for n in ("aarch64-neon", "x86-64-v3") if targets.find(n).arch != machine())
    tuner = tuner_of(tmp_path / "own.toml", FakeRace(), target=targets.find(other))
    tuner.race = None
    with pytest.raises(TargetError, match=rf"target={other}: kgen tune measures .* take native"):
        tuner.tune([SPEC])


def machine() -> str:
    import platform

    return platform.machine()
