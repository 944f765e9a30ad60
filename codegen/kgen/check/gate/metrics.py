"""Metrics that a budget may limit: name, tier, source, unit, meaning and direction."""

from __future__ import annotations

import difflib
import math
from enum import StrEnum
from typing import Any

from kgen.emulate import counters
from kgen.emulate.wording import shorten
from kgen.errors import BudgetError
from kgen_runtime.values import frozen

#: Decimals of a fraction in a budget.
DECIMALS = 4


class Tier(StrEnum):
    """Kind of source of a number. Static and emulated numbers are exact, measured ones are not."""

    STATIC = "static"
    EMULATED = "emulated"
    MEASURED = "measured"


class BudgetSide(StrEnum):
    """Side of a budget: an upper or a lower limit."""

    MAXIMUM = "maximum"
    MINIMUM = "minimum"


@frozen
class Metric:
    """Number that a budget may limit.

    `source` says what the number is read from. `kgen perf add` writes the `headline` metrics.
    """

    name: str
    tier: Tier
    source: str
    unit: str
    meaning: str
    bound: BudgetSide = BudgetSide.MAXIMUM
    headline: bool = False

    def keeps(self, value: float, budget: float) -> bool:
        return value <= budget if self.bound is BudgetSide.MAXIMUM else value >= budget

    def rounded(self, value: float) -> float:
        """Return a whole number as it is, or a fraction rounded to a limit that it keeps."""
        if float(value).is_integer():
            return int(value)
        scale = 10.0**DECIMALS
        loose = math.ceil if self.bound is BudgetSide.MAXIMUM else math.floor
        return loose(value * scale) / scale

    def better(self, value: float, budget: float) -> bool:
        return value < budget if self.bound is BudgetSide.MAXIMUM else value > budget


def _static(name: str, source: str, unit: str, meaning: str, **more: Any) -> Metric:
    return Metric(name=name, tier=Tier.STATIC, source=source, unit=unit, meaning=meaning, **more)


#: Sources of the static metrics.
_REPORT, _CODE = "assembler report", "machine code"
_OCCUPANCY, _SEARCH = "occupancy rules", "schedule search"

STATIC: tuple[Metric, ...] = (
    _static("registers", _REPORT, "registers", "vector registers per thread", headline=True),
    _static(
        "accumulator_registers", _REPORT, "registers", "accumulator registers per thread (AMD)"
    ),
    _static("scalar_registers", _REPORT, "registers", "scalar registers per wave (AMD)"),
    _static("spills", _REPORT, "bytes", "bytes of registers spilled to memory, in all of the code"),
    _static("stack", _REPORT, "bytes", "local memory per thread"),
    _static(
        "shared_memory", _REPORT, "bytes", "shared memory (LDS) per workgroup", headline=True
    ),
    _static("code_bytes", _REPORT, "bytes", "size of the machine code"),
    _static(
        "occupancy", _OCCUPANCY, "warps", "warps resident on one SM, or waves on one SIMD, as "
        "limited by registers, shared memory and threads", bound=BudgetSide.MINIMUM, headline=True,
    ),
    _static(
        "hot_loop_instructions", _CODE, "instructions", "instructions of the hot loop: the "
        "innermost loop with most matrix instructions, else most multiply-adds, else most loads; "
        "all of the code if its loop is fully unrolled", headline=True,
    ),
    _static(
        "hot_loop_spills", _CODE, "instructions", "instructions of the hot loop that store a "
        "register to the stack or load it back",
    ),
    _static("matrix_instructions", _CODE, "instructions", "matrix instructions of the hot loop"),
    _static(
        "matrix_share", _CODE, "fraction", "share of matrix instructions (multiply-adds if there "
        "are none) in the hot loop", bound=BudgetSide.MINIMUM, headline=True,
    ),
    _static(
        "instructions_per_matrix_cycle", _CODE, "instructions", "instructions of the hot loop per "
        "matrix cycle: a clock in which its matrix instructions keep a SIMD busy (AMD)",
    ),
    _static(
        "lds_cycles_per_matrix_cycle", _CODE, "fraction", "clocks in which the hot loop keeps LDS "
        "busy, without bank conflicts, per matrix cycle (AMD)",
    ),
    _static(
        "l1_cycles_per_matrix_cycle", _CODE, "fraction", "clocks in which the hot loop keeps L1 "
        "busy, per matrix cycle (AMD)",
    ),
    _static(
        "loads_per_matrix", _CODE, "loads", "loads of the hot loop per matrix instruction "
        "(multiply-add if there are none)", headline=True,
    ),
    _static("findings", _REPORT, "warnings", "warnings of ptxas about slow code (C75xx)"),
    _static(
        "schedules_predicted", _SEARCH, "schedules", "schedules whose time the cost model "
        "predicted to choose one (NVIDIA matmuls whose entry sets no schedule)",
    ),
    _static("schedules_planned", _SEARCH, "schedules", "schedules that were then planned in full"),
)  # fmt: skip


