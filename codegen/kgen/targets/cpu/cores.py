"""CPU cores and caches, for the cost models and for recognising a machine; correctness never
depends on them.

A target names its core (`Target.device`). Each core is a table of `cores.toml`; its cycles per
event are in `schedule/coefficients.toml`. The core of this machine follows from CPUID.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
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
#: Bytes of a way of the first- and second-level cache: lines a multiple of these apart share a set.
WAY_BYTES = (4096, 1 << 17)
#: Part of a cache that counts as available to the operands of a loop.
SHARE = 0.8


@frozen
class Core:
    """Rates of one core."""

    name: str
    #: Vectors multiplied and added per cycle, by the bytes of a vector.
    multiply_adds: Mapping[int, float]
    #: Vectors loaded from the first-level cache per cycle, by the bytes of a vector.
    loads: Mapping[int, float]
    #: Cycles from a multiply-add to the next that needs its result.
    latency: float
    #: Cycles per second of one busy core of a server: scales predictions and ranks nothing.
    clock: float
    #: Core whose fitted coefficients apply.
    fitted_as: str
    #: Products of pairs of bf16 (VDPBF16PS) per cycle, in vectors of 64 bytes.
    pairs: float = 1
    #: Vendor in CPUID, and model numbers by family.
    vendor: str = ""
    models: Mapping[int, Sequence[Collection[int]]] = field(default_factory=dict)
    #: Feature that no older core of the vendor has. It counts before the model, because a
    #: hypervisor may report another model.
    first_with: str = ""
    #: Features of CPUs that this core stands for if no core lists their model; None for no CPUs.
    #: The last such core of the vendor counts, or of all if the vendor has none.
    unlisted: Sequence[str] | None = None

    def has_model(self, vendor: str, family: int, model: int) -> bool:
        return vendor == self.vendor and any(model in each for each in self.models.get(family, ()))


@cache
def cores() -> dict[str, Core]:
    text = (resources.files("kgen.targets.cpu") / "cores.toml").read_text(encoding="utf-8")
    return {name: core_from(name, table) for name, table in tomllib.loads(text).items()}


def core_from(name: str, table: Mapping[str, Any]) -> Core:
    """Return the core that a table of `cores.toml` describes. Families and vector sizes are keys; a
    model is a number, or a pair of the first and the last number."""
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
    """Return the core of this CPU, by its instructions, its model or `unlisted`."""
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
    """Core of a target at the width of its vectors, and cache levels by the target's sizes alone.
    Working sets are numbers or arrays of numpy."""

    target: Target

    @property
    def rates(self) -> Core:
        return core_of(self.target)

    @property
    def width(self) -> int:
        """Bytes of a vector."""
        return self.target.limits["vector_bytes"]

    @property
    def multiply_adds(self) -> float:
        """Vectors multiplied and added per cycle."""
        return self.rates.multiply_adds.get(self.width, 1.0)

    @property
    def loads(self) -> float:
        """Vectors loaded per cycle."""
        return self.rates.loads.get(self.width, 1.0)

    @property
    def l1(self) -> float:
        """Bytes that count as available in the first level."""
        return SHARE * self.target.limits["l1_bytes"]

    @property
    def l2(self) -> float:
        return SHARE * self.target.limits["l2_bytes"]

    def level(self, near: Column | float, far: Column | float | None = None) -> Column:
        """Return the level that holds `near` bytes: 0 (first), 1 (second) or 2 (farther). `far` is
        the size in the second level if set conflicts make it differ."""
        far = near if far is None else far
        return np.where(near <= self.l1, 0, np.where(far <= self.l2, 1, 2))

    def level_of_rows(
        self, rows: Column, length: Column, stride: Column | int, beside: Column | float = 0
    ) -> Column:
        """Return the level that holds rows of `length` bytes, `stride` bytes apart. Rows that map
        to few sets (set conflicts) leave the other sets unused."""
        strides = np.broadcast_to(np.asarray(stride, np.int64), rows.shape)
        return self.level(
            *(rows * np.maximum(length, np.gcd(strides, way)) + beside for way in WAY_BYTES)
        )

    def first_read(self, nbytes: float, *, is_cold: bool = False) -> str:
        """Return the level from which an operand is first read: `l2`, `far` (last-level cache) or
        `memory`. A kernel may count on half of the last-level cache, which other cores share."""
        if is_cold or nbytes > self.target.limits["l3_bytes"] / 2:
            return "memory"
        return "far" if nbytes > self.target.limits["l2_bytes"] else "l2"


@cache
def fitted() -> dict[str, Any]:
    """Return `coefficients.toml`: events by the terms of a prediction that `kgen build --explain`
    prints, and the cycles of each event by core."""
    path = resources.files("kgen.targets.cpu.schedule") / "coefficients.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def coefficients(target: Target, kind: type[BlockedMatmul]) -> Mapping[str, float]:
    """Return the cycles per event of the target's core with its vectors or AMX tiles; if it was not
    measured with them, those of the first core that was.

    `error` is the log(predicted time / least predicted time) up to which a neighbour's schedule at
    distance 1 is chosen; 0 if the core was measured with warm caches only.
    """
    cores: Mapping[str, Mapping[str, Mapping[str, float]]] = fitted()["cores"]
    name = "amx" if kind is kinds.AmxMatmul else str(target.limits["vector_bytes"])
    first = cores[core_of(target).fitted_as]
    return next(core[name] for core in (first, *cores.values()) if name in core)


def line_cycles(target: Target, nbytes: float) -> float:
    """Return the cycles of a line that is one of `nbytes`, from the cache level that holds them."""
    names = {"l2": "b_l2", "far": "l3_line", "memory": "memory_line"}
    return coefficients(target, kinds.CpuMatmul)[
        names[TargetCore(target=target).first_read(nbytes)]
    ]
