"""Seconds of calls taken in turn, and whether the machine was quiet meanwhile.

A machine's speed drifts from second to second, so only ratios of interleaved measurements mean
anything: every round times each call once. A call that is not timed comes before each timing, so
that what the others left in the caches, or threw out of them, counts for nobody. Threads of a
library go on looking for work for some time after a call (ONNX Runtime, OpenMP): before calls that
share the cores with them comes a rest. Times are taken again while two halves of the rounds
disagree or other processes keep a core busy.
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
#: Each timing repeats the call until it takes this long, so that the clock's own cost vanishes.
SAMPLE_SECONDS = 0.02
#: Rounds that a limit of time leaves.
LEAST_ROUNDS = 5
#: Seconds until the threads of another library's call sleep, and calls until a call's own threads
#: all work again. With less of either, the threads of two libraries share the cores.
REST, WARM_UP = 0.05, 2
#: How far apart the ratios of every other round and of those between may be.
NOISE = 0.03
#: Cores that others may have taken on average while times were taken.
LOAD = 0.05
ATTEMPTS = 3
STAT = Path("/proc/stat")


@frozen
class TimingSample:
    """Times, and the disturbance they were taken under.

    `load` is the mean number of cores that other processes used. `noise` is the relative difference
    of two measurements of a ratio to the first run.
    """

    times: Times
    load: float
    noise: float

    @property
    def calm(self) -> bool:
        return self.load <= LOAD and self.noise <= NOISE


def rest_of(threads: int | None) -> float:
    """Seconds of it for calls of several libraries in so many threads each; None: of all cores."""
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
    """The first times that are calm, or the calmest of the attempts.

    `unrest` is another measure of it: above 1 the times are taken again.
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
    """Median seconds per call of each, timed in turn `rounds` times; after a warm-up."""
    return [statistics.median(found) for found in samples(runs, rounds, limit)]


def samples(
    runs: Sequence[Run], rounds: int, limit: float = math.inf, *, rest: float = 0.0
) -> Times:
    """Seconds per call of each in every round; after a warm-up.

    Every other round goes backwards: what runs before a call, and what it leaves in the caches,
    is not the same each time. `rest`: seconds of nothing before the calls of each.

    Fewer than `rounds`, but no fewer than LEAST_ROUNDS, once `limit` seconds of work are over.
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
    """A run for each way: on the set of data whose turn it is, then the next one's. Ways share the
    turn, so that none finds in a cache what another has just passed."""
    if all(len(way) == 1 for way in ways):
        return [run for way in ways for run in way]
    turns = itertools.cycle(range(len(ways[0])))
    return [partial(_next, way, turns) for way in ways]


def _next(way: Sequence[Run], turns: Iterator[int]) -> object:
    return way[next(turns)]()


def timed(run: Run, count: int) -> float:
    """Seconds that `count` calls take."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return time.perf_counter() - start


def ratio_noise(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How far apart two measurements of a ratio are, relatively: by every other round, and by those
    between them. One round alone has no noise that could be seen."""
    if len(ours) < 2:
        return 0.0
    even, odd = (statistics.median(theirs[i::2]) / statistics.median(ours[i::2]) for i in (0, 1))
    return abs(even / odd - 1)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third: half of the values lie between them."""
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, method="inclusive")
    return first, third


def others_seconds() -> float:
    """Processor seconds of all processes but this one and its ended children since the machine was
    started, those included that the hypervisor gave to other machines; 0 where the system does not
    tell (proc(5), /proc/stat)."""
    if not STAT.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, STAT.read_text().splitlines()[0].split()[1:]
    )
    own = os.times()
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - sum(own[:4])  # user, system and those of the children
