"""Benchmark runner: times kernels on a device, side by side with libraries in the same process.

Kernel and libraries are timed in turn (:mod:`kgen.check.bench.timing`), and medians over the rounds
are compared. Buffers are on the device beforehand, and a time ends when the result is complete.
With warm caches all calls use the same data, with cold ones each call the next of several copies
(:mod:`kgen.check.bench.cold`).
"""

from __future__ import annotations

import dataclasses
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import kgen_runtime
from kgen import spec, suggest, targets
from kgen.check import peers
from kgen.check.bench import cold, timing
from kgen.check.bench.timing import ROUNDS, Run, TimingSample
from kgen.check.static.roofline import roofline
from kgen.check.tensors import Bytes, strided_bits
from kgen.check.verify import attention_values, cost, inputs
from kgen.check.verify.known_problems import check_known
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import FLOATS_8
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.schema.partial_writes import overwritten_table
from kgen_runtime.schema.spec_tensors import check_spec
from kgen_runtime.values import frozen


@frozen
class PeerResult:
    """Timing of a library, or the `reason` why it was not timed.

    `seconds` is the median per call. `ratio` is the library's time divided by the kernel's: above 1
    the kernel is faster. `quartiles` and `noise` belong to the ratio.
    """

    name: str
    seconds: float | None = None
    ratio: float | None = None
    quartiles: tuple[float, float] | None = None
    noise: float | None = None
    reason: str | None = None


@frozen
class BenchResult:
    """Timing of a kernel: median `seconds` per call over `rounds`, and quartiles.

    - `load` is the number of cores that other processes used meanwhile.
    - `noise` is the relative difference of two measurements of a ratio.
    - `gflops` and `gbytes` count the arithmetic and bytes that the operation requires.
    - `roofline` is the fraction of the limit by the device's published peaks, None where they are
      not known, as for CPUs, whose limits peers measure.
    - `sets` copies of the data were used in turn; `warm` says why a cache may have kept them
      anyway.
    """

    kernel: str
    target: str
    device: str
    seconds: float
    quartiles: tuple[float, float]
    rounds: int
    load: float
    noise: float
    gflops: float
    gbytes: float
    roofline: float | None = None
    peers: tuple[PeerResult, ...] = ()
    sets: int = 1
    warm: str | None = None

    @property
    def disturbed(self) -> str | None:
        """Reason why the figures are not reliable; None if the machine was quiet."""
        found = []
        if self.load > timing.LOAD:
            found.append(
                f"other processes used {self.load:.2f} cores during the run (limit {timing.LOAD:g})"
            )
        if self.noise > timing.NOISE:
            found.append(
                f"ratios of the two halves of the rounds differ by {self.noise:.0%} "
                f"(limit {timing.NOISE:.0%})"
            )
        return " and ".join(found) or None

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {
            "disturbed": self.disturbed,
            "peers": [vars(peer) for peer in self.peers],
        }


@frozen
class BenchReport:
    """Results of the kernels that run on the device; `skipped` has the reasons for the others."""

    kernels: tuple[BenchResult, ...]
    skipped: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"kernels": [k.to_json() for k in self.kernels], "skipped": dict(self.skipped)}


def bench(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    num_threads: int | None = None,
    against: Sequence[str] = ("numpy",),
    rounds: int = ROUNDS,
    limit: float = math.inf,
    seed: int = 0,
    is_cold: bool = False,
    progress: Callable[[str], None] | None = None,
) -> BenchReport:
    """Time every kernel of a bundle that runs on the device (default: the best here).

    `num_threads` is for CPUs, and applies to the libraries too. After `limit` seconds no further
    round of a kernel starts, except for the minimum of rounds. A kernel is timed again, up to three
    times, while the machine is not quiet. With `is_cold`, every call finds its operands in memory,
    not in a cache. Raises DeviceError for an unknown library in `against`, or if nothing here runs
    the bundle, and VerificationError for a shape that does not fit into this machine's memory.
    """
    if unknown := sorted(set(against) - set(peers.PEERS)):
        raise DeviceError(suggest.unknown(f"against={unknown[0]}", unknown[0], peers.PEERS))
    results = []
    loaded = kgen_runtime.load(path, device=device, num_threads=num_threads)
    with loaded as kernels, peers.threads(num_threads):
        shares = bool(against) and kernels.device.backend == "cpu"
        rest = timing.rest_of(num_threads) if shares else 0.0
        for kernel in kernels.values():
            if progress is not None:
                progress(f"timing {kernel.entry.name}")
            check_known(kernel.entry)
            nbytes = sum(param.nbytes for param in kernel.entry.parameters)
            sets = cold.sets_of(nbytes) if is_cold else 1
            cost.check_memory(kernel.entry, "timing", sets)
            data = dict(next(iter(inputs.data_sets(kernel.entry, seed))).buffers)
            data |= attention_values.every_key(kernel.entry)
            take = partial(timing.quiet_samples, rounds=rounds, limit=limit, rest=rest)
            result = _bench_kernel(kernels, kernel, cold.copies(data, sets), against, take)
            warm = cold.kept(nbytes, sets) if is_cold else None
            results.append(dataclasses.replace(result, sets=sets, warm=warm))
        return BenchReport(kernels=tuple(results), skipped=dict(kernels.skipped))


