"""CPU cores and caches for the cost models, and the core of this machine.

Correctness never depends on them. A target names its core (`Target.device`). Each core is a table
of `cores.toml`; its cycles per event are in `schedule/coefficients.toml`. CPUID gives the core of
this machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from kgen import schedule as kinds
from kgen.schedule import BlockedMatmul
from kgen.targets.base import Target
from kgen.targets.contraction.candidate_table import Column
from kgen_runtime.this_cpu import this_cpu
from kgen_runtime.values import frozen

INTEL, AMD = "GenuineIntel", "AuthenticAMD"
#: Bytes per way of the first-level and second-level cache. Lines share a set if their distance is a
#: multiple of this.
WAY_BYTES = (4096, 1 << 17)
#: Fraction of a cache that counts as available to the operands of a loop.
SHARE = 0.8

#: Pairs of a number of threads and its weight in the ranking.
THREADS = ((1, 0.6), (2, 0.3), (8, 0.1))
#: libkgen runs launches that take fewer seconds than this on one thread (pool.c, ALONE_NS).
ALONE = 5e-6
#: Seconds that it takes to divide a launch among spinning threads. libkgen divides a launch only if
#: that makes it faster.
SHARING = 1.5e-6


@frozen
class Core:
    """Rates of one core."""

    name: str
    #: Multiply-adds of vectors per cycle, by the bytes of a vector.
    multiply_adds: Mapping[int, float]
    #: Vectors loaded from the first-level cache per cycle, by the bytes of a vector.
    loads: Mapping[int, float]
    #: Latency of a multiply-add in cycles.
    latency: float
    #: Cycles per second of one busy core of a server; converts predictions to seconds.
    clock: float
    #: Name of the core whose fitted coefficients apply.
    fitted_as: str
    #: Dot products of bf16 pairs (VDPBF16PS) per cycle, in vectors of 64 bytes.
    pairs: float = 1
    #: Vendor in CPUID, and model numbers by family.
    vendor: str = ""
    models: Mapping[int, Sequence[Collection[int]]] = field(default_factory=dict)
    #: Feature that no older core of the vendor has. It identifies the core whatever the model,
    #: because a hypervisor may report another one.
    first_with: str = ""
    #: Features with which a CPU of an unlisted model counts as this core; None if no CPU does. If
    #: several cores match, the last one of the CPU's vendor applies, else the last one of any.
    unlisted: Sequence[str] | None = None

    def has_model(self, vendor: str, family: int, model: int) -> bool:
        return vendor == self.vendor and any(model in each for each in self.models.get(family, ()))


@cache
def cores() -> dict[str, Core]:
    text = (resources.files("kgen.targets.cpu") / "cores.toml").read_text(encoding="utf-8")
    return {name: core_from(name, table) for name, table in tomllib.loads(text).items()}


def core_from(name: str, table: Mapping[str, Any]) -> Core:
    """Return the core that a table of `cores.toml` describes. Keys are families and vector sizes. A
    model is a number, or a pair of a first and a last number."""
    rates = {
        key: {int(nbytes): rate for nbytes, rate in table[key].items()}
        for key in ("multiply_adds", "loads")
    }
    models = {
        int(family, 0): [[n] if isinstance(n, int) else range(n[0], n[1] + 1) for n in numbers]
        for family, numbers in table.get("models", {}).items()
    }
    return Core(name=name, **{**table, **rates, "models": models})


def core_of(target: Target) -> Core:
    return cores()[target.device]


def core_name() -> str:
    """Return the name of this CPU's core, found by its features, its model, or `unlisted`."""
    here = this_cpu()
    of_vendor = [core for core in cores().values() if core.vendor == here.vendor]
    for core in of_vendor:
        if core.first_with in here.features:
            return core.name
    for core in of_vendor:
        if core.has_model(here.vendor, here.family, here.model):
            return core.name
    standing = (core for core in cores().values() if core.unlisted is not None)
    fitting = [core for core in standing if here.features.issuperset(core.unlisted or ())]
    own = [core for core in fitting if core.vendor == here.vendor]
    return (own or fitting)[-1].name


