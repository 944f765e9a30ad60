"""kgen build --tune: the search, its file, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import kgen
from kgen import bundle, pipeline, render
from kgen.check.bench import cold, tune
from kgen.check.bench.tune import Tuner
from kgen.cli.main import main
from kgen.errors import TargetError
from kgen.schedule import (
    AheadMatmul,
    BlockedMatmul,
    CpuSplitMatmul,
    CpuStream,
    OuterMatmul,
    ScheduleOrigin,
)
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets import find
from kgen.targets.base import Plan
from kgen.targets.cpu.schedule.neighbours import neighbours, other_ways
from tests.specs import relu_of, softmax_of

SPEC = Matmul(m=64, n=64, k=64, dtype=DType.F32)


def plan(spec: Spec = SPEC, name: str = "native") -> Plan:
    return pipeline.plan(spec, find(name))


@pytest.fixture
def fast_mr_is_1(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Plans are not run: fewer rows to a tile are faster. Counts the steps."""
    steps: list[int] = []
    step = tune.step

    def counted(p: Plan, report: tune.Report, **how: bool) -> tuple[Plan, float]:
        steps.append(p.schedule.to_json()["mr"])
        return step(p, report, **how)

    def race(plans: list[Plan], _: object) -> list[float]:
        return [float(p.schedule.to_json()["mr"]) for p in plans]

    monkeypatch.setattr(tune, "prepared", lambda p, _: [p])
    monkeypatch.setattr(tune, "race", race)
    monkeypatch.setattr(tune, "step", counted)
    return steps


