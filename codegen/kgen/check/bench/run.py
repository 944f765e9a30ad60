"""Timing kernels on a device, side by side with libraries in the same process.

Kernel and libraries are timed in turn (:mod:`kgen.check.bench.timing`), and medians over the rounds
are compared. Buffers are on the device before; the time is from the call until the result is there.
All calls are on the same data, which a cache may keep, or *cold*: each on the next of so many
copies of it that none does (:mod:`kgen.check.bench.cold`).
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
from kgen.check.verify import cost, inputs
from kgen.check.verify.known_problems import check_known
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import FLOATS_8
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.schema.partial_writes import lies_upon
from kgen_runtime.schema.spec_tensors import check_spec
from kgen_runtime.values import frozen


@frozen
class PeerResult:
    """A library's median `seconds`, and `ratio` = its time over the kernel's (above 1: the kernel
    is faster), with its `noise` and the `quartiles` of the rounds' ratios; or why it was not timed.
    """

    name: str
    seconds: float | None = None
    ratio: float | None = None
    quartiles: tuple[float, float] | None = None
    noise: float | None = None
    reason: str | None = None


@frozen
class BenchResult:
    """Median `seconds` per call of a kernel over so many `rounds`, and their `quartiles`.

    `load` is the cores that other processes took meanwhile, `noise` how far apart two measurements
    of a ratio were. Rates count the arithmetic and the bytes that the operation needs, not what the
    kernel does. `roofline` is the fraction of what the device's published peaks allow, None where
    they are not known, as of CPUs, for which there are peers that measure them. So many `sets` of
    data were taken in turn; `warm` says why a cache may have kept them nevertheless.
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
        """Why the figures are not to be relied on, in words; None if the machine was quiet."""
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
    """Results of the kernels that run on the device; `skipped` says why not the others."""

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

    `num_threads` is for the CPU, and holds for the libraries too. After `limit` seconds no further
    round of a kernel is begun, once there are a few. A kernel is timed again, up to three times,
    while the machine is not quiet. `is_cold`: every call finds its operands in memory, as the
    weights of a model are when its layer comes again.

    Raises DeviceError for an unknown library in `against`, or if nothing here runs the bundle;
    VerificationError for a shape that does not fit into this machine's memory.
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
            data = next(iter(inputs.data_sets(kernel.entry, seed))).buffers
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
    # Peers keep the memory that their libraries have addresses of.
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
    """Return a prepared call of the kernel, with arrays in the places and layouts that it requires.
    On a CPU it writes to `outputs`, if they are passed."""
    data = inputs.as_taken(kernel.entry, data)

    def array(param: TensorParam, buffer: Bytes) -> Any:
        bits = strided_bits(buffer, param)
        host = bits if param.dtype.storage == bits.dtype else bits.view(param.dtype.storage)
        if kernels.device.backend == "cpu":
            return host
        return kernels.to_device(host, param.dtype if param.dtype in FLOATS_8 else None)

    names = [param.name for param in kernel.entry.arguments]
    arguments = [array(param, data[param.name]) for param in kernel.entry.arguments]
    table = lies_upon(kernel.entry.spec)
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
    """The part of the roofline that a kernel reaches; None unless the model knows this GPU."""
    rates = targets.family(entry.target.family).rates(targets.find(entry.target.name))
    if device.kind != "gpu" or rates is None or rates.device not in device.name:
        return None
    return roofline(spec.from_json(entry.spec), rates).floor / seconds
