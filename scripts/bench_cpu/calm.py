"""Times of a calm moment: taken again while rounds disagree or other processes keep a core busy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kgen.check import bench
from kgen.check.bench import Run

#: How far apart the ratios of every other round and of those between may be.
NOISE = 0.03
#: Cores that others may have taken on average while times were taken.
LOAD = 0.05
ATTEMPTS = 3
STAT = Path("/proc/stat")

Times = list[list[float]]


def samples(
    runs: Sequence[Run],
    rounds: int,
    limit: float,
    *,
    attempts: int = ATTEMPTS,
    unrest: Callable[[Times], float] = lambda _: 0.0,
) -> Times:
    """As `bench.samples`; the calmest of the attempts if none is calm.

    `unrest` is another measure of it: above 1 the times are taken again.
    """
    found = []
    for _ in range(attempts):
        start, others = time.perf_counter(), others_seconds()
        taken = bench.samples(runs, rounds, limit)
        load = (others_seconds() - others) / (time.perf_counter() - start)
        noise = max((bench.ratio_noise(taken[0], other) for other in taken[1:]), default=0.0)
        found.append((max(load / LOAD, noise / NOISE, unrest(taken)), taken))
        if found[-1][0] <= 1:
            break
    return min(found, key=lambda item: item[0])[1]


def others_seconds() -> float:
    """Processor seconds of all other processes since the machine was started, those included that
    the hypervisor gave to other machines; 0 where the system does not tell (proc(5), /proc/stat).
    """
    if not STAT.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, STAT.read_text().splitlines()[0].split()[1:]
    )
    own = os.times()
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - own.user - own.system