def test_a_search_goes_on_to_the_best_and_is_remembered(
    fast_mr_is_1: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "tuned.json"
    shown = list[str]()
    tuner = Tuner(path=path, progress=shown.append)
    found = tuner(plan()).schedule
    assert isinstance(found, BlockedMatmul)
    assert (found.mr, found.origin) == (1, ScheduleOrigin.TUNED)
    steps = len(fast_mr_is_1)
    assert steps > 1
    # A tile of so many rows has taken as many times the time of mr = 1, with the fake clock.
    begun = plan().schedule
    assert isinstance(begun, BlockedMatmul)
    assert tuner.found == [tune.Found(kernel=SPEC.key, steps=steps, gain=float(begun.mr))]
    assert shown[0] == f"tuning {SPEC.key}, step 1 of at most 8 [{'-' * tune.BAR}]"
    assert "#" in shown[-1] and len({len(line) for line in shown}) == 1
    assert Tuner(path=path)(plan()).schedule == found
    assert len(fast_mr_is_1) == steps
    # Another shape is another search.
    Tuner(path=path)(plan(Matmul(m=64, n=64, k=32, dtype=DType.F32)))
    assert len(fast_mr_is_1) > steps
    assert len(json.loads(path.read_text())) == 2


def test_what_was_found_holds_for_this_cpu_and_these_templates(
    fast_mr_is_1: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be shipped to another CPU, and outlive a template."""
    path = tmp_path / "tuned.json"
    Tuner(path=path)(plan())
    for module, name, value in (
        (tune, "cpu_name", "another CPU"),
        (render, "template_digest", "d" * 64),
    ):
        steps = len(fast_mr_is_1)
        monkeypatch.setattr(module, name, lambda value=value: value)
        Tuner(path=path)(plan())
        assert len(fast_mr_is_1) > steps, name
    assert len(json.loads(path.read_text())) == 3


def test_a_search_that_was_stopped_goes_on(
    fast_mr_is_1: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Tuner(path=tmp_path / "whole.json")(plan())
    steps = len(fast_mr_is_1)
    path = tmp_path / "tuned.json"
    step, taken = tune.step, list[Plan]()

    def stopped(p: Plan, report: tune.Report, **how: bool) -> tuple[Plan, float]:
        if taken:
            raise KeyboardInterrupt
        taken.append(p)
        return step(p, report, **how)

    monkeypatch.setattr(tune, "step", stopped)
    with pytest.raises(KeyboardInterrupt):
        Tuner(path=path)(plan())
    monkeypatch.setattr(tune, "step", step)
    fast_mr_is_1.clear()
    assert Tuner(path=path)(plan()).schedule == whole.schedule
    assert len(fast_mr_is_1) == steps - 1


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        Matmul(m=3, n=50, k=64, dtype=DType.F32, layout=Layout.NT),
        Matmul(m=40, n=50, k=64, dtype=DType.BF16, layout=Layout.TN),
        softmax_of(3, 70, dtype=DType.F32),
        relu_of((1000,), dtype=DType.BF16),
    ],
    ids=lambda spec: spec.key,
)
def test_every_plan_has_neighbours(spec: Spec) -> None:
    """Others than itself, and none twice in what is measured."""
    here = plan(spec)
    found = tune.neighbours_that_differ(here)
    assert found and here.schedule not in found
    assert len(found) == len(set(found)) <= len(list(neighbours(here)))
    assert all(type(s) is type(here.schedule) and s.origin is ScheduleOrigin.TUNED for s in found)


def test_tuning_finds_how_far_ahead_is_fetched() -> None:
    """Half and twice as far, into the other cache; in whole rows of B where it lies in rows."""
    target = dataclasses.replace(find("x86-64-v4"), device="Zen 5")
    here = pipeline.plan(Matmul(m=8, n=2304, k=768, dtype=DType.F32), target)
    assert isinstance(here.schedule, AheadMatmul)
    found = {s for s in tune.neighbours_that_differ(here) if isinstance(s, AheadMatmul)}
    assert {s.ahead // (2304 * 4) for s in found} == {24, 48, 96}
    assert {s.level for s in found} == {1, 2}
    unfetched = pipeline.plan(Matmul(m=2, n=2304, k=768, dtype=DType.F32), target)
    assert isinstance(unfetched.schedule, OuterMatmul) and unfetched.schedule.prefetch == 0
    others = (s for s in tune.neighbours_that_differ(unfetched) if isinstance(s, OuterMatmul))
    assert {s.prefetch for s in others} == {0, 1}


def test_a_search_begins_with_other_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another main loop may be found, and is read back."""
    begun = plan(Matmul(m=2, n=1024, k=1024, dtype=DType.F32), "x86-64-v3")
    assert begun.schedule.mainloop == "outer"
    ways = list(other_ways(begun))
    assert {s.mainloop for s in ways} == {"blis", "ahead"} and len({s.line for s in ways}) > 4
    monkeypatch.setattr(tune, "check_runs_here", lambda target: None)
    monkeypatch.setattr(tune, "prepared", lambda p, _: [p])

    def race(plans: list[Plan], _: object) -> list[float]:
        return [1 + (p.schedule.mainloop == "outer") for p in plans]

    monkeypatch.setattr(tune, "race", race)
    path = tmp_path / "tuned.json"
    found = Tuner(path=path)(begun).schedule
    assert isinstance(found, BlockedMatmul) and found.mainloop != "outer"
    assert Tuner(path=path)(begun).schedule == found


def test_the_place_in_a_race_is_no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal kernels of which the first is always found slower: none is better than the plan."""
    raced: list[list[Plan]] = []

    def race(plans: list[Plan], _: object) -> list[float]:
        raced.append(plans)
        return [2.0, *[1.0] * (len(plans) - 1)]

    monkeypatch.setattr(tune, "prepared", lambda p, _: [p])
    monkeypatch.setattr(tune, "race", race)
    here = plan()
    assert tune.step(here) == (here, 1.0)
    every, again = raced
    assert every[0] is here and again == [every[1], here]


def test_calls_on_one_set_are_made_together() -> None:
    """Then no kernel's calls lie closer together than another's, which is faster to call."""
    made: list[str] = []

    def way(name: str) -> Iterator[tune.Call]:
        for i in range(3):
            made.append(f"{name}{i}")
            yield partial(made.append, name)

    ways = tune.set_by_set([way("a"), way("b")])
    assert made == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert [len(each) for each in ways] == [3, 3]
    ways[1][0]()
    assert made[-1] == "b"


@pytest.mark.integration
def test_kernels_of_a_race_share_what_they_read() -> None:
    """With a B of their own each, they would read it from memory."""
    here = plan()
    buffers = tune.Buffers()
    for call in tune.prepared(here, [buffers]):
        call()
    known = dict(buffers.known)
    for call in tune.prepared(here, [buffers]):
        call()
    assert known and buffers.known == known


def test_cold_kernels_take_the_next_set_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as no cache keeps; what was found so is not what was found on one set."""
    asked: list[int] = []
    taken: list[tuple[str, int]] = []

    def sets_of(nbytes: int) -> int:
        asked.append(nbytes)
        return 3

    def prepared(p: Plan, sets: list[tune.Buffers]) -> list[tune.Call]:
        return [partial(taken.append, (p.schedule.line, i)) for i in range(len(sets))]

    def race(calls: list[tune.Call], _: object) -> list[float]:
        for call in calls:
            call()
        return [1.0] * len(calls)

    monkeypatch.setattr(cold, "sets_of", sets_of)
    monkeypatch.setattr(tune, "prepared", prepared)
    monkeypatch.setattr(tune, "race", race)
    path = tmp_path / "tuned.json"
    Tuner(path=path, is_cold=True)(plan())
    assert asked == [3 * 64 * 64 * 4]
    assert [i for _, i in taken] == [i % 3 for i in range(len(taken))]
    assert len({line for line, _ in taken}) == len(taken) > 3
    Tuner(path=path)(plan())
    assert len(asked) == 1 and len(json.loads(path.read_text())) == 2


@pytest.mark.integration
def test_a_kernel_with_a_workspace_is_run() -> None:
    """Split-k adds up its slices in one."""
    begun = plan(Matmul(m=4, n=64, k=64, dtype=DType.F32))
    assert isinstance(begun.schedule, BlockedMatmul)
    blocks = {n: getattr(begun.schedule, n) for n in ("mr", "nr", "pack_a", "pack_b")}
    whole = CpuSplitMatmul(**blocks, mc=4 * begun.schedule.mr, nc=64, kc=16, split_k=2)
    split = pipeline.plan(begun.spec, begun.target, whole)
    assert (
        bundle.pack([pipeline.kernel(split.spec, split.target, whole)])
        .manifest.kernels[0]
        .workspaces
    )
    for call in tune.prepared(split, [tune.Buffers()]):
        call()


def test_a_race_takes_the_least_time() -> None:
    calls = []

    def slow() -> None:
        calls.append(sum(range(20000)))

    seconds = tune.race([slow, lambda: None])
    assert seconds[0] > seconds[1] > 0
    assert len(calls) >= tune.ROUNDS


@pytest.mark.integration
def test_the_choice_stands_in_the_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, cache = tmp_path / "k.kgen", tmp_path / "tuned.json"
    shape = ["--op", "relu", "--shape", "70", "--dtype", "f32", "--target", "native"]
    command = ["build", *shape, "--tune", "--tune-cache", str(cache), "-o", str(path), "--json"]
    assert main(command) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["schedule"]["origin"] == "tuned"
    assert len(json.loads(cache.read_text())) == 1
    assert isinstance(plan(relu_of((70,), dtype=DType.F32)).schedule, CpuStream)


def test_what_cannot_be_tuned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"target=sm_80: --tune measures CPU kernels"):
        kgen.build(SPEC, targets=["sm_80"], tune=Tuner(path=tmp_path / "t"))
    other = "aarch64-neon" if platform.machine() == "x86_64" else "x86-64-v3"
    with pytest.raises(TargetError, match=rf"target={other}: --tune .* this CPU, which .* native"):
        kgen.build(SPEC, targets=[other], tune=Tuner(path=tmp_path / "t"))
    for path in (Path("/dev/null"), tmp_path):
        with pytest.raises(TargetError, match=rf"{path} is a device or folder, not a plain file"):
            kgen.build(SPEC, targets=["native"], tune=Tuner(path=path))
    key = tune.cache_key(plan())
    for text in ("no json", "[]", '{"x": 1}', json.dumps({key: {"schedule": {"mr": 0}}})):
        (tmp_path / "t").write_text(text)
        with pytest.raises(TargetError, match=r"is not a tuning file.*; remove it") as error:
            kgen.build(SPEC, targets=["native"], tune=Tuner(path=tmp_path / "t"))
        assert "\n" not in str(error.value)
