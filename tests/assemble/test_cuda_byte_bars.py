"""Limits of products of 8-bit types, which `kgen perf update` cannot raise. The yardstick is Triton
3.9's f16 kernels for sm_80 (`test_cuda_bars.py`), plus one prmt for each register of a transposed
operand, and one addition for each promoted sum."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.spec import DType, Layout, Matmul
from kgen.targets.base import BuiltKernel
from kgen.targets.cuda.plan.mma.matmul import MmaPlan
from tests.assemble.sass import hot_loop, matrix
from tests.assemble.test_cuda_bars import profile

BIG = {"block_m": 128, "block_n": 256, "block_k": 128, "warp_m": 64, "warp_n": 64, "num_stages": 3}
STAGED = BIG | {"block_k": 64, "num_stages": 2}
SHORT = BIG | {"block_n": 128, "warp_n": 32}
#: Target, dtype, schedule, matrix instructions of a tile and all instructions for them.
BARS = {
    "s8": ("sm_80", DType.S8, BIG, 128, 272),
    "s8-staged": ("sm_75", DType.S8, STAGED, 256, 2 * 272),
    "e4m3": ("sm_89", DType.E4M3, SHORT, 64, 186),
}
each_bar = pytest.mark.parametrize("bar", BARS)
each_layout = pytest.mark.parametrize("layout", tuple(Layout))


def build(bar: str, size: int, **fields: Any) -> BuiltKernel:
    name, dtype, schedule, *_ = BARS[bar]
    spec, target = Matmul(m=size, n=size, k=size, dtype=dtype, **fields), targets.find(name)
    return pipeline.kernel(spec, target, pipeline.schedule_for(spec, target, schedule))


@each_bar
@each_layout
def test_hot_loop(bar: str, layout: Layout, tmp_path: Path) -> None:
    kernel = build(bar, 4096, layout=layout)
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)
    loop = hot_loop(kernel.assembled.artifacts[0].data, tmp_path)
    plan = kernel.plan
    assert isinstance(plan, MmaPlan)
    parted = sum(2 * len(step.paired) for step in plan.k_steps)
    promoted = sum(len(step.promoted) for step in plan.k_steps)
    *_, products, instructions = BARS[bar]
    assert (matrix(loop), loop["PRMT"], loop["FADD"]) == (products, parted, promoted)
    # ptxas fills gaps between these products with instructions that do nothing.
    useful = loop.total() - loop["NOP"]
    assert useful - parted - promoted <= instructions, dict(loop.most_common())


@each_bar
@each_layout
@pytest.mark.parametrize("out", ["sums", DType.F16, "bytes"])
def test_no_access_is_wasted(bar: str, layout: Layout, out: str) -> None:
    """Main loop and epilogue have no bank conflict, and no more sectors than their bytes need."""
    dtype = BARS[bar][1]
    sums = DType.S32 if dtype is DType.S8 else DType.F32
    kernel = build(
        bar, 256, layout=layout, out_dtype={"sums": sums, "bytes": dtype}.get(out, DType.F16)
    )
    counters = profile(kernel).counters
    assert counters["bank_conflicts"] == 0
    assert counters["shared_wavefronts"] == counters["shared_wavefronts_ideal"] > 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0


@pytest.mark.parametrize("bar", ["s8", "e4m3"])
@each_layout
def test_every_copy_has_16_bytes(bar: str, layout: Layout) -> None:
    copies = re.findall(
        r"cp\.async\.(\w+)\.\S+ .*, (\d+);", build(bar, 1024, layout=layout).source.text
    )
    assert copies and set(copies) == {("cg", "16")}


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_120"])
def test_the_models_choice_does_not_spill(target: str) -> None:
    found = targets.find(target)
    dtypes = targets.family("cuda").dtypes("matmul", found)
    for dtype in {DType.S8, DType.E4M3} & set(dtypes):
        for size, layout in ((1024, Layout.NT), (4096, Layout.NN), (131, Layout.TT)):
            spec = Matmul(m=size, n=size, k=size, dtype=dtype, layout=layout)
            assert pipeline.kernel(spec, found).assembled.resources.spills == 0, spec.key
