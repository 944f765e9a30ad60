"""Every metric that a budget may limit: its tier, its direction, its unit and what it means."""

from __future__ import annotations

import difflib
import math
from enum import StrEnum

from kgen.emulate import counters
from kgen.errors import BudgetError
from kgen_runtime.values import frozen

#: Decimals of a fraction in a budget.
DECIMALS = 4


class Tier(StrEnum):
    """Where a number comes from. Static and emulated ones are exact; measured ones have noise."""

    STATIC = "static"
    EMULATED = "emulated"
    MEASURED = "measured"


class Bound(StrEnum):
    """Which side of a budget is allowed."""

    MAXIMUM = "maximum"
    MINIMUM = "minimum"


@frozen
class Metric:
    """`headline` says that `kgen perf add` writes it into a new entry."""

    name: str
    tier: Tier
    unit: str
    meaning: str
    bound: Bound = Bound.MAXIMUM
    headline: bool = False

    def keeps(self, value: float, budget: float) -> bool:
        return value <= budget if self.bound is Bound.MAXIMUM else value >= budget

    def rounded(self, value: float) -> float:
        """A whole number as it is, a fraction to the side that it still keeps."""
        if float(value).is_integer():
            return int(value)
        scale = 10.0**DECIMALS
        loose = math.ceil if self.bound is Bound.MAXIMUM else math.floor
        return loose(value * scale) / scale

    def better(self, value: float, budget: float) -> bool:
        return value < budget if self.bound is Bound.MAXIMUM else value > budget


def _static(name: str, unit: str, meaning: str, **more: object) -> Metric:
    return Metric(name=name, tier=Tier.STATIC, unit=unit, meaning=meaning, **more)  # type: ignore[arg-type]


STATIC: tuple[Metric, ...] = (
    _static("registers", "registers", "vector registers per thread", headline=True),
    _static("accumulator_registers", "registers", "the AMD ones of them that hold accumulators"),
    _static("scalar_registers", "registers", "scalar registers per wave (AMD)"),
    _static("spills", "bytes", "registers written to memory and read back, in all of the code"),
    _static("stack", "bytes", "local memory per thread"),
    _static("shared_memory", "bytes", "shared memory (LDS) per workgroup", headline=True),
    _static("code_bytes", "bytes", "size of the machine code"),
    _static(
        "occupancy", "warps", "warps that one SM, or waves that one SIMD, holds at once, by "
        "registers, shared memory and threads", bound=Bound.MINIMUM, headline=True,
    ),
    _static(
        "hot_loop_instructions", "instructions", "instructions of the innermost loop that holds "
        "most of the matrix instructions, else of the multiply-adds, else of the loads; of all the "
        "code where a loop with matrix instructions is unrolled whole",
        headline=True,
    ),
    _static(
        "hot_loop_spills", "instructions", "instructions of that loop that put a register on the "
        "stack or take it back",
    ),
    _static("matrix_instructions", "instructions", "matrix instructions in that loop"),
    _static(
        "matrix_share", "fraction", "matrix instructions (multiply-adds where there are none) "
        "among all of that loop", bound=Bound.MINIMUM, headline=True,
    ),
    _static(
        "instructions_per_matrix_cycle", "instructions", "instructions of that loop for each clock "
        "that its matrix instructions keep a SIMD busy (AMD)",
    ),
    _static(
        "lds_cycles_per_matrix_cycle", "fraction", "clocks that the loop's accesses keep LDS busy, "
        "without bank conflicts, for each of these clocks (AMD)",
    ),
    _static(
        "l1_cycles_per_matrix_cycle", "fraction", "the same of L1",
    ),
    _static("loads_per_matrix", "loads", "loads in that loop for each of them", headline=True),
    _static("findings", "warnings", "warnings of ptxas that it had to make the code slow (C75xx)"),
    _static(
        "schedules_predicted", "schedules", "schedules whose time kgen's model predicted to choose "
        "this one (NVIDIA products whose entry sets no schedule)",
    ),
    _static("schedules_planned", "schedules", "those of them that were planned in full"),
)  # fmt: skip


