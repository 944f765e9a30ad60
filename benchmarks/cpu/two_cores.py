"""Gain of a second core: two cores with half of the work each, against one core with all of it.

Cores share L3, memory and the power budget, and the two cores of a virtual machine may temporarily
be two threads of one core. So this gain is the ceiling of a kernel's gain from a second thread.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import kgen
from benchmarks.results import Peer, Row, Timing
from kgen.check.bench import timing
from kgen.check.bench.timing import Run, Times
from kgen.check.peers import ceilings
from kgen.check.peers.peer import Peer as Work
from kgen.spec import DType, Matmul
from kgen_runtime.backends.cpu.backend import device_info

ONE = "one core"
#: GEMMs that are limited by arithmetic, and by reading.
ARITHMETIC = Matmul(m=512, n=512, k=512, dtype=DType.F32)
READING = tuple(Matmul(m=1, n=4096, k=4096, dtype=dtype) for dtype in (DType.F32, DType.BF16))
#: Runs per timing, so that handing work to a thread takes a negligible part of it.
REPEATS = 10
LIMIT = 2.0
#: A round counts if the second core's gain is at least CORES. If the seconds of PATIENCE are over,
#: ENOUGH such rounds suffice.
CORES, ENOUGH, PATIENCE = 1.85, 3, 45.0

Place = Callable[[Run], Run]


def rows(rounds: int) -> list[Row]:
    """Return rows for arithmetic and for reading: the time of one core over that of two."""
    return [_row("peak", ARITHMETIC, rounds), *(_row("read", spec, rounds) for spec in READING)]


def _row(name: str, spec: Matmul, rounds: int) -> Row:
    with alone_and_both(name, spec) as runs:
        alone, both = timing.quiet_samples(runs, rounds, LIMIT).times
    what = "multiply-adds" if name == "peak" else f"reading {spec.k}x{spec.n}"
    times = [Timing.of([t / REPEATS for t in taken]) for taken in (alone, both)]
    return Row(
        table="cores",
        work=f"{what} of {spec.dtype}",
        variant={"threads": 2},
        time=times[1],
        peers={ONE: Peer(time=times[0], ratio=gain([alone, both]))},
    )


@contextmanager
def alone_and_both(name: str = "peak", spec: Matmul = ARITHMETIC) -> Iterator[list[Run]]:
    """Yield two runs: all of a ceiling's work in this thread, and half of it in each of two."""
    whole, mine, theirs = _reading(spec) if name == "read" else _arithmetic(spec)
    with ThreadPoolExecutor(1) as other:

        def both() -> None:
            running = other.submit(_often, theirs)
            _often(mine)
            running.result()

        yield [lambda: _often(whole), both]


def gain(taken: Sequence[Sequence[float]]) -> float:
    """Return the time of one core over that of two."""
    alone, both = map(statistics.median, taken)
    return alone / both


@contextmanager
def places() -> Iterator[tuple[Place, Place, Place]]:
    """Yield functions that pin a run to the first core, to the second, and to either.

    Cores of a virtual machine may differ in speed, because other machines use them too.
    """
    every = frozenset(os.sched_getaffinity(0))
    now = every

    def place(on: frozenset[int], run: Run) -> Run:
        def run_there() -> None:
            nonlocal now
            if now != on:
                os.sched_setaffinity(0, on)
                now = on
            run()

        return run_there

    first, *others = (frozenset({core}) for core in sorted(every))
    second = others[0] if others else first
    try:
        yield partial(place, first), partial(place, second), partial(place, every)
    finally:
        os.sched_setaffinity(0, every)


def while_two(
    take: Callable[[], Times], rounds: int, gains: Callable[[Sequence[float]], Iterable[float]]
) -> Times | None:
    """Measure until `rounds` rounds had a second core, or PATIENCE is over; return their times.

    `gains` returns the second core's gains in a round, which do not depend on the kernel's own
    times. Return None if there are fewer than ENOUGH rounds.
    """
    end = time.perf_counter() + PATIENCE
    kept: list[tuple[float, ...]] = []
    while len(kept) < rounds:
        kept += [found for found in zip(*take(), strict=True) if min(gains(found)) >= CORES]
        if time.perf_counter() > end:
            break
    if len(kept) < min(rounds, ENOUGH):
        return None
    return [list(times) for times in zip(*kept, strict=True)]


def _reading(spec: Matmul) -> Iterable[Work]:
    return ceilings.read_whole_and_halves(spec.k * spec.n * spec.dtype.itemsize)


def _arithmetic(spec: Matmul) -> Iterable[Work]:
    half = dataclasses.replace(spec, n=spec.n // 2)
    for part in (spec, half, half):
        entry = kgen.build(part, targets=["native"]).manifest.kernels[0]
        yield ceilings.peak(entry, {}, device_info())


def _often(work: Work) -> None:
    for _ in range(REPEATS):
        work.run()
