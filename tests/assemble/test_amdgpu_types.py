"""Limits of instructions in main loops for types that only some AMD processors support, as LLVM
compiles them: 4096x4096x4096 with tiles of 128x128."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.check.static.amdgpu import check
from kgen.schedule import Overrides, SharedMatmul
from kgen.spec import DType, Layout, Math, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.assemble import assembly
from tests.assemble.test_amdgpu_hot_loop import hot_loop

F32 = DType.F32
#: A workgroup for each tile; streams of K-tiles have a loop around the main loop.
WHOLE: Overrides = {"mainloop": "mma", "block_m": 128, "block_n": 128}
#: Instructions of the main loop (nt, nn) for so many clocks of a SIMD's matrix unit.
BARS = (
    ("gfx90a", F32, Math.EXACT, (121, 145), 4096),
    ("gfx942", F32, Math.EXACT, (121, 145), 4096),
    ("gfx950", F32, Math.EXACT, (229, 265), 8192),
    ("gfx942", F32, Math.TF32, (89, 113), 1024),
    ("gfx942", DType.E4M3FNUZ, Math.EXACT, (91, 146), 1024),
    ("gfx942", DType.E5M2FNUZ, Math.EXACT, (91, 146), 1024),
)
#: Of a line of slots on gfx1030: the dot products of 8 x 8 sums of a lane, and all instructions.
PRODUCTS, LINE = 256, 305


@cache
def code(name: str, dtype: DType, math: Math, layout: Layout, **fields: Any) -> str:
    target = targets.find(name)
    spec = Matmul(m=4096, n=4096, k=4096, dtype=dtype, math=math, layout=layout, **fields)
    shared = isinstance(pipeline.schedule_for(spec, target, WHOLE), SharedMatmul)
    extra: Overrides = {"num_workgroups": 0} if shared else {}
    schedule = pipeline.schedule_for(spec, target, {**WHOLE, **extra})
    return assembly(pipeline.source(pipeline.plan(spec, target, schedule)).text, target)


@pytest.mark.parametrize("layout", [Layout.NT, Layout.NN])
@pytest.mark.parametrize(
    ("name", "dtype", "math", "most", "cycles"), BARS, ids=[f"{b[0]}-{b[1]}-{b[2]}" for b in BARS]
)
def test_main_loop(
    name: str, dtype: DType, math: Math, most: tuple[int, int], cycles: int, layout: Layout
) -> None:
    text = code(name, dtype, math, layout)
    loop, target = hot_loop(text), targets.find(name)
    busy = [FAMILY.matrix_cycles(target, line.split()[0]) or 0 for line in loop]
    assert sum(busy) == cycles
    assert len(loop) <= most[layout is Layout.NN]
    assert re.findall(r"vgpr_spill_count: +(\d+)", text) == ["0"]
    assert check(text, target.arch) == []


@pytest.mark.parametrize("layout", [Layout.NT, Layout.NN])
@pytest.mark.parametrize("dtype", [DType.F16, DType.S8])
def test_dot_products(dtype: DType, layout: Layout) -> None:
    """The loop's only vector arithmetic besides products computes addresses."""
    text = code("gfx1030", dtype, Math.EXACT, layout)
    assert re.findall(r"vgpr_spill_count: +(\d+)", text) == ["0"]
    assert check(text, "gfx1030") == []
    lines = [line.partition(";")[0].strip() for line in text.splitlines()]
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.startswith(".LBB")}
    branches = [
        (labels.get(x.rpartition(" ")[2], n), n) for n, x in enumerate(lines) if "cbranch" in x
    ]
    loops = [
        [x for x in lines[start + 1 : end + 1] if x and not x.startswith(".")]
        for start, end in branches
        if start < end
    ]
    inner = [x for x in loops if sum("v_dot" in line for line in x) == PRODUCTS]
    assert len(inner) == 4  # the step before, two of a trip, the last
    for loop in inner:
        assert len(loop) <= LINE
        others = [line for line in loop if line.startswith("v_") and "v_dot" not in line]
        assert len(others) <= 20
