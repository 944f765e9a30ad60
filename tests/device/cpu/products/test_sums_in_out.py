"""Partial sums that the output holds between blocks of K, for which scratch memory has no room."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul, CpuMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.targets.base import Plan, Target
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from tests.device.cpu.cpu_support import addresses, best_of, check, here, load, target

#: So little scratch that small blocks of sums leave it, while copies of A and B have room.
STACK = 16384
BLOCK_FIELDS = ("mr", "nr", "mc", "kc", "nc", "pack_a", "pack_b")
BLOCKS = CpuMatmul(mr=4, nr=16, mc=48, kc=32, nc=112)


def in_out(spec: Matmul, found: Target, schedule: CpuMatmul, **fixed: int) -> BlockedMatmul:
    """Return the schedule's blocks with sums in the output."""
    blocks = {name: int(getattr(schedule, name)) for name in BLOCK_FIELDS}
    blocks["pack_b"] &= not spec.constant
    return best_of(spec, found, "blis", **{**blocks, "sums_in_out": 1, **fixed})


def planned(spec: Matmul, found: Target, schedule: CpuMatmul, **fixed: int) -> Plan:
    return pipeline.plan(spec, found, in_out(spec, found, schedule, **fixed))


def check_in_out(spec: Matmul, found: Target, schedule: CpuMatmul) -> None:
    check(spec, found, in_out(spec, found, schedule))


def small(found: Target) -> Target:
    return dataclasses.replace(found, limits={**found.limits, "stack_bytes": STACK})


def product(m: int = 41, n: int = 101, k: int = 77, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, **({"dtype": DType.F32} | fields))


def test_where_sums_are() -> None:
    """Partial sums are in scratch memory if they fit, or in an output of the accumulator's type."""
    found = small(target("x86-64-v3"))
    spec = product(epilogue=(Epilogue.BIAS, Epilogue.GELU))
    plan = planned(spec, found, BLOCKS)
    assert isinstance(plan, TiledPlan) and plan.acc.in_out
    with pytest.raises(ScheduleError, match="bytes of scratch"):
        pipeline.plan(spec, found, BLOCKS)
    for fields in ({"beta": 1.0}, {"epilogue": (Epilogue.RESIDUAL,)}, {"out_dtype": DType.F16}):
        with pytest.raises(ScheduleError, match="try sums_in_out=0"):
            pipeline.plan(product(**fields), found, BLOCKS.override(sums_in_out=1))


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("x86-64", Layout.NT),
        ("x86-64-v3", Layout.NN),
        ("x86-64-v3", Layout.TT),
        ("x86-64-v4", Layout.NN),
        ("x86-64-v4", Layout.TN),
    ],
)
def test_products(name: str, layout: Layout) -> None:
    """The last block of K is shorter, the last vector of columns partial; one and several tasks;
    an epilogue that reads rows and columns."""
    found = small(here(name))
    blocks = BLOCKS if found.has("fma") else BLOCKS.override(mr=2)
    for n in (101, 97):
        check_in_out(product(n=n, layout=layout, batch=2), found, blocks)
    check_in_out(product(layout=layout, epilogue=(Epilogue.BIAS, Epilogue.GELU)), found, blocks)
    many = blocks.override(mc=16, nc=288)
    check_in_out(product(n=603, k=64, layout=layout, ldc=611), found, many)
    if layout is Layout.NN:
        check_in_out(product(alpha=0.5), found, blocks.override(pack_a=0, nc=112, mc=84))
        check_in_out(product(constant=(ConstantOperand.B,)), found, blocks.override(pack_b=0))
        check_in_out(product(dtype=DType.F64), found, blocks.override(mr=2, nr=8, kc=16))
        check_in_out(product(dtype=DType.BF16, out_dtype=DType.F32), found, blocks)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_long_blocks(name: str) -> None:
    """B is unpacked with prefetch of the next panel, packed, or prepacked; the last block of K
    is shorter; remainders of one and several rows."""
    blocks = CpuMatmul(mr=2, nr=32, mc=8, kc=128, nc=64, pack_a=False, pack_b=False)
    for m, n in ((16, 101), (20, 96)):
        spec = product(m=m, n=n, k=300, epilogue=(Epilogue.BIAS,))
        plan = planned(spec, here(name), blocks, prefetch_panel=1)
        assert isinstance(plan, TiledPlan) and plan.acc.in_out and plan.ahead.is_panel
        check_in_out(spec, here(name), blocks)
        check_in_out(spec, here(name), blocks.override(pack_b=1))
    check_in_out(product(k=300, constant=(ConstantOperand.B,)), here(name), blocks)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("pack_b", [False, True])
def test_tasks_side_by_side_are_one_pass(name: str, pack_b: bool) -> None:
    """A thread computes neighbouring tasks of a block of rows in one pass, however two threads
    share them. Prefetches of a block of K are by the columns of the pass."""
    found = here(name)
    blocks = CpuMatmul(mr=2, nr=32, mc=8, kc=128, nc=32, pack_a=False, pack_b=pack_b)
    spec = product(m=20, n=150, k=300)
    schedule = in_out(spec, found, blocks).override(tasks_per_pass=3)
    plan = pipeline.plan(spec, found, schedule)
    assert isinstance(plan, TiledPlan)
    assert (plan.blocking.tasks_per_pass, plan.blocking.n.blocks) == (3, 5)
    check(spec, found, schedule)
    a, b = (np.arange(size, dtype=np.float32) % 7 for size in (20 * 300, 300 * 150))
    exact = a.reshape(20, 300) @ b.reshape(300, 150)
    for threads in (1, 2):
        out = np.full((20, 150), np.nan, np.float32)
        ready = load(spec, found, schedule, num_threads=threads)
        for _ in range(3):
            ready.run(addresses({"a": a, "b": b, "out": out}))
        assert (out == exact).all()


@pytest.mark.parametrize(
    ("m", "mr", "mc", "nr"),
    [
        (64, 2, 6, 16),
        (64, 2, 8, 32),
        (64, 2, 10, 24),
        (64, 2, 30, 32),
        (10, 3, 12, 24),
        (14, 4, 16, 16),
    ],
)
@pytest.mark.parametrize("constant", [(), (ConstantOperand.B,)])
def test_tiles_of_a_panel_fetch_all_lines_of_the_next(
    m: int, mr: int, mc: int, nr: int, constant: tuple[ConstantOperand, ...]
) -> None:
    spec = product(m=m, n=192, k=256, constant=constant)
    blocks = CpuMatmul(mr=mr, nr=nr, mc=mc, kc=128, nc=192, pack_a=False, pack_b=False)
    plan = planned(spec, target("x86-64-v3"), blocks, prefetch_panel=1)
    assert isinstance(plan, TiledPlan) and plan.ahead.is_panel
    step = plan.ahead.panel_line
    assert step == (8 * plan.tensors.b_strides[2] if constant else 64)
    fetched = set()
    row = 0
    while row < min(m, mc):
        part = (row + plan.tiles.rounding) // mr
        first = part * plan.ahead.panel_lines // plan.blocking.row_tiles * step
        fetched |= {first + line for line in plan.ahead.lines}
        row += mr if m > mc or row < int(plan.tiles.rows_whole) else plan.tiles.bottom_rows
    width = nr * plan.tensors.b_strides[2]
    assert fetched >= set(range(0, width, step))
    assert plan.ahead.stride == plan.tensors.b_strides[1]