def _bench_kernel(
    kernels: Kernels,
    kernel: Kernel,
    sets: Sequence[dict[str, Bytes]],
    against: Sequence[str],
    take: Callable[[Sequence[Run]], TimingSample],
) -> BenchResult:
    entry = kernel.entry
    ours = [caller(kernels, kernel, data) for data in sets]
    made, missing = [], []
    for name in against:
        try:
            each = peers.make_each(name, entry.unpacked, sets, kernels.device)
            each[0].run()
            if kernels.device.backend == "cpu":
                peers.check_exact(each[0], entry.unpacked, sets[0])
            made.append(each)
        except DeviceError as reason:
            missing.append(PeerResult(name=name, reason=str(reason)))
    # Keep the peers alive: their libraries hold addresses of the peers' memory.
    taken = take(timing.in_turn([ours, *([peer.run for peer in each] for each in made)]))
    times, *others = taken.times
    seconds = statistics.median(times)
    check_spec(entry)
    problem = spec.from_json(entry.spec)
    return BenchResult(
        kernel=entry.key,
        target=entry.target.name,
        device=kernels.device.name,
        seconds=seconds,
        quartiles=timing.quartiles(times),
        rounds=len(times),
        load=taken.load,
        noise=taken.noise,
        gflops=problem.flops / seconds / 1e9,
        gbytes=problem.bytes_moved / seconds / 1e9,
        roofline=fraction(entry, kernels.device, seconds),
        peers=(
            *(
                _against(p.name, times, theirs)
                for (p, *_), theirs in zip(made, others, strict=True)
            ),
            *missing,
        ),
    )


def _against(name: str, ours: list[float], theirs: list[float]) -> PeerResult:
    seconds = statistics.median(theirs)
    return PeerResult(
        name=name,
        seconds=seconds,
        ratio=seconds / statistics.median(ours),
        quartiles=timing.quartiles([b / a for a, b in zip(ours, theirs, strict=True)]),
        noise=timing.ratio_noise(ours, theirs),
    )


def caller(
    kernels: Kernels,
    kernel: Kernel,
    data: dict[str, Bytes],
    outputs: Mapping[str, Bytes] | None = None,
) -> Callable[[], object]:
    """Return a prepared call of the kernel, with arrays in the memory and layouts that it requires.

    On a CPU the call writes to `outputs`, if given.
    """
    data = inputs.as_taken(kernel.entry, data)

    def array(param: TensorParam, buffer: Bytes) -> Any:
        bits = strided_bits(buffer, param)
        host = bits if param.dtype.storage == bits.dtype else bits.view(param.dtype.storage)
        if kernels.device.backend == "cpu":
            return host
        return kernels.to_device(host, param.dtype if param.dtype in FLOATS_8 else None)

    names = [param.name for param in kernel.entry.arguments]
    arguments = [array(param, data[param.name]) for param in kernel.entry.arguments]
    table = overwritten_table(kernel.entry.spec)
    into = outputs or inputs.output_buffers(kernel.entry, data)
    outs = tuple(
        array(param, into[param.name]) if table is None else arguments[names.index(table)]
        for param in kernel.entry.outputs
    )
    out: Any = outs if len(outs) > 1 else outs[0]
    call = kernel.prepare(*arguments, out=out)
    if kernels.device.backend == "cpu":
        return call

    def call_and_wait() -> None:
        call()
        kernels.synchronize()

    return call_and_wait


def fraction(entry: KernelEntry, device: DeviceInfo, seconds: float) -> float | None:
    """Return the fraction of the roofline that a kernel reaches.

    Returns None for a GPU without known rates.
    """
    rates = targets.family(entry.target.family).rates(targets.find(entry.target.name))
    if device.kind != "gpu" or rates is None or rates.device not in device.name:
        return None
    return roofline(spec.from_json(entry.spec), rates).floor / seconds
