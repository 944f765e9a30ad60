"""Measured tier of the gate: speed of a kernel relative to a library, measured in the same process.

Kernel, library and the kernel again are timed in turn, on CPUs in one thread. The difference
between both timings of the kernel is the machine's noise. A budget is broken only if the ratio
misses it by more than the noise in several measurements.
"""

from __future__ import annotations

import statistics

import kgen_runtime
from kgen import targets, temporary
from kgen.bundle import Bundle
from kgen.check import peers
from kgen.check.bench import run as bench
from kgen.check.bench import timing
from kgen.check.verify import cost, inputs
from kgen.errors import DeviceError
from kgen_runtime.values import frozen

ROUNDS = 15
#: Measurements in a row that must miss a budget to break it.
ATTEMPTS = 3


@frozen
class Ratio:
    """Times of the reference and of the kernel in seconds, and the noise of the kernel's time.

    `absolute_noise` is the time in seconds of a call that computes nothing.
    """

    reference: float
    kernel: float
    relative_noise: float
    absolute_noise: float

    @property
    def value(self) -> float:
        return self.reference / self.kernel

    def least(self, budget: float) -> float:
        """Return the ratio below which a budget is broken beyond the noise."""
        allowed = self.reference / budget
        tolerance = max(self.relative_noise * allowed, self.absolute_noise)
        return self.reference / (allowed + tolerance)

    def keeps(self, budget: float) -> bool:
        return self.value >= self.least(budget)


def settled(bundle: Bundle, against: str, budget: float) -> Ratio:
    """Return the first ratio that keeps the budget, or the best of ATTEMPTS that do not.

    Raises DeviceError as `measure` does.
    """
    found = []
    for _ in range(ATTEMPTS):
        found.append(measure(bundle, against))
        if found[-1].keeps(budget):
            return found[-1]
    return max(found, key=lambda ratio: ratio.value)


def measure(bundle: Bundle, against: str, rounds: int = ROUNDS) -> Ratio:
    """Time the one kernel of a bundle on its device.

    Raises DeviceError if the device is absent or emulated in software, or lacks the library.
    """
    (entry,) = bundle.manifest.kernels
    cost.check_memory(entry, "timing")
    backend = targets.family(entry.target.family).backend
    threads = 1 if backend == "cpu" else None
    with temporary.folder() as folder:
        path = bundle.save(folder / "kernel.kgen")
        with (
            kgen_runtime.load(path, device=backend, num_threads=threads) as kernels,
            peers.threads(threads),
        ):
            if kernels.device.kind == "software":
                raise DeviceError(
                    f"{kernels.device.name} is a software device, which kgen does not time; "
                    "use a GPU or the CPU backend"
                )
            (kernel,) = kernels.values()
            data = next(iter(inputs.data_sets(entry, 0))).buffers
            run = bench.caller(kernels, kernel, data)
            # Keep the peer alive: its library holds addresses of the peer's memory.
            reference = peers.make(against, entry.unpacked, data, kernels.device)
            samples = timing.samples([run, reference.run, run, kernels.synchronize], rounds)
    return of(*samples)


def of(
    kernel: list[float], reference: list[float], again: list[float], empty: list[float]
) -> Ratio:
    """Return the ratio of seconds per call, round by round.

    The lists are times of the kernel, of its reference, of the kernel again, and of an empty call.
    """
    return Ratio(
        reference=statistics.median(reference),
        kernel=statistics.median(kernel + again),
        relative_noise=statistics.median(
            abs(a / b - 1.0) for a, b in zip(kernel, again, strict=True)
        ),
        absolute_noise=statistics.median(empty),
    )
