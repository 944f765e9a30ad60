"""Limits of tensor-core kernels, which `kgen perf update` cannot raise. The yardstick is Triton 3.9
with the same tiles for sm_80: 272 instructions per 128 HMMA for 128x256x64, 186 per 64 for
128x128x32, no spills. Traffic is counted by the emulator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import emulate, pipeline, targets
from kgen.emulate import LaunchReport
from kgen.spec import DType, Layout, Matmul
from kgen.spec.text import parse
from kgen.targets.base import BuiltKernel
from kgen.targets.cuda.assemble import SERIES, version
from kgen.targets.cuda.plan.matmul import MatmulPlan
from tests.assemble.sass import hot_loop, matrix

BIG = {"block_m": 128, "block_n": 256, "block_k": 64, "warp_m": 64, "warp_n": 64, "num_stages": 3}
SMALL = {"block_m": 128, "block_n": 128, "block_k": 32, "warp_m": 64, "warp_n": 64, "num_stages": 4}
#: Schedule, all instructions and HMMA of Triton's hot loop.
BARS = {"128x256x64": (BIG, 272, 128), "128x128x32": (SMALL, 186, 64)}

each_bar = pytest.mark.parametrize("bar", BARS)
each_layout = pytest.mark.parametrize("layout", tuple(Layout))


def build(schedule: dict[str, int], size: int = 4096, **fields: Any) -> BuiltKernel:
    spec = Matmul(m=size, n=size, k=size, **fields)
    target = targets.find("sm_80")
    return pipeline.kernel(spec, target, pipeline.schedule_for(spec, target, schedule))


@each_bar
@each_layout
def test_hot_loop(bar: str, layout: Layout, tmp_path: Path) -> None:
    assert version().startswith(SERIES)
    schedule, instructions, products = BARS[bar]
    kernel = build(schedule, layout=layout)
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)
    loop = hot_loop(kernel.assembled.artifacts[0].data, tmp_path)
    assert matrix(loop) == loop["HMMA"] == products
    assert loop.total() <= instructions, dict(loop.most_common())


@each_bar
@each_layout
def test_every_copy_has_16_bytes(bar: str, layout: Layout) -> None:
    spec, target = Matmul(m=4096, n=4096, k=4096, layout=layout), targets.find("sm_80")
    schedule = pipeline.schedule_for(spec, target, BARS[bar][0])
    text = pipeline.source(pipeline.plan(spec, target, schedule)).text
    copies = re.findall(r"cp\.async\.(\w+)\.\S+ .*, (\d+);", text)
    assert copies and set(copies) == {("cg", "16")}
    stores = re.findall(r"st\.global\.(\S+)", text)
    assert stores and set(stores) == {"v4.b32"}


def profile(kernel: BuiltKernel) -> LaunchReport:
    """Return counters of the whole grid, which do not depend on the data."""
    launch = kernel.plan.launches[0]
    arguments = [
        np.zeros(p.nbytes // p.dtype.itemsize, p.dtype.storage) for p in kernel.plan.spec.parameters
    ]
    return emulate.run(
        kernel.source.text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=arguments,
        dynamic_shared=launch.dynamic_shared_memory,
        cluster=launch.cluster,
        profile=True,
    )


@each_bar
@each_layout
@pytest.mark.parametrize("out", [DType.F16, DType.F32])
def test_no_access_is_wasted(bar: str, layout: Layout, out: DType) -> None:
    """Main loop and epilogue have no bank conflict, and no more sectors than their bytes need."""
    kernel = build(BARS[bar][0], size=256, layout=layout, out_dtype=out)
    counters = profile(kernel).counters
    assert counters["bank_conflicts"] == 0
    assert counters["shared_wavefronts"] == counters["shared_wavefronts_ideal"] > 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0


@each_layout
@pytest.mark.parametrize("depth", [8, 16])
def test_exact_f32_wastes_no_access_either(depth: int, layout: Layout) -> None:
    """An operand along k is transposed on its way into shared memory, without a bank conflict."""
    fields = {"block_m": 64, "block_n": 64, "block_k": depth, "thread_m": 4, "thread_n": 4}
    counters = profile(build(fields, size=128, layout=layout, dtype=DType.F32)).counters
    assert counters["bank_conflicts"] == 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0


@each_bar
def test_traffic_is_the_schedules_own_formula(bar: str) -> None:
    """Each CTA reads its rows of A and columns of B once, and writes each output once."""
    kernel = build(BARS[bar][0], size=512)
    plan = kernel.plan
    assert isinstance(plan, MatmulPlan)
    m = n = k = 512
    reads = (m * k * (n // plan.schedule.block_n) + k * n * (m // plan.schedule.block_m)) * 2
    counters = profile(kernel).counters
    assert counters["global_load_bytes"] == reads
    assert counters["global_store_bytes"] == m * n * 2


@pytest.mark.parametrize("fields", [{}, {"batch": 3}, {"batch": 3, "beta": 0.5}], ids=str)
@pytest.mark.parametrize("size", [1000, 4096])
def test_a_heavy_epilogue_does_not_spill(size: int, fields: dict[str, Any]) -> None:
    """Beside 128 sums, addends are loaded from shared memory only as registers allow."""
    kernel = build(BIG, size=size, epilogue=("bias", "gelu", "residual"), **fields)
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)


@each_bar
def test_addends_move_in_whole_sectors(bar: str) -> None:
    kernel = build(BARS[bar][0], size=256, beta=1.0, epilogue=("residual", "relu"))
    counters = profile(kernel).counters
    assert counters["bank_conflicts"] == 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("softmax 256x512 f16", {"sm_80": 1, "sm_90a": 1}),
        ("softmax 16x8192 bf16", {"sm_80": 1, "sm_90a": 1}),
        ("softmax 4x65536 f32", {"sm_80": 2, "sm_90a": 1}),
        ("relu 1024x1024 f16", {"sm_80": 1, "sm_90a": 1}),
    ],
)
def test_rows_are_read_as_seldom_as_they_can_be(
    text: str, passes: dict[str, int], target: str
) -> None:
    """Accesses have 16 bytes and cover whole sectors; a row that fits in registers of a CTA or
    cluster is read once."""
    spec, found = parse(text), targets.find(target)
    kernel = pipeline.kernel(spec, found)
    counters = profile(kernel).counters
    nbytes = spec.parameters[0].nbytes
    assert counters["global_load_bytes"] == passes[target] * nbytes
    assert counters["global_store_bytes"] == nbytes
    assert counters["global_sectors"] == counters["global_sectors_ideal"]
    assert counters["bank_conflicts"] == 0
    accesses = re.findall(r"(?:ld|st)\.global\.(\S+)", kernel.source.text)
    assert set(accesses) <= {"v4.b32", "v4.f32"}
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)
