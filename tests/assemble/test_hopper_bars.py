"""The bars for the wgmma main loop on sm_90a, which no update of a budget can move.

The yardstick is what Triton 3.9 makes of a tile of 128x256x64: 85 instructions in the loop with 4
HGMMA of m64n256k16. Traffic is counted by the emulator, which also faults on every transaction
count that is not exact.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute import EmulatorExecutor
from kgen.emulate import Report
from kgen.pipeline import Kernel
from kgen.schedule import WgmmaMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.cuda.assemble import SERIES, version
from kgen.targets.cuda.plan.matmul_wgmma import WgmmaPlan
from tests.assemble.sass import hot_loop, read

WIDE = WgmmaMatmul(block_m=128, block_n=256, block_k=64, num_stages=4)
HIGH = WgmmaMatmul(block_m=256, block_n=128, block_k=64, num_stages=4)
SQUARE = WgmmaMatmul(block_m=128, block_n=128, block_k=64, num_stages=6)
TILES = {"128x256x64": WIDE, "256x128x64": HIGH, "128x128x64": SQUARE}
#: What the model takes for large squares, and two warpgroups that take turns.
WHOLE = WIDE.override(num_ctas=132, group_m=8, cluster_m=2, tma_store=1)
TURNS = SQUARE.override(num_ctas=132, group_m=8, cluster_m=2, tma_store=1, pingpong=1, num_stages=5)
TILES |= {"persistent": WHOLE, "pingpong": TURNS}
#: Triton's instructions for each HGMMA of m64n256k16, or products worth one.
INSTRUCTIONS_PER_HGMMA = 85 / 4

#: Every tile, and every layout of the tiles for large squares.
CASES = [(tile, Layout.NN) for tile in TILES]
CASES += [("persistent", layout) for layout in Layout if layout is not Layout.NN]

each_case = pytest.mark.parametrize(("tile", "layout"), CASES)


def build(schedule: WgmmaMatmul, size: int = 4096, **fields: Any) -> Kernel:
    spec = Matmul(m=size, n=size, k=size, **fields)
    return pipeline.kernel(spec, targets.find("sm_90a"), schedule)


@each_case
def test_hot_loop(tile: str, layout: Layout, tmp_path: Path) -> None:
    assert version().startswith(SERIES)
    schedule = TILES[tile]
    kernel = build(schedule, layout=layout)
    resources = kernel.assembled.resources
    assert (resources.spills, resources.stack, resources.findings) == (0, 0, ())
    cubin = kernel.assembled.artifacts[0].data
    loop = hot_loop(cubin, tmp_path)
    assert loop["HGMMA"] == 4 * schedule.rows // 64
    worth = loop["HGMMA"] * schedule.block_n / 256
    assert loop.total() <= INSTRUCTIONS_PER_HGMMA * worth, dict(loop.most_common())
    # Products do not wait for their descriptors to come from ordinary registers.
    assert loop["R2UR"] <= 1
    opcodes = Counter(each["opcode"].partition(".")[0] for each in read(cubin, tmp_path))
    assert opcodes["USETMAXREG"] == 2


@each_case
def test_a_stage_expects_the_bytes_of_its_boxes(tile: str, layout: Layout) -> None:
    kernel = build(TILES[tile], layout=layout)
    plan = kernel.plan
    assert isinstance(plan, WgmmaPlan)
    expected = re.findall(r"expect_tx\S+ _, \[%full\], (\d+);", kernel.source.text)
    boxes = {map_.tensor: map_.box_bytes for map_ in plan.tensor_maps}
    copies = re.findall(r"cp\.async\.bulk\.tensor\.2d\S+ \S+ \[%([ab])_map", kernel.source.text)
    # Each CTA of a cluster also gets the others' parts of B.
    shares = {"a": 1, "b": plan.schedule.cluster_m}
    assert [int(n) for n in expected] == [sum(boxes[name] * shares[name] for name in copies)]


def profile(kernel: Kernel) -> Report:
    """Counters of the whole grid; what the data are does not change them."""
    (entry,) = bundle.pack([kernel]).manifest.kernels
    buffers = {p.name: np.zeros(p.nbytes, np.uint8) for p in entry.parameters}
    (report,) = EmulatorExecutor(entry, "ptx", kernel.source.text).reports(
        buffers, None, profile=True
    )
    return report


@pytest.mark.parametrize(
    ("tile", "layout", "out"),
    [*((*case, DType.F16) for case in CASES), ("persistent", Layout.NN, DType.F32)],
)
def test_traffic_is_the_schedules_own_formula(tile: str, layout: Layout, out: DType) -> None:
    """Each CTA reads its rows of A, and each cluster its columns of B once; each output is written
    once."""
    schedule, m, n, k = TILES[tile], 512, 512, 256
    if out is DType.F32:
        schedule = schedule.override(tma_store=0)
    spec = Matmul(m=m, n=n, k=k, layout=layout, out_dtype=out)
    counters = profile(pipeline.kernel(spec, targets.find("sm_90a"), schedule)).counters
    height = schedule.block_m * schedule.cluster_m
    reads = (m * k * (n // schedule.block_n) + k * n * (m // height)) * 2
    assert counters["global_load_bytes"] == reads
    assert counters["global_store_bytes"] == m * n * out.itemsize
    assert counters["bank_conflicts"] == 0
    products = math.prod((m, n, k)) // (64 * schedule.block_n * 16)
    assert counters[f"matrix.wgmma.m64n{schedule.block_n}k16.f16"] == 4 * products
