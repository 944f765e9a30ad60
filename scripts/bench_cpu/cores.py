"""What two cores do at once, half of the work each, against what one does alone.

They share the last cache, the memory and the clock's budget, and those of a virtual machine may for
seconds be two threads of one core: no kernel that is shared between two threads gains more.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import kgen
from kgen.check.bench import timing
from kgen.check.bench.timing import Run, Times
from kgen.check.peers import ceilings
from kgen.check.peers.base import Peer
from kgen.spec import DType, Matmul
from kgen_runtime.backends.cpu.backend import device_info
from scripts.bench_cpu.results import Row

ONE = "one core"
#: A product whose multiply-adds take long, and those whose reading does.
ARITHMETIC = Matmul(m=512, n=512, k=512, dtype=DType.F32)
READING = tuple(Matmul(m=1, n=4096, k=4096, dtype=dtype) for dtype in (DType.F32, DType.BF16))
#: Runs of a timing, so that handing work to a thread does not count.
REPEATS = 10
LIMIT = 2.0
#: What two cores gain on arithmetic while they are two, and how many rounds of those are enough.
CORES, ENOUGH = 1.85, 3


def rows(rounds: int) -> list[Row]:
    """One for each kind of work; the ratio is how much sooner two cores are done."""
    return [_row("peak", ARITHMETIC, rounds), *(_row("read", spec, rounds) for spec in READING)]


def _row(name: str, spec: Matmul, rounds: int) -> Row:
    with alone_and_both(name, spec) as runs:
        taken = timing.quiet_samples(runs, rounds, LIMIT).times
    what = "multiply-adds" if name == "peak" else f"reading {spec.k}x{spec.n}"
    return Row(
        kernel=f"{what} of {spec.dtype}",
        seconds=statistics.median(taken[1]) / REPEATS,
        ratios={ONE: gain(taken)},
    )


@contextmanager
def alone_and_both(name: str = "peak", spec: Matmul = ARITHMETIC) -> Iterator[list[Run]]:
    """The work of a ceiling by this thread, and half of it each by this one and another."""
    whole, mine, theirs = _reading(spec) if name == "read" else _arithmetic(spec)
    with ThreadPoolExecutor(1) as other:

        def both() -> None:
            running = other.submit(_often, theirs)
            _often(mine)
            running.result()

        yield [lambda: _often(whole), both]


def gain(taken: Sequence[Sequence[float]]) -> float:
    """How much sooner both are done than one alone."""
    alone, both = map(statistics.median, taken)
    return alone / both


@contextmanager
def on_each(run: Run, others: Sequence[Run]) -> Iterator[tuple[list[Run], list[Run]]]:
    """A run of one thread on one core and on another, and the others on any: those of a virtual
    machine may differ in speed, by what other machines do on them."""
    every = frozenset(os.sched_getaffinity(0))
    now = every

    def placed(run: Run, on: frozenset[int]) -> Run:
        def run_there() -> None:
            nonlocal now
            if now is not on:
                os.sched_setaffinity(0, on)
                now = on
            run()

        return run_there

    single = [frozenset({core}) for core in sorted(every)[:2]]
    try:
        yield [placed(run, on) for on in single], [placed(other, every) for other in others]
    finally:
        os.sched_setaffinity(0, every)


def while_two(times: Times, at: int) -> Times:
    """The rounds in which both were two cores, by their times alone and together, which begin `at`
    such a place; all rounds if those are few."""
    alone, both = times[at : at + 2]
    kept = [i for i, seconds in enumerate(both) if min(alone) >= CORES * seconds]
    if len(kept) < ENOUGH:
        return times
    return [[found[i] for i in kept] for found in times]


def _reading(spec: Matmul) -> Iterable[Peer]:
    return ceilings.read_whole_and_halves(spec.k * spec.n * spec.dtype.itemsize)


def _arithmetic(spec: Matmul) -> Iterable[Peer]:
    half = dataclasses.replace(spec, n=spec.n // 2)
    for part in (spec, half, half):
        entry = kgen.build(part, targets=["native"]).manifest.kernels[0]
        yield ceilings.peak(entry, {}, device_info())


def _often(peer: Peer) -> None:
    for _ in range(REPEATS):
        peer.run()
