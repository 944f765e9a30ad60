"""Timing: interleaving, medians, time limits, and whether the machine was quiet."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kgen.check.bench import timing


def test_medians_are_taken_over_interleaved_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    cost = {"kernel": 0.5, "peer": 2.0}

    def timed(run: Callable[[], object], count: int) -> float:
        name = str(run())
        order.append(name)
        return cost[name] * count

    monkeypatch.setattr(timing, "timed", timed)
    medians = timing.interleaved([lambda: "kernel", lambda: "peer"], rounds=3)
    assert medians == [0.5, 2.0]
    # Every other round goes backwards.
    assert order[2:] == ["kernel", "peer", "peer", "kernel", "kernel", "peer"]


def test_an_untimed_call_comes_before_each_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def timed(run: Callable[[], object], count: int) -> float:
        events.append("timed")
        return float(count)

    monkeypatch.setattr(timing, "timed", timed)
    timing.samples([lambda: events.append("run")], rounds=2)
    assert events == ["run", "timed"] * 3  # The first pair finds out how often to repeat.


def test_a_rest_and_calls_that_wake_the_threads_come_before_each_timing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[object] = []

    def timed(run: Callable[[], object], count: int) -> float:
        events.append("timed")
        return float(count)

    monkeypatch.setattr(timing, "timed", timed)
    monkeypatch.setattr("time.sleep", events.append)
    found = timing.samples([lambda: events.append("run")], rounds=2, rest=30.0)
    assert events == ["run", "timed", *(30.0, "run", "run", "timed") * 2]
    assert found == [[1.0, 1.0]]


def test_rests_count_for_no_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    monkeypatch.setattr(timing, "timed", lambda run, count: count)
    assert len(timing.samples([lambda: None], 20, 1.0, rest=0.5)[0]) == 20


def test_a_limit_of_time_leaves_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "timed", lambda run, count: count)
    found = timing.samples([lambda: None], rounds=50, limit=0)
    assert found == [[1.0] * timing.LEAST_ROUNDS]


def test_times_are_taken_again_until_they_are_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = [[[1.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [3.0, 3.0]], [[1.0, 1.0], [4.0, 4.0]]]
    waiting = iter(taken)
    monkeypatch.setattr(timing, "samples", lambda *_, **__: next(waiting))
    monkeypatch.setattr(timing, "others_seconds", lambda: 0.0)
    assert timing.quiet_samples([], 2, 1.0).times == taken[1]
    waiting = iter(taken)
    assert timing.quiet_samples([], 2, 1.0, unrest=lambda times: 5 - times[1][0]).times == taken[2]
    # Others take more of a core with each attempt: the first is the calmest of them.
    busy = iter([0.0, 10.0, 10.0, 30.0, 30.0, 60.0])
    clock = iter(range(6))
    waiting = iter([taken[1], taken[2], taken[1]])
    monkeypatch.setattr(timing, "others_seconds", lambda: next(busy))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    assert timing.quiet_samples([], 2, 1.0).times == taken[1]
    assert next(waiting, None) is None


def test_the_time_of_others_is_that_of_all_but_this_process() -> None:
    before, end = timing.others_seconds(), time.process_time() + 0.2
    while time.process_time() < end:
        pass
    if timing.STAT.exists():
        assert 0 < before <= timing.others_seconds() + 0.05


def test_what_disturbed_the_times_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result has the cores that other processes used, and the difference of two halves of
    the rounds."""
    times = [[1.0, 1.0], [1.0, 2.0]]
    monkeypatch.setattr(timing, "samples", lambda *_, **__: times)
    busy = iter([0.0, 1.0])
    clock = iter([0.0, 4.0])
    monkeypatch.setattr(timing, "others_seconds", lambda: next(busy))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    taken = timing.quiet_samples([], 2, attempts=1)
    assert (taken.load, taken.noise) == (0.25, 0.5)


def test_half_of_the_values_lie_between_the_quartiles() -> None:
    assert timing.quartiles([5.0, 1.0, 3.0, 2.0, 4.0]) == (2.0, 4.0)
    assert timing.quartiles([7.0]) == (7.0, 7.0)
