"""Panels of B that are packed while they are multiplied, and reused by later tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, BlockedMatmul, CpuMatmul, DotMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from kgen.targets.cpu.schedule.adapt import completed
from tests.device.cpu import cpu_support
from tests.device.cpu.cpu_support import addresses, here, load, target, with_sharing

BLOCKS = CpuMatmul(mr=4, nr=32, mc=16, kc=128, nc=32)
GROUPS = DotMatmul(mr=4, nr=32, mc=16, kc=128, nc=32)
#: A target with each type's main loop: f32 and f16 by FMA, bf16 in pairs, s8 by fours.
TARGETS = {
    DType.F32: "x86-64-v4",
    DType.F16: "x86-64-v4",
    DType.BF16: "x86-64-v4+bf16",
    DType.S8: "x86-64-v4+vnni",
}


def blocks(dtype: DType) -> BlockedMatmul:
    return BLOCKS if dtype in (DType.F32, DType.F16) else GROUPS


def product(dtype: DType, m: int, n: int, k: int, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=dtype, **fields)


def planned(spec: Matmul, schedule: BlockedMatmul) -> TiledPlan:
    found = target(TARGETS[spec.dtype])
    plan = pipeline.plan(spec, found, with_sharing(spec, found, schedule))
    assert isinstance(plan, TiledPlan)
    return plan


def check(spec: Matmul, found: Target, schedule: BlockedMatmul) -> None:
    cpu_support.check(spec, found, with_sharing(spec, found, schedule))


def text(spec: Matmul) -> str:
    return pipeline.source(planned(spec, GROUPS)).text


def test_what_stays_packed() -> None:
    """B is reused if several blocks of rows read it and it fits, else A; neither if K is cut
    into blocks."""
    spec = product(DType.BF16, 41, 96, 64)
    assert planned(spec, GROUPS.override(pack_a=0)).packing.keeps
    assert planned(spec, GROUPS.override(pack_a=0)).rows_are_fastest
    both = planned(spec, GROUPS)
    assert both.keeps_a
    assert not both.packing.keeps
    assert planned(spec, GROUPS.override(nc=96)).packing.keeps
    assert not planned(spec, GROUPS.override(mc=44, nc=96)).packing.keeps
    blocked = planned(spec, GROUPS.override(kc=32))
    assert not blocked.keeps_a
    assert not blocked.packing.keeps
    large = product(DType.BF16, 41, 2048, 128)
    assert not planned(large, GROUPS.override(pack_a=0, nc=2048)).packing.keeps
    found = target(TARGETS[DType.BF16])
    for fields in ({}, {"mc": 44, "nc": 96}, {"kc": 32, "nc": 96}, {"pack_b": 0, "pack_a": 0}):
        with pytest.raises(ScheduleError, match=r"keep_b=1 requires .*; try keep_b=0"):
            pipeline.plan(spec, found, GROUPS.override(keep_b=1, **fields))
    with pytest.raises(ScheduleError, match="bytes of scratch"):
        pipeline.plan(large, found, GROUPS.override(pack_a=0, nc=2048, keep_b=1))


def test_what_tiles_pack() -> None:
    """B stays unpacked if every block of rows has a whole tile and only the last block of K ends
    in a partial group."""
    spec = product(DType.BF16, 41, 96, 64)
    assert planned(spec, GROUPS).packing.in_tiles
    cut = product(DType.BF16, 41, 96, 63)
    assert planned(cut, GROUPS).packing.in_tiles
    assert not planned(cut, GROUPS.override(kc=32)).packing.in_tiles
    assert not planned(product(DType.BF16, 34, 96, 64), GROUPS).packing.in_tiles
    assert not planned(product(DType.BF16, 41, 96, 64, layout=Layout.NT), GROUPS).packing.in_tiles
    assert planned(product(DType.F32, 41, 96, 63), BLOCKS).packing.in_tiles


@pytest.mark.parametrize("dtype", list(TARGETS))
@pytest.mark.parametrize("layout", list(Layout))
def test_products(dtype: DType, layout: Layout) -> None:
    """Several blocks of rows; one and several panels for each task, the last one partial; blocks
    of K."""
    found, schedule = target(TARGETS[dtype]), blocks(dtype)
    spec, two = (product(dtype, 21, 41, 64, layout=layout, batch=batch) for batch in (1, 2))
    check(two, found, schedule)
    check(spec, found, schedule.override(nc=96))
    check(product(dtype, 21, 41, 63, layout=layout), found, schedule)
    check(spec, found, schedule.override(nc=96, kc=48 if dtype is DType.F32 else 64))
    if layout is Layout.NN and dtype is not DType.F16:
        check(two, found, schedule.override(pack_a=0))
        check(spec, found, schedule.override(pack_a=0, nc=64))


FLOATS = (DType.F32, DType.F16, DType.BF16)
AHEAD = AheadMatmul(mr=3, nr=16, mc=12, kc=32, nc=48)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", [Layout.NN, Layout.TN])
def test_panels_fetched_ahead(dtype: DType, layout: Layout) -> None:
    """Blocks of K, rows and columns, one or several of each; partial tiles and panels; a single
    tile of rows; partial sums in scratch memory and in the output. Each shape and schedule has
    half of the types and layouts."""
    found = target("x86-64-v3")
    turn = FLOATS.index(dtype) + (layout is Layout.TN)
    shapes = ((41, 73, 97), (12, 48, 32), (13, 49, 33), (11, 47, 31), (37, 101, 300))
    for number, (m, n, k) in enumerate(shapes, turn):
        spec = product(dtype, m, n, k, layout=layout)
        schedule = AHEAD.override(mc=16, mr=4) if layout is Layout.TN else AHEAD
        if number % 2:
            check(spec, found, schedule.override(mc=48, nc=112, kc=304))
            continue
        check(spec, found, schedule)
        several = product(dtype, m, n, k, layout=layout, batch=2)
        check(several, found, completed(several, found, schedule.override(kc=128), ()))
    in_out = AHEAD.override(kc=128, sums_in_out=1)
    planned = pipeline.plan(product(DType.F32, 41, 73, 300), found, in_out)
    assert isinstance(planned, TiledPlan) and planned.fetches_to_pack and planned.acc.in_out


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
def test_what_came_packed_is_fetched_ahead(name: str, dtype: DType) -> None:
    """Prepacked panels that fit the first-level cache, and longer ones; the last panel is
    partial."""
    pack_a = dtype is DType.F16
    for m, n, k in ((3, 47, 33), (5, 101, 1031), (6, 130, 7), (4, 64, 512)):
        spec = product(dtype, m, n, k, constant=(ConstantOperand.B,), batch=2)
        schedule = AheadMatmul(mr=m, nr=16, mc=m, kc=k, nc=48, pack_a=pack_a, pack_b=False)
        check(spec, here(name), schedule)
        check(spec, here(name), schedule.override(kc=64))
        check(spec, here(name), schedule.override(level=1, ahead=192))
        check(spec, here(name), schedule.override(mr=2, mc=2 * -(-m // 2)))


@pytest.mark.parametrize(
    ("name", "dtype"), [("x86-64-v4+bf16", DType.BF16), ("x86-64-v4+vnni", DType.S8)]
)
def test_prepacked_groups_are_prefetched(name: str, dtype: DType) -> None:
    # B of the first product is shorter than the prefetch distance.
    for m, n, k, some in ((3, 47, 33, 64), (13, 101, 1031, 4096)):
        spec = product(dtype, m, n, k, constant=(ConstantOperand.B,), batch=2)
        schedule = pipeline.plan(spec, target(name)).schedule
        assert isinstance(schedule, DotMatmul)
        for ahead in (0, some):
            planned = pipeline.plan(spec, target(name), schedule.override(ahead=ahead))
            fetched = "i32 0, i32 3, i32 1)" in pipeline.source(planned).text
            assert fetched == (ahead > 0)
        check(spec, here(name), schedule.override(ahead=some))
    with pytest.raises(ScheduleError, match="ahead=64 requires a prepacked B"):
        pipeline.plan_with(product(dtype, 3, 47, 33), target(name), {"ahead": 64})


def test_what_is_not_packed_is_not_fetched_ahead() -> None:
    found = target("x86-64-v3")
    for spec, schedule in (
        (product(DType.F32, 41, 73, 97, layout=Layout.NT), AHEAD),
        (product(DType.F32, 41, 73, 97), AHEAD.override(pack_b=0)),
    ):
        with pytest.raises(ScheduleError, match="try mainloop=blis"):
            pipeline.plan(spec, found, schedule)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("x86-64-v4+bf16", DType.BF16),
        ("x86-64-v4+vnni", DType.S8),
        ("x86-64-v4", DType.S8),
        ("x86-64-v4", DType.F16),
        ("x86-64", DType.S8),
        ("x86-64-v3", DType.S8),
        ("x86-64-v3+vnni", DType.S8),
    ],
)
def test_in_register_transposes_of_b(name: str, dtype: DType) -> None:
    """Whole transposes, remainders of K and N, and groups that are half outside of B."""
    found, schedule = target(name), blocks(dtype)
    if "v4" not in name:
        schedule = schedule.override(mr=2, nr=16)
    for k in (64, 70, 139):
        spec = product(dtype, 5, 89, k, layout=Layout.NT, ldb=k + 3)
        check(spec, found, schedule.override(mc=32, nc=96))
        check(spec, found, schedule.override(mc=16, kc=64))


def test_only_a_few_columns_are_gathered() -> None:
    gathered = "insertelement <16 x i32> zeroinitializer"
    assert gathered not in text(product(DType.BF16, 64, 64, 64, layout=Layout.NT))
    assert gathered not in text(product(DType.BF16, 64, 69, 64, layout=Layout.NT))
    assert gathered in text(product(DType.BF16, 64, 68, 64, layout=Layout.NT))
    assert gathered in text(product(DType.BF16, 64, 64, 66, layout=Layout.NT))


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v3+vnni"])
def test_narrower_vectors(name: str) -> None:
    for dtype in (DType.F32, DType.S8):
        schedule = (BLOCKS if dtype is DType.F32 else GROUPS).override(mr=2, nr=16, mc=6, pack_a=0)
        if dtype is DType.S8 and not name.endswith("+vnni"):
            schedule = schedule.override(pack_a=1)
        check(product(dtype, 17, 41, 64), target(name), schedule.override(nc=32))


def test_what_follows_b_is_not_read() -> None:
    """The half of a group that is outside of B is zero, and is not read from memory."""
    spec = product(DType.BF16, 16, 32, 63, out_dtype=DType.F32)
    ready = load(spec, here(TARGETS[DType.BF16]), GROUPS.override(nc=32))
    random = np.random.default_rng(0)
    a, b = (_numbers(random, DType.BF16, count) for count in (16 * 63, 64 * 32))
    outs = np.zeros((2, 16 * 32), np.float32)
    for out, behind in zip(outs, (0, 0x7FC0), strict=True):
        b[63 * 32 :] = behind
        ready.run({"a": a.ctypes.data, "b": b.ctypes.data, "out": out.ctypes.data})
    assert outs.all()
    assert np.array_equal(*outs)


@pytest.mark.parametrize(
    ("dtype", "packs_a"),
    [
        *((dtype, True) for dtype in TARGETS),
        *((dtype, False) for dtype in TARGETS if dtype is not DType.F16),
    ],
)
def test_any_part_of_the_tasks(dtype: DType, packs_a: bool) -> None:
    """Threads take any ranges of tasks; the first task of a range packs for the others."""
    schedule = blocks(dtype).override(pack_a=packs_a)
    spec = product(dtype, 41, 73, 64, batch=2, out_dtype=DType.F32, epilogue=(Epilogue.RELU,))
    ready = load(spec, here(TARGETS[dtype]), schedule)
    random = np.random.default_rng(0)
    a, b = (_numbers(random, dtype, 2 * count) for count in (41 * 64, 64 * 73))
    whole, parts = np.zeros((2, 2 * 41 * 73), np.float32)
    assert ready.kernel.launches[0].tasks == 18
    ready.run(addresses({"a": a, "b": b, "out": whole}))
    for begin, end in ((13, 18), (0, 1), (1, 5), (7, 13), (5, 7)):
        ready.run_tasks(addresses({"a": a, "b": b, "out": parts}), begin, end)
    assert np.array_equal(whole, parts)
    assert whole.any()


def _numbers(random: np.random.Generator, dtype: DType, count: int) -> Any:
    """Return random numbers in the storage type."""
    if dtype is DType.S8:
        return random.integers(-128, 128, count, np.int8)
    values = random.standard_normal(count).astype(np.float32)
    if dtype is DType.BF16:
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16) if dtype is DType.F16 else values
