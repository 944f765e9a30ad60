"""What two cores do at once, half of the work each, against what one does alone.

They share the last cache, the memory and the clock's budget, and those of a virtual machine may for
seconds be two threads of one core: no kernel that is shared between two threads gains more.
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
#: What two cores gain on arithmetic while they are two, how many rounds of those are enough, and
#: for how many seconds more of them are waited for.
CORES, ENOUGH, PATIENCE = 1.85, 3, 45.0

Place = Callable[[Run], Run]


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
def places() -> Iterator[tuple[Place, Place, Place]]:
    """What makes a run one on the first core, on the second, and on either of them: those of a
    virtual machine may differ in speed, by what other machines do on them."""
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
    """As many rounds in which the cores were two, taken until there are, or until PATIENCE is over:
    None if there are not ENOUGH of them by then. What two cores gain beside the kernel, in each
    round by its times, decides which those are, and the kernel's own times nothing."""
    end = time.perf_counter() + PATIENCE
    kept: list[tuple[float, ...]] = []
    while len(kept) < rounds:
        kept += [found for found in zip(*take(), strict=True) if min(gains(found)) >= CORES]
        if time.perf_counter() > end:
            break
    if len(kept) < min(rounds, ENOUGH):
        return None
    return [list(times) for times in zip(*kept, strict=True)]


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
