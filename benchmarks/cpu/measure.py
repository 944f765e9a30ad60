"""Measurement of a table: kernels built for this CPU, timed in turn with the libraries."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

import kgen
import kgen_runtime
from benchmarks import suite
from benchmarks.cpu import attention, calls, two_cores
from benchmarks.cpu.tables import Table
from benchmarks.results import Peer, Row, Timing
from kgen.bundle import Bundle
from kgen.check.bench import run as bench
from kgen.check.bench import timing
from kgen.check.verify import inputs
from kgen.spec import Attention, Conv2d, Matmul, Spec, text

#: Seconds after which no further round of a kernel starts.
LIMIT = 2.0


def measure(table: Table, rounds: int, known: Callable[[str], bool]) -> Iterator[Row]:
    """Yield the rows of a table that are not known yet."""
    if not table.specs:
        rows = {"calls": calls.rows, "cores": two_cores.rows}[table.name](rounds)
        yield from (row for row in rows if not known(row.work))
        return
    timed = _two_threads if table.name == "threads" else _against
    with tempfile.TemporaryDirectory() as folder:
        for spec in table.specs:
            if not known(text.form(spec)):
                path = _built(spec).save(Path(folder) / "kernel.kgen")
                yield timed(spec, path, table, rounds)


def _built(spec: Spec) -> Bundle:
    """Build a kernel; Winograd's transforms need the weights."""
    if not isinstance(spec, Conv2d) or spec.transforms is None:
        return kgen.build(spec, targets=["native"])
    shape = spec.outputs, math.prod(spec.weights[1:])
    weights = np.random.default_rng(0).standard_normal(shape, np.float32)
    return kgen.build(spec, targets=["native"], constants={"b": weights})


def _against(spec: Spec, path: Path, table: Table, rounds: int) -> Row:
    """Time a kernel against the libraries, all with the same number of threads."""
    if isinstance(spec, Attention):
        return attention.measure(spec, path, table.name, table.threads, rounds)
    report = bench.bench(
        path,
        device="cpu",
        num_threads=table.threads,
        against=table.beside(spec),
        rounds=rounds,
        limit=LIMIT,
        is_cold=table.is_cold,
    )
    (result,) = report.kernels
    variant = {"caches": "cold" if table.is_cold else "warm", "threads": table.threads}
    return suite.timed(result, table.name, text.form(spec), variant)


def _two_threads(spec: Spec, path: Path, table: Table, rounds: int) -> Row:
    """Time a kernel in two threads against the same kernel in one, on the same data.

    The second core's gain on arithmetic, and on reading if that may limit the kernel, is measured
    in the same rounds. The single thread runs on each of the cores in turn. Rounds without a useful
    second core are dropped.
    """
    assert isinstance(spec, Matmul)
    one_thread, two_cores_name, *reading = table.beside(spec)
    with (
        kgen_runtime.load(path, device="cpu", num_threads=1) as one,
        kgen_runtime.load(path, device="cpu", num_threads=2) as two,
        two_cores.alone_and_both() as (alone, both),
        two_cores.places() as (first, second, either),
        ExitStack() as stack,
    ):
        read = [stack.enter_context(two_cores.alone_and_both("read", spec))[-1] for _ in reading]
        (entry,) = (kernel.entry for kernel in one.values())
        data = next(iter(inputs.data_sets(entry, 0))).buffers
        out = inputs.output_buffers(entry, data)
        double, single = (
            bench.caller(kernels, next(iter(kernels.values())), data, out) for kernels in (two, one)
        )
        runs = [
            *(first(alone), either(both)),
            *(either(double), first(single), second(single)),
            *(either(both), second(alone)),
            *map(either, read),
        ]
        taken = two_cores.while_two(partial(timing.samples, runs, rounds, LIMIT), rounds, _gains)
    variant = {"threads": 2}
    if taken is None:
        reason = f"two cores did less than {two_cores.CORES} times as much as one"
        peers = {one_thread: Peer(missing=reason)}
        return Row(table=table.name, work=text.form(spec), variant=variant, peers=peers)
    shared, *singly = taken[2:5]
    # A kernel of one task is the same call either way.
    if all(launch.grid[0] == 1 for launch in entry.launches):
        singly = [shared]
    alone_seconds = [statistics.fmean(times) for times in zip(*singly, strict=True)]
    ratio = _median_ratio(alone_seconds, shared)
    gain = statistics.median(statistics.fmean(_gains(times)) for times in zip(*taken, strict=True))
    noise = timing.ratio_noise(shared, alone_seconds)
    return Row(
        table=table.name,
        work=text.form(spec),
        variant=variant,
        time=Timing.of(shared),
        peers={
            one_thread: Peer(time=Timing.of(alone_seconds), ratio=ratio, noise=noise),
            two_cores_name: Peer(ratio=ratio / gain),
        }
        | {
            name: Peer(ratio=_median_ratio(taken[7], shared) / two_cores.REPEATS)
            for name in reading
        },
    )


def _gains(times: Sequence[float]) -> list[float]:
    """Return the second core's gain before and after the kernel, in a round of `_two_threads`."""
    alone, before, _, _, _, after, also_alone, *_ = times
    mean = (alone + also_alone) / 2
    return [mean / before, mean / after]


def _median_ratio(times: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median of the rounds' ratios: a disturbance slows down both times of a round."""
    return statistics.median(their / our for their, our in zip(times, ours, strict=True))
