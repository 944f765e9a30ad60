"""The measured tier: a kernel's speed as a ratio to a library's in the same process.

Kernel, library and the kernel again are timed in turn. What the two timings of the kernel differ by
in the same round is the noise of this machine today, and no budget is broken by less.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import kgen_runtime
from kgen import targets
from kgen.bundle import Bundle
from kgen.check import bench, cost, inputs, peers
from kgen.errors import DeviceError

ROUNDS = 25


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Times of the reference and of the kernel in seconds, and the noise of the latter: relative,
    and absolute (what a call that computes nothing costs)."""

    reference: float
    kernel: float
    relative_noise: float
    absolute_noise: float

    @property
    def value(self) -> float:
        return self.reference / self.kernel

    def least(self, budget: float) -> float:
        """The ratio below which a budget is broken beyond the noise."""
        allowed = self.reference / budget
        tolerance = max(self.relative_noise * allowed, self.absolute_noise)
        return self.reference / (allowed + tolerance)


def measure(bundle: Bundle, against: str, rounds: int = ROUNDS) -> Ratio:
    """Time the bundle's one kernel on its device.

    Raises DeviceError if the device is not here, is a software one, or lacks the library.
    """
    (entry,) = bundle.manifest.kernels
    cost.check_memory(entry, "timing")
    backend = targets.family(entry.target.family).backend
    with tempfile.TemporaryDirectory() as folder:
        path = bundle.save(Path(folder, "kernel.kgen"))
        with kgen_runtime.load(path, device=backend) as kernels:
            if kernels.device.kind == "software":
                raise DeviceError(f"{kernels.device.name} is software; a ratio would say nothing")
            (kernel,) = kernels.values()
            data = next(iter(inputs.data_sets(entry, 0))).buffers
            run = bench.caller(kernels, kernel, data)
            reference = peers.make(against, entry.unpacked, data, kernels.device).run
            samples = bench.samples([run, reference, run, kernels.synchronize], rounds)
    return of(*samples)


def of(
    kernel: list[float], reference: list[float], again: list[float], empty: list[float]
) -> Ratio:
    """The ratio of seconds per call, round by round, of the kernel, its reference, the same kernel
    again and a call that computes nothing."""
    return Ratio(
        reference=statistics.median(reference),
        kernel=statistics.median(kernel + again),
        relative_noise=statistics.median(
            abs(a / b - 1.0) for a, b in zip(kernel, again, strict=True)
        ),
        absolute_noise=statistics.median(empty),
    )
