"""Side-by-side timing of kernels on one device: in turn, on shared buffers, under named conditions.

A round times each kernel once, and the least time over all rounds counts, so that a disturbance
affects no kernel alone. Kernels much slower than the fastest one drop out after some rounds. All
kernels of a race share their buffers; otherwise each kernel would read its own B from memory. Each
race allocates fresh buffers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgen import bundle, pipeline
from kgen.check.bench import cold
from kgen.check.tensors import Bytes
from kgen.check.verify.attention_values import every_key
from kgen.errors import AssembleError, DeviceError, TargetError
from kgen.targets.base import Plan
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.select import open_device
from kgen_runtime.values import frozen

#: Rounds of a race, and least seconds of a turn, so that call overhead and clock resolution are
#: negligible.
ROUNDS, TURN_SECONDS = 9, 200e-6
#: Rounds after which only the first kernel and those within a factor of the fastest continue.
TRIALS, HOPEFUL = 3, 1.25
#: Byte that fills buffers: small numbers in each float type and in bytes, without NaN and
#: subnormals. Wider integers are 0, a valid index of every table, except for attention's lengths
#: and pages.
FLOATS, INTEGERS = 0x3A, 0

Call = Callable[[], object]
#: Function that returns the seconds per call of each plan under a condition; infinite if it fails.
Race = Callable[[Sequence[Plan], "TimingCondition"], list[float]]


@frozen
class TimingCondition:
    """Cache state and threads of a measurement; `threads` is None for all cores."""

    is_cold: bool = False
    threads: int | None = 1

    @property
    def name(self) -> str:
        threads = "all threads" if self.threads is None else "one thread"
        return f"{'cold' if self.is_cold else 'warm'}, {threads}"


#: Conditions of a CPU: one thread for the search, all cores for the confirmation.
ONE_THREAD = (TimingCondition(), TimingCondition(is_cold=True))
ALL_THREADS = (TimingCondition(threads=None), TimingCondition(is_cold=True, threads=None))
#: Conditions of a GPU. A software driver uses the first one only, as it shares the CPU's caches.
ON_DEVICE = (TimingCondition(threads=None), TimingCondition(is_cold=True, threads=None))


def conditions_of(device: str) -> tuple[TimingCondition, ...]:
    """Return the conditions of a device's searches."""
    backend = open_device(device)
    try:
        if backend.info.kind == "cpu":
            return ONE_THREAD
        return ON_DEVICE if backend.info.kind == "gpu" else ON_DEVICE[:1]
    finally:
        backend.close()


def confirming(search: Sequence[TimingCondition]) -> tuple[TimingCondition, ...]:
    """Return the conditions of a confirmation: those of the search, on CPUs also all cores."""
    return (*search, *ALL_THREADS) if tuple(search) == ONE_THREAD else tuple(search)


#: Name of a tensor or workspace, the number of its bytes, and their value or values.
Content = tuple[str, int, int | Bytes]


def contents_of(entry: KernelEntry) -> tuple[Content, ...]:
    """Return the contents of a kernel's tensors and workspaces."""
    integers = {p.name for p in entry.parameters if p.dtype.is_integer and p.dtype.itemsize >= 4}
    keys = every_key(entry)
    return tuple(
        (name, nbytes, keys.get(name, INTEGERS if name in integers else FLOATS))
        for name, nbytes in entry.sizes.items()
    )


@dataclass
class SharedBuffers:
    """Buffers on a device that the kernels of one spec share, by name and size."""

    owner: Backend
    known: dict[tuple[str, int], Any] = field(default_factory=dict)

    def of(self, contents: Sequence[Content]) -> dict[str, Any]:
        """Return the buffers of a kernel's tensors and workspaces, by name."""
        for name, nbytes, value in contents:
            if (name, nbytes) not in self.known:
                buffer = self.known[name, nbytes] = self.owner.alloc(nbytes)
                self.owner.copy_to_device(buffer, np.full(nbytes, value, np.uint8))
        return {name: self.known[name, nbytes] for name, nbytes, _ in contents}

    def free(self) -> None:
        for buffer in self.known.values():
            self.owner.free(buffer)
        self.known.clear()