def _by_driver(driver: str, gpu: str, warps: str, holder: str) -> tuple[Metric, ...]:
    """Of the machine code that a driver's compiler makes of a Vulkan kernel, without the GPU."""
    by = f"by {driver.upper()} for {gpu}"
    least, headline = {"bound": Bound.MINIMUM}, {"headline": True}
    return (
        _static(f"{driver}.registers", "registers", f"registers per thread, {by}", **headline),
        _static(f"{driver}.spills", "registers", f"registers written to memory or read back, {by}"),
        _static(f"{driver}.code_bytes", "bytes", f"size of the machine code, {by}"),
        _static(
            f"{driver}.occupancy", warps, f"{warps} that one {holder} holds at once, {by}",
            **least, **headline,
        ),
        _static(
            f"{driver}.hot_loop_instructions", "instructions",
            f"instructions of the hot loop, {by}", **headline,
        ),
        _static(
            f"{driver}.matrix_instructions", "instructions", "matrix instructions in that loop",
            **least,
        ),
        _static(
            f"{driver}.others_per_matrix", "instructions", "instructions of that loop besides its "
            "matrix instructions (multiply-adds where there are none), for each of them",
            **headline,
        ),
        _static(
            f"{driver}.scalar_loads", "loads", "loads of 32 bits or less from buffers in that loop",
            **headline,
        ),
    )  # fmt: skip


#: Those of Vulkan's kernels where the drivers are (:mod:`kgen.check.static.vulkan`).
COMPILED: tuple[Metric, ...] = (
    *_by_driver("radv", "gfx1100", "waves", "SIMD"),
    _static("radv.shared_memory", "bytes", "LDS per workgroup, by RADV for gfx1100"),
    _static(
        "radv.matrix_share", "fraction", "matrix instructions (multiply-adds where there are none) "
        "among that loop's vector instructions; a dual-issued pair counts as two",
        bound=Bound.MINIMUM, headline=True,
    ),
    *_by_driver("nvk", "sm_86", "warps", "SM"),
)  # fmt: skip

#: What the emulators count, whose unit is not instructions.
_UNITS = {
    "barriers": "barriers",
    "divergent_branches": "branches",
    "shared_wavefronts": "wavefronts",
    "shared_wavefronts_ideal": "wavefronts",
    "bank_conflicts": "wavefronts",
    "global_load_sectors": "sectors",
    "global_store_sectors": "sectors",
    "global_sectors": "sectors",
    "global_sectors_ideal": "sectors",
    "global_load_bytes": "bytes",
    "global_store_bytes": "bytes",
    "global_unique_bytes": "bytes",
    "prefetch": "prefetches",
    "dead_prefetches": "prefetches",
    "copies_in_flight": "bytes",
}
_MINIMA = frozenset({"copies_in_flight"})
_HEADLINES = frozenset(
    {
        "instructions",
        "barriers",
        "shared_wavefronts",
        "global_sectors",
        "global_load_bytes",
        "copies_in_flight",
    }
)
EMULATED: tuple[Metric, ...] = tuple(
    Metric(
        name=name,
        tier=Tier.EMULATED,
        unit=_UNITS.get(name, "instructions"),
        meaning=meaning,
        bound=Bound.MINIMUM if name in _MINIMA else Bound.MAXIMUM,
        headline=name in _HEADLINES,
    )
    for name, meaning in counters.MEANING.items()
)

RATIO = Metric(
    name="ratio",
    tier=Tier.MEASURED,
    unit="times",
    meaning="time of the reference over that of the kernel, medians of interleaved runs",
    bound=Bound.MINIMUM,
)

METRICS: tuple[Metric, ...] = (*STATIC, *COMPILED, *EMULATED, RATIO)
_BY_NAME = {metric.name: metric for metric in METRICS}


def find(name: str) -> Metric:
    """The metric of this name; BudgetError, with the nearest names, if there is none."""
    if name not in _BY_NAME:
        near = difflib.get_close_matches(name, _BY_NAME, n=3) or ["those of docs/performance-gate"]
        raise BudgetError(f"metric={name} is unknown; try {', '.join(near)}")
    return _BY_NAME[name]
