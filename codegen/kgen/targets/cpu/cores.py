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
from kgen.targets.cpu.limits import AMX_CORE, V3_CORE, V4_CORE
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

    def has_model(self, vendor: str, family: int, model: int) -> bool:
        return vendor == self.vendor and any(model in each for each in self.models.get(family, ()))


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
    """Return the core of this CPU, or its vendor's newest of its instructions if it is not listed.

    A hypervisor may give the number of another model, but no instruction that the core lacks:
    SERIALIZE, which is of no use to a kernel and is never disabled, came with Golden Cove.
    """
    here = this_cpu()
    wide = "avx512f" in here.features
    if here.vendor == INTEL and "serialize" in here.features:
        return AMX_CORE
    for core in cores().values():
        if core.has_model(here.vendor, here.family, here.model):
            return core.name
    if here.vendor == INTEL:
        return AMX_CORE if wide else "Skylake"
    return V4_CORE if wide else V3_CORE
