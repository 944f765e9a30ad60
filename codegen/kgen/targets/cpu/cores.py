"""CPU cores, for the cost model and for recognising a machine; correctness never depends on a core.

A target names its core (`Target.device`). Each core is a table of `cores.toml`. The core of this
machine follows from the numbers that CPUID gives.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib import resources
from typing import Any

from kgen.targets.base import Target
from kgen_runtime.this_cpu import this_cpu
from kgen_runtime.values import frozen

INTEL, AMD = "GenuineIntel", "AuthenticAMD"


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

    def stands_for(self, features: Collection[str]) -> bool:
        """Return whether the core stands for unlisted CPUs with these features."""
        return self.unlisted is not None and all(each in features for each in self.unlisted)


@cache
def cores() -> dict[str, Core]:
    """Return the known cores by name."""
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
    """Return the core that the target's schedules are chosen for."""
    return cores()[target.device]


def core_name() -> str:
    """Return the core of this CPU, by its instructions, its model or, if no core lists the model,
    by `unlisted`."""
    here = this_cpu()
    of_vendor = [core for core in cores().values() if core.vendor == here.vendor]
    for core in of_vendor:
        if core.first_with in here.features:
            return core.name
    for core in of_vendor:
        if core.has_model(here.vendor, here.family, here.model):
            return core.name
    fitting = [core for core in cores().values() if core.stands_for(here.features)]
    own = [core for core in fitting if core.vendor == here.vendor]
    return (own or fitting)[-1].name
