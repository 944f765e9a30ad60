"""One table measured: kernels built for this CPU, timed in turn with the libraries."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import kgen
import kgen_runtime
from kgen import spec as specs
from kgen.check.bench import run as bench
from kgen.check.bench import timing
from kgen.check.verify import inputs
from kgen.spec import Matmul, Spec
from scripts.bench_cpu import calls, cores
from scripts.bench_cpu.results import Row
from scripts.bench_cpu.tables import Table

#: Seconds after which no further round of a kernel is begun.
LIMIT = 2.0


def measure(table: Table, rounds: int, known: Collection[str] = ()) -> Iterator[Row]:
    """The rows of a table but those that are known, each when it is there."""
    if not table.specs:
        if not known:
            yield from {"calls": calls.rows, "cores": cores.rows}[table.name](rounds)
        return
    timed = _two_threads if table.name == "threads" else _against
    with tempfile.TemporaryDirectory() as folder:
        for spec in table.specs:
            if spec.key not in known:
                path = kgen.build(spec, targets=["native"]).save(Path(folder) / "kernel.kgen")
                yield timed(spec, path, table, rounds)


def _against(spec: Spec, path: Path, table: Table, rounds: int) -> Row:
    """Against the libraries in as many threads."""
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
    # A peer's name may be followed by what it computes in.
    timed = {peer.name.partition(" ")[0]: peer for peer in result.peers}
    return Row(
        kernel=spec.key,
        seconds=result.seconds,
        gflops=result.gflops,
        gbytes=result.gbytes,
        ratios={name: peer.ratio for name, peer in timed.items() if peer.ratio is not None},
        noise={name: peer.noise for name, peer in timed.items() if peer.noise is not None},
        missing={name: peer.reason for name, peer in timed.items() if peer.reason is not None},
    )


def _two_threads(spec: Spec, path: Path, table: Table, rounds: int) -> Row:
    """Two threads against one, of the same kernel on the same data, and against what two cores gain
    before and after it, which also read as much together where reading may take longest. One thread
    has either core in turn. Only rounds in which the cores were two count."""
    assert isinstance(spec, Matmul)
    one_thread, two_cores, *reading = table.beside(spec)
    with (
        kgen_runtime.load(path, device="cpu", num_threads=1) as one,
        kgen_runtime.load(path, device="cpu", num_threads=2) as two,
        cores.alone_and_both() as (alone, both),
        cores.places() as (first, second, either),
        ExitStack() as stack,
    ):
        read = [stack.enter_context(cores.alone_and_both("read", spec))[-1] for _ in reading]
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
        taken = cores.while_two(partial(timing.samples, runs, rounds, LIMIT), rounds, _gains)
    if taken is None:
        reason = f"two cores did less than {cores.CORES} times as much as one: not measured"
        return Row(kernel=spec.key, missing={one_thread: reason})
    shared, *singly = taken[2:5]
    # A kernel of one task is the same call either way.
    if all(launch.grid[0] == 1 for launch in entry.launches):
        singly = [shared]
    single_seconds = [statistics.fmean(times) for times in zip(*singly, strict=True)]
    seconds = statistics.median(shared)
    ratio = _median_ratio(single_seconds, shared)
    gain = statistics.median(statistics.fmean(_gains(times)) for times in zip(*taken, strict=True))
    problem = specs.from_json(entry.spec)
    return Row(
        kernel=spec.key,
        seconds=seconds,
        gflops=problem.flops / seconds / 1e9,
        gbytes=problem.bytes_moved / seconds / 1e9,
        ratios={one_thread: ratio, two_cores: ratio / gain}
        | {name: _median_ratio(taken[7], shared) / cores.REPEATS for name in reading},
        noise={one_thread: timing.ratio_noise(shared, single_seconds)},
    )


def _gains(times: Sequence[float]) -> list[float]:
    """What two cores gained in a round of `_two_threads`, before the kernel and after it."""
    alone, before, _, _, _, after, also_alone, *_ = times
    mean = (alone + also_alone) / 2
    return [mean / before, mean / after]


def _median_ratio(times: Sequence[float], ours: Sequence[float]) -> float:
    """By rounds: what slows one of them down slows down both times."""
    return statistics.median(their / our for their, our in zip(times, ours, strict=True))
