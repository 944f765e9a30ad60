"""Limits of the wgmma main loop on sm_90a, which `kgen perf update` cannot raise. The yardstick is
Triton 3.9 with a tile of 128x256x64: 85 instructions in the loop with 4 HGMMA of m64n256k16.
Traffic is counted by the emulator, which also reports every wrong transaction count."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.emulate import LaunchReport
from kgen.schedule import PromotedWgmmaMatmul, WgmmaMatmul
from kgen.spec import DType, Layout, Math, Matmul
from kgen.targets.base import BuiltKernel
from kgen.targets.cuda.assemble import SERIES, version
from kgen.targets.cuda.plan.wgmma.limits import WARPGROUP
from kgen.targets.cuda.plan.wgmma.matmul import WgmmaPlan
from tests.assemble.sass import hot_loop, matrix, read

WIDE = WgmmaMatmul(block_m=128, block_n=256, block_k=64, num_stages=4)
HIGH = WgmmaMatmul(block_m=256, block_n=128, block_k=64, num_stages=4)
SQUARE = WgmmaMatmul(block_m=128, block_n=128, block_k=64, num_stages=6)
TILES: dict[str, WgmmaMatmul] = {"128x256x64": WIDE, "256x128x64": HIGH, "128x128x64": SQUARE}
#: What the model takes for large squares, and two warpgroups that take turns.
WHOLE = WIDE.override(num_workgroups=132, group_m=8, cluster_m=2, tma_store=1)
TURNS = SQUARE.override(
    num_workgroups=132, group_m=8, cluster_m=2, tma_store=1, pingpong=1, num_stages=5
)
TILES |= {"persistent": WHOLE, "pingpong": TURNS}
#: The same for other types, with sums that are promoted and without.
SHORT = PromotedWgmmaMatmul(
    block_m=128, block_n=192, block_k=128, num_stages=4, num_workgroups=132, group_m=7, cluster_m=2,
    tma_store=True,
)  # fmt: skip
TILES |= {
    "s8": WHOLE.override(block_k=128, tma_store=0),
    "s8-scaled": WHOLE.override(block_k=128),
    "e4m3": SHORT,
    "e5m2": SHORT.override(block_n=256, group_m=8),
    "e4m3-high": SHORT.override(block_m=256, block_n=96, tma_store=0),
    "e4m3-unpromoted": SHORT.override(block_n=256, promote_k=4096),
    "tf32": WHOLE.override(block_k=32, tma_store=0),
    "f32-outputs": WHOLE.override(tma_store=0),
}
#: The same tiles where B has n inside, and is the operand that comes from registers.
SWAP = {"swap": 1, "cluster_m": 1, "cluster_n": 2, "block_n": 128}
TILES |= {
    "s8-swapped": TILES["s8"].override(block_m=256, **SWAP),
    "tf32-swapped": TILES["tf32"].override(block_m=256, **SWAP),
    "e4m3-swapped": SHORT.override(block_m=256, **SWAP),
}
TYPES: dict[str, dict[str, Any]] = {
    "s8": {"dtype": DType.S8},
    "s8-swapped": {"dtype": DType.S8},
    "s8-scaled": {"dtype": DType.S8, "out_dtype": DType.F16, "scales": ("a", "b")},
    **{name: {"dtype": DType.E4M3} for name in TILES if name.startswith("e4m3")},
    "e5m2": {"dtype": DType.E5M2},
    **{name: {"dtype": DType.F32, "math": Math.TF32} for name in ("tf32", "tf32-swapped")},
    "f32-outputs": {"out_dtype": DType.F32},
}
#: Triton's instructions for each HGMMA of m64n256k16, or products worth one.
INSTRUCTIONS_PER_HGMMA = 85 / 4

#: Of a fragment that is transposed, 64 rows and a step of k: a load and four prmt of bytes, or two
#: loads of words.
TRANSPOSING = {"LDSM": 1, "PRMT": 4}, {"LDS": 2}

#: Every tile, and every layout of the tiles for large squares; A that is transposed.
CASES = [
    (tile, Layout.NT if tile in TYPES and not TILES[tile].swap else Layout.NN) for tile in TILES
]
CASES += [("persistent", layout) for layout in Layout if layout is not Layout.NN]
CASES += [("s8", Layout.TT)]

each_case = pytest.mark.parametrize(("tile", "layout"), CASES)


@cache
def build(
    tile: str, sizes: tuple[int, int, int] = (4096, 4096, 4096), **fields: Any
) -> BuiltKernel:
    m, n, k = sizes
    spec = Matmul(m=m, n=n, k=k, **(TYPES.get(tile, {}) | fields))
    return pipeline.kernel(spec, targets.find("sm_90a"), TILES[tile])


@each_case
def test_hot_loop(tile: str, layout: Layout, tmp_path: Path) -> None:
    assert version().startswith(SERIES)
    kernel = build(tile, layout=layout)
    plan = kernel.plan
    assert isinstance(plan, WgmmaPlan)
    resources = kernel.assembled.resources
    assert (resources.spills, resources.stack, resources.findings) == (0, 0, ())
    cubin = kernel.assembled.artifacts[0].data
    loop = hot_loop(cubin, tmp_path)
    pieces = plan.products.pieces if plan.promotes_every else ()
    assert matrix(loop) == 4 * (len(pieces) or plan.schedule.rows // 64)
    # Sums that are promoted take an addition each.
    promoted = sum(len(piece.promoted) for piece in pieces)
    assert loop["FADD"] == promoted
    moved = loop["LDSM"] + loop["LDS"] + loop["PRMT"]
    if fragments := plan.products.fragments:
        each = TRANSPOSING[0 if fragments.paired else 1]
        count = 4 * plan.schedule.rows // 64
        assert {name: loop[name] for name in each} == {name: n * count for name, n in each.items()}
        assert moved == sum(each.values()) * count
    worth = 4 * plan.schedule.rows // 64 * plan.schedule.columns / 256
    others = loop.total() - promoted - moved
    assert others <= INSTRUCTIONS_PER_HGMMA * worth, dict(loop.most_common())
    # Nothing in the loop waits for memory, but before TMA overwrites what a warp has loaded.
    assert loop["MEMBAR"] == (1 if fragments else 0)
    # Products do not wait for their descriptors to come from ordinary registers, but for where the
    # two operands' tiles begin.
    assert loop["R2UR"] <= 2
    opcodes = Counter(each["opcode"].partition(".")[0] for each in read(cubin, tmp_path))
    assert opcodes["USETMAXREG"] == 2


@each_case
def test_a_stage_expects_the_bytes_of_its_boxes(tile: str, layout: Layout) -> None:
    kernel = build(tile, layout=layout)
    plan = kernel.plan
    assert isinstance(plan, WgmmaPlan)
    expected = re.findall(r"expect_tx\S+ _, \[%full\], (\d+);", kernel.source.text)
    boxes = {map_.tensor: map_.box_bytes for map_ in plan.tensor_maps}
    copies = re.findall(r"cp\.async\.bulk\.tensor\.2d\S+ \S+ \[%([ab])_map", kernel.source.text)
    # Each CTA of a cluster also gets the others' parts.
    shares = {"a": plan.schedule.cluster_n, "b": plan.schedule.cluster_m}
    assert [int(n) for n in expected] == [sum(boxes[name] * shares[name] for name in copies)]


def profile(kernel: BuiltKernel) -> LaunchReport:
    """Return counters of the whole grid, which do not depend on the data."""
    (entry,) = bundle.pack([kernel]).manifest.kernels
    buffers = {p.name: np.zeros(p.nbytes, np.uint8) for p in entry.parameters}
    (report,) = EmulatorExecutor(entry, "ptx", kernel.source.text).reports(
        buffers, None, profile=True
    )
    return report


@each_case
def test_traffic_is_the_schedules_own_formula(tile: str, layout: Layout) -> None:
    """Each cluster reads its rows of A and columns of B once, and writes each output once."""
    schedule = TILES[tile]
    m, n = (768 if block % 96 == 0 else 512 for block in (schedule.block_m, schedule.block_n))
    k = 2 * schedule.block_k
    kernel = build(tile, (m, n, k), layout=layout)
    spec, counters = kernel.plan.spec, profile(kernel).counters
    assert isinstance(spec, Matmul)
    high, wide = schedule.block_m * schedule.cluster_m, schedule.block_n * schedule.cluster_n
    reads = (m * k * (n // wide) + k * n * (m // high)) * spec.dtype.itemsize
    # Every thread that multiplies reads each scale once in all.
    ctas, consumers = kernel.plan.launches[0].grid[0], WARPGROUP * schedule.consumers
    reads += ctas * consumers * 4 * len(spec.scales)
    assert counters["global_load_bytes"] == reads
    assert counters["global_store_bytes"] == m * n * spec.out.itemsize
    assert counters["bank_conflicts"] == 0
    plan = kernel.plan
    assert isinstance(plan, WgmmaPlan)
    width = plan.products.width if plan.promotes_every else schedule.columns
    instruction = plan.products.instruction
    products = math.prod((m, n, k)) // (64 * width * instruction.depth)
    name = f"matrix.wgmma.m64n{width}k{instruction.depth}.{instruction.element}"
    assert counters[name] == 4 * products


@pytest.mark.parametrize("tile", ["s8-swapped", "e4m3", "tf32-swapped"])
def test_ragged_addends_do_not_spill(tile: str) -> None:
    """Registers that a guarded load may leave unset do not stay live between block tiles."""
    layout = Layout.NN if TILES[tile].swap else Layout.NT
    chain: dict[str, Any] = {"beta": 0.5, "epilogue": ("bias", "gelu", "residual")}
    out = DType.F32 if tile == "tf32-swapped" else DType.BF16
    kernel = build(tile, (4001, 4064, 4096), layout=layout, out_dtype=out, **chain)
    assert kernel.assembled.resources.spills == 0