def _by_driver(driver: str, gpu: str, warps: str, holder: str) -> tuple[Metric, ...]:
    """Return the metrics of the machine code that a driver compiles from a Vulkan kernel."""
    source = f"{driver.upper()} for {gpu}"
    least: dict[str, Any] = {"bound": BudgetSide.MINIMUM}
    headline: dict[str, Any] = {"headline": True}
    return (
        _static(f"{driver}.registers", source, "registers", "registers per thread", **headline),
        _static(f"{driver}.spills", source, "registers", "registers spilled to memory"),
        _static(f"{driver}.code_bytes", source, "bytes", "size of the machine code"),
        _static(
            f"{driver}.occupancy", source, warps, f"{warps} resident on one {holder}",
            **least, **headline,
        ),
        _static(
            f"{driver}.hot_loop_instructions", source, "instructions",
            "instructions of the hot loop", **headline,
        ),
        _static(
            f"{driver}.matrix_instructions", source, "instructions",
            "matrix instructions of the hot loop", **least,
        ),
        _static(
            f"{driver}.others_per_matrix", source, "instructions", "other instructions of the hot "
            "loop per matrix instruction (multiply-add if there are none)", **headline,
        ),
        _static(
            f"{driver}.scalar_loads", source, "loads",
            "loads of 32 bits or less from buffers in the hot loop", **headline,
        ),
    )  # fmt: skip


#: Metrics of Vulkan kernels, available if the drivers are installed
#: (:mod:`kgen.check.static.vulkan`).
COMPILED: tuple[Metric, ...] = (
    *_by_driver("radv", "gfx1100", "waves", "SIMD"),
    _static("radv.shared_memory", "RADV for gfx1100", "bytes", "LDS per workgroup"),
    _static(
        "radv.matrix_share", "RADV for gfx1100", "fraction", "share of matrix instructions "
        "(multiply-adds if there are none) in the vector instructions of the hot loop; a "
        "dual-issued pair counts as two", bound=BudgetSide.MINIMUM, headline=True,
    ),
    *_by_driver("nvk", "sm_86", "warps", "SM"),
)  # fmt: skip

#: Units of the counters that do not count instructions.
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
    "prefetches_outside": "prefetches",
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
        source="emulator",
        unit=_UNITS.get(name, "instructions"),
        meaning=meaning,
        bound=BudgetSide.MINIMUM if name in _MINIMA else BudgetSide.MAXIMUM,
        headline=name in _HEADLINES,
    )
    for name, meaning in counters.MEANING.items()
)

#: Prefetches past the end of a buffer: the last iterations of a loop issue them.
OUTSIDE_SHARE = Metric(
    name="prefetches_outside_share",
    tier=Tier.EMULATED,
    unit="per cent",
    meaning="prefetches_outside as a share of all prefetches",
    source="emulator",
)
RATIO = Metric(
    name="ratio",
    tier=Tier.MEASURED,
    source="timing",
    unit="times",
    meaning="time of the library divided by the time of the kernel, medians of interleaved runs",
    bound=BudgetSide.MINIMUM,
)

METRICS: tuple[Metric, ...] = (*STATIC, *COMPILED, *EMULATED, OUTSIDE_SHARE, RATIO)
_BY_NAME = {metric.name: metric for metric in METRICS}


def find(name: str) -> Metric:
    """Return the metric of this name. Raises BudgetError, with the nearest names."""
    if name not in _BY_NAME:
        near = difflib.get_close_matches(name, _BY_NAME, n=3)
        remedy = f"try {', '.join(near)}" if near else "see docs/reference/metrics.md"
        raise BudgetError(f"metric={shorten(name)} is unknown; {remedy}")
    return _BY_NAME[name]