@frozen
class DeviceRace:
    """Race on a device of this machine. Raises DeviceError if the first plan does not run."""

    device: str = "cpu"

    def __call__(self, plans: Sequence[Plan], condition: TimingCondition) -> list[float]:
        is_cpu = self.device.partition(":")[0] == CpuBackend.name
        backend = open_device(self.device, num_threads=condition.threads if is_cpu else None)
        nbytes = sum(p.nbytes for p in plans[0].spec.parameters)
        sets = [
            SharedBuffers(backend) for _ in range(cold.sets_of(nbytes) if condition.is_cold else 1)
        ]
        try:
            with loaded(backend, plans) as kernels:
                found = race(calls_of(backend, list(kernels.values()), sets), backend.synchronize)
            seconds = dict(zip(kernels, found, strict=True))
            return [seconds.get(number, math.inf) for number in range(len(plans))]
        finally:
            for each in sets:
                each.free()
            backend.close()


@contextmanager
def loaded(
    backend: Backend, plans: Sequence[Plan]
) -> Iterator[Mapping[int, tuple[KernelEntry, Any]]]:
    """Build and load kernels; yield those that the device runs, by the number of the plan."""
    kernels: dict[int, tuple[KernelEntry, Any]] = {}
    try:
        for number, plan in enumerate(plans):
            try:
                kernels[number] = load(backend, plan)
            except (AssembleError, DeviceError) as error:
                if number == 0:
                    raise TargetError(f"{plan.target.name}/{plan.operation.key}: {error}") from None
        yield kernels
    finally:
        for _, kernel in kernels.values():
            backend.unload(kernel)


def load(backend: Backend, plan: Plan) -> tuple[KernelEntry, Any]:
    """Build a kernel and load it. Raises AssembleError and DeviceError."""
    packed = bundle.pack([pipeline.kernel(plan.operation, plan.target, plan.schedule)])
    (entry,) = packed.manifest.kernels
    chosen, refusal = choose_code(backend.described, entry)
    if not chosen:
        raise DeviceError(f"{backend.info.id} ({backend.info.name}) does not run it: {refusal}")
    code = {
        module: Code(artifact=artifact, data=packed.files[artifact.file])
        for module, artifact in chosen.items()
    }
    return entry, backend.load(entry, code)


def calls_of(
    backend: Backend, kernels: Sequence[tuple[KernelEntry, Any]], sets: Sequence[SharedBuffers]
) -> list[Call]:
    """Return a call of each kernel, which takes the next set of buffers each time.

    The calls of all kernels on one set are prepared before those on the next, so that Python's
    objects of a call have a similar distance in memory for each kernel.
    """
    prepared = [(kernel, contents_of(entry), list[Call]()) for entry, kernel in kernels]
    calls = [own for _, _, own in prepared]
    for buffers in sets:
        for kernel, contents, own in prepared:
            own.append(backend.prepare(kernel, buffers.of(contents)))
    if len(sets) == 1:
        return [own[0] for own in calls]
    turns = itertools.cycle(range(len(sets)))
    return [lambda own=own: own[next(turns)]() for own in calls]  # type: ignore[misc]


def race(calls: Sequence[Call], finish: Call = lambda: None) -> list[float]:
    """Return the least seconds of a call of each, taken in turn; `finish` waits for the device."""
    counts = []
    for call in calls:
        seconds_of(call, 1, finish)
        seconds = max(seconds_of(call, 1, finish), 1e-7)
        counts.append(max(1, math.ceil(TURN_SECONDS / seconds)))
    best = [math.inf] * len(calls)
    for number in range(ROUNDS):
        hopeful = math.inf if number < TRIALS else HOPEFUL * min(best)
        for i, call in enumerate(calls):
            if i == 0 or best[i] <= hopeful:
                best[i] = min(best[i], seconds_of(call, counts[i], finish))
    return best


def seconds_of(call: Call, count: int, finish: Call) -> float:
    """Return the seconds per call, averaged over `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    finish()
    return (time.perf_counter() - start) / count