@frozen
class TargetCore:
    """Rates of a target's core at the target's vector width, and the target's cache levels. Sizes
    of working sets are numbers or NumPy arrays."""

    target: Target

    @property
    def rates(self) -> Core:
        return core_of(self.target)

    @property
    def width(self) -> int:
        """Bytes per vector."""
        return self.target.limits["vector_bytes"]

    @property
    def multiply_adds(self) -> float:
        """Multiply-adds of vectors per cycle."""
        return self.rates.multiply_adds.get(self.width, 1.0)

    @property
    def loads(self) -> float:
        """Vectors loaded per cycle."""
        return self.rates.loads.get(self.width, 1.0)

    @property
    def l1(self) -> float:
        """Bytes of the first-level cache that count as available."""
        return SHARE * self.target.limits["l1_bytes"]

    @property
    def l2(self) -> float:
        return SHARE * self.target.limits["l2_bytes"]

    def level(self, near: Column | float, far: Column | float | None = None) -> Column:
        """Return the cache level that holds `near` bytes: 0 (first), 1 (second) or 2 (farther).
        `far` is the size in the second level if set conflicts make it differ from `near`."""
        far = near if far is None else far
        return np.where(near <= self.l1, 0, np.where(far <= self.l2, 1, 2))

    def level_of_rows(
        self, rows: Column, length: Column, stride: Column | int, beside: Column | float = 0
    ) -> Column:
        """Return the cache level that holds `rows` rows of `length` bytes, `stride` bytes apart.
        Rows that map to few cache sets (set conflicts) leave the other sets unused. `beside` is the
        number of other bytes in the cache."""
        strides = np.broadcast_to(np.asarray(stride, np.int64), rows.shape)
        return self.level(
            *(rows * np.maximum(length, np.gcd(strides, way)) + beside for way in WAY_BYTES)
        )

    def first_read(self, nbytes: float, *, is_cold: bool = False) -> str:
        """Return the level from which an operand is first read. Levels are `l2`, `far` (last-level
        cache) and `memory`. A kernel may count on half of the last-level cache, because other cores
        share it."""
        if is_cold or nbytes > self.target.limits["l3_bytes"] / 2:
            return "memory"
        return "far" if nbytes > self.target.limits["l2_bytes"] else "l2"


@cache
def fitted() -> dict[str, Any]:
    """Return the contents of `coefficients.toml`. They are the cycles per event of each core, and
    the events of each term of a prediction that `kgen build --explain` prints."""
    path = resources.files("kgen.targets.cpu.schedule") / "coefficients.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def coefficients(target: Target, kind: type[BlockedMatmul]) -> Mapping[str, float]:
    """Return the cycles per event of the target's core, for its vectors or for AMX tiles.

    If the core was not measured with such vectors or tiles, the first core that was measured with
    them stands in. `error` is the largest log(predicted time / least predicted time) with which the
    schedule of a neighbour at distance 1 is chosen. It is 0 if the core was measured with warm
    caches only.
    """
    cores: Mapping[str, Mapping[str, Mapping[str, float]]] = fitted()["cores"]
    name = "amx" if kind is kinds.AmxMatmul else str(target.limits["vector_bytes"])
    first = cores[core_of(target).fitted_as]
    return next(core[name] for core in (first, *cores.values()) if name in core)


def line_cycles(target: Target, nbytes: float) -> float:
    """Return the cycles to read a cache line of an operand of `nbytes` bytes."""
    names = {"l2": "b_l2", "far": "l3_line", "memory": "memory_line"}
    return coefficients(target, kinds.CpuMatmul)[
        names[TargetCore(target=target).first_read(nbytes)]
    ]


def log_seconds(seconds: Sequence[Column], busiest: Callable[[int], Column]) -> Column:
    """Return the mean logarithm of the time, over the numbers of threads in THREADS and over cache
    states. `seconds` has the time of one thread in each state. `busiest` maps a number of threads
    to the fraction of the work that the busiest thread does."""
    weighted: Column = 0.0
    for threads, weight in THREADS:
        share = busiest(threads)
        for alone in seconds:
            together = np.where(alone < ALONE, alone, alone * share + SHARING)
            time = np.minimum(alone, together)
            weighted = weighted + weight * np.log(time) / len(seconds)
    return weighted
