"""Timing of interleaved calls, repeated until the machine is quiet.

The speed of a machine drifts from second to second, so only ratios of interleaved measurements are
meaningful: every round times each call once. An untimed call precedes each timing, so that the
cache contents that other calls leave do not count. Threads of libraries spin for a while after a
call (ONNX Runtime, OpenMP), so calls that share cores with them start after a rest. All times are
taken again while two halves of the rounds disagree, or other processes keep a core busy.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from kgen_runtime.values import frozen

Run = Callable[[], object]
#: Seconds per call of each run in every round.
Times = list[list[float]]

ROUNDS = 15
#: Seconds that a timing lasts by repeating the call, so that the clock's overhead is negligible.
SAMPLE_SECONDS = 0.02
#: Least rounds, whatever the time limit.
LEAST_ROUNDS = 5
#: Seconds until the threads of a library sleep after a call, and calls until a call's own threads
#: are all active again. With less of either, the threads of two libraries compete for cores.
REST, WARM_UP = 0.05, 2
#: Largest relative difference between the ratios of even and of odd rounds.
NOISE = 0.03
#: Largest average number of cores that other processes may use during a timing.
LOAD = 0.05
ATTEMPTS = 3
STAT = Path("/proc/stat")


@frozen
class TimingSample:
    """Times, and the disturbance during their measurement.

    `load` is the mean number of cores that other processes used. `noise` is the relative difference
    of two measurements of a ratio to the first run.
    """

    times: Times
    load: float
    noise: float


def rest_of(threads: int | None) -> float:
    """Return the rest in seconds before calls of several libraries in this number of threads.

    None stands for all cores.
    """
    return 0.0 if threads == 1 else REST


def quiet_samples(
    runs: Sequence[Run],
    rounds: int = ROUNDS,
    limit: float = math.inf,
    *,
    rest: float = 0.0,
    attempts: int = ATTEMPTS,
    unrest: Callable[[Times], float] = lambda _: 0.0,
) -> TimingSample:
    """Take `samples` again until the machine is quiet."""
    take = partial(samples, runs, rounds, limit, rest=rest)
    return quiet(take, attempts=attempts, unrest=unrest)


def quiet(
    take: Callable[[], Times],
    *,
    attempts: int = ATTEMPTS,
    unrest: Callable[[Times], float] = lambda _: 0.0,
) -> TimingSample:
    """Return the first quiet times, or the quietest of several attempts.

    `unrest` is a further measure: above 1 the times are taken again.
    """
    found = []
    for _ in range(attempts):
        start, others = time.perf_counter(), others_seconds()
        times = take()
        load = max(0.0, others_seconds() - others) / (time.perf_counter() - start)
        noise = max((ratio_noise(times[0], other) for other in times[1:]), default=0.0)
        taken = TimingSample(times=times, load=load, noise=noise)
        found.append((max(load / LOAD, noise / NOISE, unrest(times)), taken))
        if found[-1][0] <= 1:
            break
    return min(found, key=lambda item: item[0])[1]


def interleaved(runs: Sequence[Run], rounds: int, limit: float = math.inf) -> list[float]:
    """Return the median seconds per call of each run, timed in turn after a warm-up."""
    return [statistics.median(found) for found in samples(runs, rounds, limit)]


def samples(
    runs: Sequence[Run], rounds: int, limit: float = math.inf, *, rest: float = 0.0
) -> Times:
    """Return the seconds per call of each run in every round, after a warm-up.

    Every other round goes backwards, so that the cache contents before a call vary. `rest` is a
    pause in seconds before the calls of each run. Once `limit` seconds of work are over, the rounds
    stop after at least LEAST_ROUNDS.
    """
    deadline = time.perf_counter() + limit
    repeats = []
    for run in runs:
        run()
        repeats.append(max(1, int(SAMPLE_SECONDS / max(timed(run, 1), 1e-9))))
    seconds: Times = [[] for _ in runs]
    for done in range(rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() > deadline:
            break
        turn = list(zip(runs, repeats, seconds, strict=True))
        for run, count, found in reversed(turn) if done % 2 else turn:
            time.sleep(rest)
            deadline += rest
            for _ in range(WARM_UP if rest else 1):
                run()
            found.append(timed(run, count) / count)
    return seconds


def in_turn(ways: Sequence[Sequence[Run]]) -> list[Run]:
    """Return one run per way, which takes the next set of data at each call.

    All ways share the sequence of sets, so that none finds the previous way's data in a cache.
    """
    if all(len(way) == 1 for way in ways):
        return [run for way in ways for run in way]
    turns = itertools.cycle(range(len(ways[0])))
    return [partial(_next, way, turns) for way in ways]


def _next(way: Sequence[Run], turns: Iterator[int]) -> object:
    return way[next(turns)]()


def timed(run: Run, count: int) -> float:
    """Return the seconds that `count` calls take."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return time.perf_counter() - start


def ratio_noise(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the relative difference of a ratio between even and odd rounds.

    The difference of a single round is 0.
    """
    if len(ours) < 2:
        return 0.0
    even, odd = (statistics.median(theirs[i::2]) / statistics.median(ours[i::2]) for i in (0, 1))
    return abs(even / odd - 1)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile."""
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, method="inclusive")
    return first, third


def others_seconds() -> float:
    """Return the CPU seconds of all other processes since the machine started.

    The time includes what the hypervisor gave to other machines. The result is 0 where the system
    does not tell (proc(5), /proc/stat).
    """
    if not STAT.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, STAT.read_text().splitlines()[0].split()[1:]
    )
    own = os.times()
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - sum(own[:4])  # User and system time, also of ended children.
