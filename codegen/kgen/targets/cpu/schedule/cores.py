"""Published rates of CPU cores, for the cost model; correctness never depends on a core.

A target names its core (`Target.device`). Rates are per cycle, by the bytes of a vector. Sources:
Intel Optimization Reference Manual (248966), tables of execution units and of load and store
bandwidth of each microarchitecture; AMD software optimization guides of family 17h (56305), Zen 3
(56665), Zen 4 (57647) and Zen 5 (58455), sections "Floating-point unit" and "Load-store unit"; Arm
software optimization guide of Neoverse N1. Clocks are those of one busy core of a server: they
scale predictions and rank nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.targets.base import Target
from kgen_runtime.values import frozen


@frozen
class Core:
    """Rates of one core."""

    name: str
    #: Vectors multiplied and added per cycle.
    multiply_adds: Mapping[int, float]
    #: Vectors loaded from the first-level cache per cycle.
    loads: Mapping[int, float]
    #: Cycles from a multiply-add to the next that needs its result.
    latency: float
    #: Cycles per second.
    clock: float
    #: Core whose fitted coefficients apply.
    fitted_as: str
    #: Products of pairs of bf16 (VDPBF16PS) per cycle, in vectors of 64 bytes.
    pairs: float = 1


def _core(
    name: str,
    multiply_adds: Mapping[int, float],
    loads: Mapping[int, float],
    latency: float,
    clock: float,
    fitted_as: str,
    pairs: float = 1,
) -> Core:
    return Core(
        name=name,
        multiply_adds=multiply_adds,
        loads=loads,
        latency=latency,
        clock=clock,
        fitted_as=fitted_as,
        pairs=pairs,
    )


#: "Golden Cove" is the core of Sapphire Rapids and, little changed, of Emerald and Granite Rapids.
#: Zen 4 multiplies 64 bytes as two halves.
CORES: tuple[Core, ...] = (
    _core("Nehalem", {16: 1}, {16: 1}, 7, 3.4e9, "Zen 4"),
    _core("Haswell", {32: 2}, {32: 2}, 5, 3.0e9, "Zen 4"),
    _core("Skylake", {32: 2}, {32: 2}, 4, 3.5e9, "Golden Cove"),
    _core("Skylake-SP", {32: 2, 64: 2}, {32: 2, 64: 2}, 4, 2.6e9, "Golden Cove", pairs=0.5),
    _core("Sunny Cove", {32: 2, 64: 2}, {32: 2, 64: 2}, 4, 2.8e9, "Golden Cove", pairs=0.5),
    _core("Golden Cove", {32: 2, 64: 2}, {32: 3, 64: 2}, 4, 2.8e9, "Golden Cove", pairs=0.5),
    _core("Zen", {32: 1}, {32: 1}, 5, 3.0e9, "Zen 4"),
    _core("Zen 2", {32: 2}, {32: 2}, 5, 3.3e9, "Zen 4"),
    _core("Zen 3", {32: 2}, {32: 2}, 4, 3.7e9, "Zen 4"),
    _core("Zen 4", {32: 2, 64: 1}, {32: 2, 64: 1.5}, 4, 3.7e9, "Zen 4"),
    _core("Zen 5", {32: 2, 64: 2}, {32: 2, 64: 2}, 4, 4.25e9, "Zen 5", pairs=2),
    _core("Neoverse", {16: 2}, {16: 2}, 4, 3.0e9, "Zen 4"),
)
_BY_NAME = {core.name: core for core in CORES}


def core_of(target: Target) -> Core:
    """Return the core that the target's schedules are chosen for."""
    return _BY_NAME[target.device]
