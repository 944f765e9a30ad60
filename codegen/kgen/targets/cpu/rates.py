"""Peak rates of one core of a target, for rooflines and for the cost model.

Arithmetic is from the published rates of the core (`cores.toml`), memory bandwidth from the fitted
cycles of reading a line (`schedule/coefficients.toml`), so a floor and a prediction assume the same
core at the same clock.
"""

from __future__ import annotations

from kgen import schedule as kinds
from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.cpu.cores import TargetCore, coefficients
from kgen.targets.cpu.plan.amx.tiles import TILE_PRODUCTS, TILE_ROWS, tile_k, tile_product
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.tiles.dots import DOTS, dot_for
from kgen.targets.device import Rates

#: Cycles of the tile unit per product of two AMX tiles: one per row of 16 (Intel Optimization
#: Reference Manual 248966, "Intel AMX").
TILE_PRODUCT = 16.0


def products(dtype: DType, target: Target) -> float:
    """Return the vectors of products per cycle; each lane multiplies one k or one group of k."""
    core, dot = TargetCore(target=target), dot_for(dtype, target)
    if dot and dtype is DType.BF16:
        return core.rates.pairs * LINE_BYTES / core.width
    adds_apart = dot is not None and not dot.adds
    return core.multiply_adds / (1 + adds_apart)


def rates(target: Target) -> Rates:
    """Return the rates of one core of the target that is busy alone."""
    core = TargetCore(target=target)
    clock, lanes = core.rates.clock, core.width / 4
    f32 = 2 * lanes * core.multiply_adds * clock
    flops = {"f64": f32 / 2, "f32": f32}
    for dtype in {**TILE_PRODUCTS, **DOTS}:
        if tile_product(dtype, target):
            per_cycle = 2 * TILE_ROWS**2 * tile_k(dtype) / TILE_PRODUCT
        elif dot := dot_for(dtype, target):
            per_cycle = 2 * lanes * dot.group * products(dtype, target)
        else:
            continue
        flops[str(dtype)] = per_cycle * clock
    return Rates(
        device=f"one {core.rates.name} core at {clock / 1e9:g} GHz",
        units=1,
        flops=flops,
        dram=LINE_BYTES / coefficients(target, kinds.CpuMatmul)["memory_line"] * clock,
    )
