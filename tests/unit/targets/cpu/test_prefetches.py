"""Rows and lines that CPU kernels read and prefetch, by their plans; results do not show it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, CpuMatmul, DotMatmul, InnerMatmul, OuterMatmul
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from kgen.targets.cpu.plan.kernels.gemv import OuterPlan
from kgen.targets.cpu.plan.matmul import padded
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from kgen.targets.cpu.schedule.adapt import SHARING
from tests.unit.targets.cpu.cpu_plans import plan

ROWS = OuterMatmul(mr=4, nr=64, mc=4, kc=4, nc=1024, pack_a=False, pack_b=False)


@pytest.mark.parametrize(
    ("m", "k", "dtype", "parts", "kc"),
    [
        (1, 4096, DType.F32, 4, 256),
        (4, 4095, DType.F32, 4, 256),
        (2, 4097, DType.BF16, 4, 256),
        (4, 301, DType.F32, 2, 2),
    ],
)
def test_outer_products_take_every_row_of_b_once(
    m: int, k: int, dtype: DType, parts: int, kc: int
) -> None:
    schedule = ROWS.override(mr=m, mc=m, nr=32, parts=parts, kc=kc, nc=4096)
    planned = plan(Matmul(m=m, n=4096, k=k, dtype=dtype), "x86-64-v4+bf16", schedule)
    assert isinstance(planned, OuterPlan)
    depth = planned.depth
    taken = [
        block + row + i * depth.part
        for block in range(0, depth.blocks, planned.schedule.kc)
        for row in range(depth.part)
        for i in range(parts)
    ]
    taken += [
        row + i * depth.rest_part
        for row in range(depth.blocks, depth.blocks + depth.rest_part)
        for i in range(parts)
    ]
    taken += range(depth.left_from, k)
    assert sorted(taken) == list(range(k))


@pytest.mark.parametrize(
    ("fields", "offsets", "locality"),
    [
        ({"prefetch": 2, "apart": 6, "level": 2}, (6, 12), 2),
        ({"prefetch": 1, "apart": 8, "level": 1}, (8,), 3),
    ],
)
def test_rows_that_are_fetched_are_apart(
    fields: dict[str, int], offsets: tuple[int, ...], locality: int
) -> None:
    spec = Matmul(m=4, n=4096, k=4096, dtype=DType.F32)
    planned = plan(spec, "x86-64-v4", ROWS.override(parts=1, kc=64, **fields))
    assert isinstance(planned, OuterPlan)
    assert planned.fetch_offsets == tuple(row * 4096 * 4 for row in offsets)
    assert f"i32 0, i32 {locality}, i32 1)" in pipeline.source(planned).text
    none = plan(spec, "x86-64-v4", ROWS.override(parts=1, kc=64, prefetch=0))
    assert "call void @llvm.prefetch" not in pipeline.source(none).text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"ahead": 1000},
            "ahead=1000 is not a multiple of 256, the bytes of a row of B; try ahead=768",
        ),
        ({"ahead": 100}, "try ahead=256"),
        ({"kc": 32}, "(mr=6, kc=64); try mainloop=blis"),
        ({"mr": 3}, "(mr=6, kc=64); try mainloop=blis"),
    ],
)
def test_what_cannot_be_fetched_ahead_is_refused(fields: dict[str, int], message: str) -> None:
    target = FAMILY.find("x86-64-v4")
    assert target is not None
    spec = Matmul(m=6, n=64, k=64, dtype=DType.F32)
    fits: dict[str, Any] = {"mr": 6, "mc": 6, "nr": 32, "nc": 64, "kc": 64, "ahead": 512}
    assert FAMILY.plan(spec, target, AheadMatmul(**fits, pack_a=False, pack_b=False))
    with pytest.raises(ScheduleError, match=re.escape(message)):
        FAMILY.plan(spec, target, AheadMatmul(**(fits | fields), pack_a=False, pack_b=False))


@pytest.mark.parametrize(("level", "locality"), [(1, 3), (2, 2)])
def test_inner_products_fetch_into_the_cache_of_their_level(level: int, locality: int) -> None:
    spec = Matmul(m=4, n=4096, k=4096, dtype=DType.F32, layout=Layout.NT)
    schedule = InnerMatmul(
        mr=4,
        nr=2,
        mc=4,
        kc=1024,
        nc=256,
        pack_a=False,
        pack_b=False,
        prefetch=2,
        level=level,
    )
    text = pipeline.source(plan(spec, "x86-64-v4", schedule)).text
    assert f"i32 0, i32 {locality}, i32 1)" in text
    assert f"i32 0, i32 {5 - locality}, i32 1)" not in text


def test_rows_of_sums_do_not_meet_in_a_cache_set() -> None:
    """A task may have any number of columns."""
    for columns in (240, 512, 1008, 1024, 2032):
        assert padded(4 * columns) % 1024 and padded(4 * columns) % 64 == 0
    planned = pipeline.plan_with(
        Matmul(m=32, n=3000, k=2048, dtype=DType.F32),
        targets.find("x86-64-v3"),
        {
            "mainloop": "blis",
            "mr": 6,
            "nr": 16,
            "mc": 36,
            "kc": 8,
            "nc": 1008,
            "pack_a": 1,
            "pack_b": 0,
            "sums_in_out": 0,
        },
    )
    assert isinstance(planned, BlisPlan) and planned.acc.row == 4 * 1008 + 2 * 64
    outer = pipeline.plan_with(
        Matmul(m=2, n=1008, k=2048, dtype=DType.F32),
        targets.find("x86-64-v3"),
        {
            "mainloop": "outer",
            "mr": 2,
            "nr": 16,
            "mc": 2,
            "kc": 256,
            "nc": 1008,
            "parts": 4,
            "tasks_per_pass": 1,
        },
    )
    assert isinstance(outer, OuterPlan) and outer.acc.row == 4 * 1008 + 2 * 64


@pytest.mark.parametrize(("kc", "mr"), [(128, 6), (256, 6), (130, 5)])
def test_tiles_fetch_the_panel_that_is_packed_next(kc: int, mr: int) -> None:
    """The tiles prefetch all rows of the panel, in equal parts."""
    schedule = AheadMatmul(mr=mr, nr=16, mc=24 * mr, kc=kc, nc=256, pack_a=False, pack_b=True)
    planned = plan(Matmul(m=128, n=2048, k=2048, dtype=DType.F32), "x86-64-v3", schedule)
    assert isinstance(planned, TiledPlan)
    assert planned.fetches_to_pack and not planned.ahead.exists
    rows, tiles = planned.packing.share, planned.blocking.row_tiles - 1  # one of them packs
    assert (rows - 1) * tiles < kc <= rows * tiles


@pytest.mark.parametrize(("m", "n", "two_sums"), [(1, 4096, True), (4, 4096, False)])
def test_skinny_gemm_by_prepacked_pairs(m: int, n: int, two_sums: bool) -> None:
    """Tiles with few accumulators have two per output, and a small M keeps the accumulators in
    registers along all of K."""
    spec = Matmul(m=m, n=n, k=4096, dtype=DType.BF16, constant=(ConstantOperand.B,))
    schedule = AheadMatmul(mr=m, nr=16, mc=m, kc=4096, nc=512, pack_a=True, pack_b=False)
    planned = plan(spec, "x86-64-v3", schedule)
    assert isinstance(planned, BlisPlan)
    assert planned.has_two_sums(planned.tiles.whole) == two_sums
    assert planned.fetches
    blis = plan(spec, "x86-64-v3", CpuMatmul(mr=m, nr=16, mc=m, kc=4096, nc=512, pack_b=False))
    assert isinstance(blis, BlisPlan) and not blis.fetches


def test_what_is_fetched_goes_to_the_cache_of_its_level() -> None:
    """The instructions are PREFETCHT0 and PREFETCHT1."""
    found = targets.find("x86-64-v4")
    spec = Matmul(m=3, n=512, k=512, dtype=DType.F32, constant=(ConstantOperand.B,))
    panels = AheadMatmul(mr=3, nr=32, mc=3, kc=512, nc=512, pack_a=False, pack_b=False)
    for level, locality in ((1, 3), (2, 2)):
        text = pipeline.source(pipeline.plan(spec, found, panels.override(level=level))).text
        assert text.count(f"i32 0, i32 {locality}, i32 1)") == 2
    for level in (1, 2):
        short = panels.override(level=level, ahead=192)
        lines = pipeline.source(pipeline.plan(spec, found, short)).text.splitlines()
        fetched = [line for line in lines if ".ahead = getelementptr" in line]
        assert len(fetched) == 2 and all(line.endswith(", i64 192") for line in fetched)
    pairs = Matmul(
        m=3, n=512, k=2048, dtype=DType.F32, b_dtype=DType.BF16, constant=(ConstantOperand.B,)
    )
    text = pipeline.source(
        pipeline.plan(pairs, found, panels.override(kc=2048, ahead=192, level=1))
    ).text
    assert text.count("i64 192") >= 2 and "i32 0, i32 3, i32 1)" in text
    with pytest.raises(ScheduleError, match=r"level=3 is more than 2; try level=2"):
        panels.override(level=3)


BLOCKED = CpuMatmul(mr=2, nr=64, mc=4, kc=512, nc=1024, pack_a=False, pack_b=False)


def test_tiles_prefetch_the_next_block_of_k() -> None:
    """Dot products prefetch what they multiply, blis also what it packs next; with one block of
    K there is no next one."""
    dot = DotMatmul(mr=2, nr=32, mc=4, kc=512, nc=1024, pack_a=False, pack_b=False)
    for schedule, dtype, fields, prefetches in (
        (BLOCKED, DType.F32, {}, True),
        (BLOCKED, DType.F32, {"pack_b": 1}, True),
        (BLOCKED, DType.F32, {"kc": 2048}, False),
        (dot, DType.BF16, {}, True),
        (dot, DType.BF16, {"pack_b": 1}, False),
        (dot, DType.BF16, {"kc": 2048}, False),
    ):
        spec = Matmul(m=4, n=1024, k=2048, dtype=dtype)
        planned = plan(spec, "x86-64-v4+bf16", schedule.override(**fields))
        assert isinstance(planned, TiledPlan)
        assert planned.ahead.is_block == planned.ahead.exists == prefetches, fields


@pytest.mark.parametrize(
    ("name", "dtype", "tile"),
    [
        ("x86-64-v3", DType.F32, {"mr": 5, "nr": 16, "mc": 5}),
        ("x86-64-v4", DType.F16, {"mr": 4, "nr": 64, "mc": 8, "pack_a": 1}),
        ("x86-64-v4", DType.F32, {"mr": 2, "nr": 128, "mc": 6}),
    ],
)
def test_a_streamed_b_is_prefetched_once(name: str, dtype: DType, tile: dict[str, int]) -> None:
    """Each tile of a panel prefetches its share of the next block of K; shares are rounded up."""
    schedule = BLOCKED.override(**tile)
    spec = Matmul(m=schedule.mc, n=4096, k=4096, dtype=dtype)
    planned = plan(spec, name, schedule)
    assert isinstance(planned, TiledPlan)
    tiles = schedule.nc // schedule.nr * planned.blocking.row_tiles
    fetched = tiles * (schedule.kc // planned.loop.depth) * planned.ahead.step
    block = schedule.kc * schedule.nc * dtype.itemsize
    assert block <= fetched <= 1.25 * block
    shares = len(planned.tiles.all) * len(planned.ahead.lines)
    assert pipeline.source(planned).text.count("call void @llvm.prefetch") == shares


def test_a_short_k_is_packed_once() -> None:
    """The first task packs all columns for tasks of other rows, if K is one block, the panels
    fit the stack, and A is not packed for several blocks of columns."""
    spec = Matmul(m=100, n=1024, k=5, dtype=DType.F32)
    once = BLOCKED.override(mr=6, nr=32, mc=6, kc=5, pack_b=1)
    for fields, keeps in (
        ({}, True),
        ({"pack_b": 0}, False),
        ({"mc": 102}, False),
        ({"pack_a": 1}, True),
        ({"pack_a": 1, "nc": 512}, False),
    ):
        assert with_sharing(spec, once.override(**fields)).keep_b is keeps, fields
    long = Matmul(m=100, n=1024, k=512, dtype=DType.F32)
    assert not with_sharing(long, once.override(kc=512)).keep_b


def with_sharing(spec: Matmul, schedule: CpuMatmul) -> CpuMatmul:
    """Return the schedule with the model's choice of what tasks pack for each other."""
    target = targets.find("x86-64-v4")
    found = FAMILY.complete(spec, target, schedule, {*schedule.names} - {*SHARING})
    assert isinstance(found, CpuMatmul) and FAMILY.plan(spec, target, found)
    return found
