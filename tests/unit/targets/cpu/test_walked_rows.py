"""Schedules of products of few rows where the hardware walks rows of B by itself (Zen 5)."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import (
    AheadMatmul,
    CpuMatmul,
    CpuSplitMatmul,
    DotMatmul,
    InnerMatmul,
    OuterMatmul,
    Schedule,
)
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from kgen.targets.cpu.plan.kernels.gemv import OuterPlan
from kgen.targets.cpu.plan.matmul import padded

EXTENTS = st.one_of(st.integers(1, 300), st.integers(1, 65536))


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4+bf16"])
@settings(max_examples=100, deadline=None)
@example(m=11, n=45, k=5937, dtype=DType.F32, layout=Layout.NN, constant=())
@example(m=4, n=3, k=5236, dtype=DType.BF16, layout=Layout.TN, constant=(ConstantOperand.B,))
@given(
    m=st.integers(1, 32),
    n=EXTENTS,
    k=EXTENTS,
    dtype=st.sampled_from([DType.F32, DType.BF16]),
    layout=st.sampled_from(list(Layout)),
    constant=st.sampled_from([(), (ConstantOperand.B,)]),
)
def test_a_schedule_of_few_rows_fits_where_rows_are_walked(
    name: str,
    m: int,
    n: int,
    k: int,
    dtype: DType,
    layout: Layout,
    constant: tuple[ConstantOperand, ...],
) -> None:
    walks = dataclasses.replace(targets.find(name), device="Zen 5")
    spec = Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout, constant=constant)
    pipeline.plan(spec, walks)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_outer_products_fetch_nothing_where_rows_are_walked(name: str) -> None:
    """1 x 4096 x 4096 in f32 takes 1.1 ms so, 1.8 with what is fetched besides (Zen 5)."""
    spec = Matmul(m=1, n=4096, k=4096, dtype=DType.F32)
    for device, fetches in (("Zen 4", True), ("Zen 5", False)):
        chosen = FAMILY.choose(spec, dataclasses.replace(targets.find(name), device=device))
        assert isinstance(chosen, OuterMatmul)
        assert bool(chosen.prefetch) is fetches
        assert (chosen.nc * chosen.tasks_per_pass >= spec.n) is not fetches


def walking(
    name: str, m: int, n: int, k: int, dtype: DType = DType.F32, layout: Layout = Layout.NN
) -> Schedule:
    """On a core that walks rows by itself, with the caches that were measured (Zen 5)."""
    found = targets.find(name)
    caches = {"l1_bytes": 48 << 10, "l2_bytes": 1 << 20, "l3_bytes": 1 << 25}
    limits = {**found.limits, **caches, "stack_bytes": 1 << 18}
    walks = dataclasses.replace(found, device="Zen 5", limits=limits)
    return FAMILY.choose(Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout), walks)


@pytest.mark.parametrize(
    ("name", "m", "shape", "rows", "ahead", "columns"),
    [
        # From memory: by pages, or unfetched.
        ("x86-64-v4", 2, (8192, 4096), (4, 64), 0, 4096),
        ("x86-64-v4", 3, (8192, 4096), (1, 64), 12, 1024),
        ("x86-64-v4", 4, (8192, 4096), (1, 64), 12, 1024),
        # Some of it from the last-level cache.
        ("x86-64-v4", 1, (4096, 4096), (4, 64), 0, 8192),
        ("x86-64-v4", 2, (4096, 4096), (4, 64), 0, 4096),
        ("x86-64-v4", 3, (4096, 4096), (1, 1), 8, 1024),
        ("x86-64-v4", 4, (4096, 4096), (1, 64), 12, 1024),
        ("x86-64-v3", 2, (4096, 4096), (1, 64), 12, 1024),
        ("x86-64-v3", 3, (4096, 4096), (1, 64), 12, 1024),
        ("x86-64-v3", 4, (4096, 4096), (2, 128), 2, 1024),
        # Most of it.
        ("x86-64-v4", 1, (5120, 2048), (4, 64), 0, 7680),
        ("x86-64-v4", 2, (2560, 2048), (8, 1), 0, 640),
        ("x86-64-v4", 4, (2560, 2048), (4, 1), 8, 640),
        ("x86-64-v4", 3, (5120, 2048), (1, 1), 8, 864),
        ("x86-64-v4", 4, (5120, 2048), (1, 64), 12, 864),
        ("x86-64-v4", 5, (5120, 2048), (4, 1), 8, 856),
        ("x86-64-v3", 2, (2560, 2048), (4, 64), 0, 3840),
        ("x86-64-v3", 3, (2560, 2048), (1, 1), 4, 1280),
        ("x86-64-v3", 4, (2560, 2048), (2, 1), 8, 640),
        ("x86-64-v3", 2, (5120, 2048), (1, 64), 12, 856),
        # All of it stays there.
        ("x86-64-v4", 1, (2304, 768), (4, 64), 0, 5760),
        ("x86-64-v4", 2, (2304, 768), (2, 64), 0, 2304),
        ("x86-64-v4", 4, (768, 768), (4, 1), 4, 768),
        ("x86-64-v4", 5, (1024, 1024), (4, 1), 8, 1024),
        ("x86-64-v3", 1, (2304, 768), (1, 64), 0, 5760),
        ("x86-64-v3", 2, (2304, 768), (4, 64), 0, 1152),
        ("x86-64-v3", 3, (2304, 768), (2, 64), 0, 1152),
        ("x86-64-v3", 4, (2304, 768), (2, 64), 0, 1152),
    ],
)
def test_outer_products_where_rows_are_walked(
    name: str, m: int, shape: tuple[int, int], rows: tuple[int, int], ahead: int, columns: int
) -> None:
    """Rows of B at once and from one to the next, the last of those that are fetched, and columns
    of a pass, as they were measured (Zen 5); with AVX-512 in half lines where four are fetched of a
    B that does not stay in the last-level cache."""
    chosen = walking(name, m, *shape)
    assert isinstance(chosen, OuterMatmul) and not chosen.words
    assert (chosen.parts, chosen.kc // chosen.parts) == rows
    assert chosen.prefetch * chosen.apart == ahead
    assert chosen.nc * chosen.tasks_per_pass == columns
    stays = shape[0] * shape[1] * 4 <= 1 << 24
    assert chosen.halves == (name == "x86-64-v4" and rows == (4, 1) and not stays)
    assert chosen.level == (1 if rows[1] == 1 and ahead else 2)


def test_rows_that_are_fetched_are_apart() -> None:
    """4 x 4096 x 4096 asks for the rows of B six and twelve below, 3 x 4096 x 4096 for those eight
    below, and into the first-level cache; results do not tell."""
    found = targets.find("x86-64-v4")
    for m, offsets, locality in ((4, (6, 12), 2), (3, (8,), 3)):
        spec = Matmul(m=m, n=4096, k=4096, dtype=DType.F32)
        planned = pipeline.plan(spec, found, walking("x86-64-v4", m, 4096, 4096))
        assert isinstance(planned, OuterPlan)
        assert planned.fetch_offsets == tuple(row * 4096 * 4 for row in offsets)
        assert f"i32 0, i32 {locality}, i32 1)" in pipeline.source(planned).text


def test_strips_where_rows_are_walked() -> None:
    """Of long rows that do not meet in a cache set: 4 x 1152 x 1152 takes 55 us so, 60 by rows of B
    (Zen 5)."""
    for n in (1152, 2304):
        chosen = walking("x86-64-v4", 4, n, 768)
        assert isinstance(chosen, AheadMatmul) and (chosen.nr, chosen.kc) == (96, 768)


@pytest.mark.parametrize(
    ("name", "m", "shape", "tile"),
    [
        # Rows, columns and K of a tile, and columns of a task; whether A is packed.
        ("x86-64-v3", 5, (3072, 768), (5, 16, 8, 1536, False)),
        ("x86-64-v3", 8, (4096, 4096), (4, 16, 8, 2048, True)),
        ("x86-64-v3", 16, (2048, 2048), (6, 16, 8, 1024, True)),
        ("x86-64-v3", 32, (512, 2048), (6, 16, 8, 256, True)),
        # A page from memory, the fewer rows at once the fewer there are.
        ("x86-64-v3", 5, (14336, 2304), (5, 16, 8, 1024, False)),
        ("x86-64-v4", 6, (3072, 3072), (6, 16, 4, 1024, False)),
        ("x86-64-v4", 8, (3000, 5000), (8, 16, 8, 1024, False)),
        ("x86-64-v4", 9, (4096, 4096), (9, 32, 16, 1024, False)),
        ("x86-64-v4", 14, (5120, 5120), (14, 32, 32, 1024, True)),
        ("x86-64-v4", 16, (4096, 4096), (8, 32, 16, 1024, True)),
        ("x86-64-v4", 20, (4096, 4096), (10, 32, 32, 1024, True)),
        ("x86-64-v4", 32, (4096, 4096), (11, 32, 16, 512, True)),
        ("x86-64-v4", 28, (2560, 8192), (14, 32, 32, 1024, True)),
        # Rows that meet in a set of the second-level cache; and three pages for two cores.
        ("x86-64-v4", 8, (2048, 2048), (8, 32, 32, 1024, True)),
        ("x86-64-v4", 14, (3072, 2048), (14, 32, 16, 512, True)),
        # By panels.
        ("x86-64-v4", 16, (3072, 2048), (8, 48, 256, 1536, True)),
        ("x86-64-v4", 12, (4096, 768), (12, 32, 64, 2048, True)),
        # That stay in the second-level cache.
        ("x86-64-v4", 32, (384, 384), (8, 48, 192, 192, False)),
        ("x86-64-v4", 128, (384, 384), (9, 48, 192, 192, False)),
    ],
)
def test_streams_where_rows_are_walked(
    name: str, m: int, shape: tuple[int, int], tile: tuple[int, int, int, int, bool]
) -> None:
    """As they were measured (Zen 5)."""
    chosen = walking(name, m, *shape)
    assert type(chosen) is CpuMatmul and not chosen.pack_b
    assert (chosen.mr, chosen.nr, chosen.kc, chosen.nc, chosen.pack_a) == tile


@pytest.mark.parametrize(
    ("m", "shape", "tile", "rows", "level"),
    [
        # Rows, columns and columns of a task; rows fetched ahead, into which cache.
        (5, (2304, 768), (5, 64, 576, True), 36, 2),
        (8, (3072, 768), (8, 48, 768, True), 48, 2),
        (9, (3072, 1024), (9, 48, 768, True), 48, 2),
        (12, (768, 3072), (12, 32, 192, True), 72, 2),
        (8, (1000, 1500), (8, 48, 528, True), 48, 1),
        (7, (384, 384), (7, 48, 192, False), 48, 2),
    ],
)
def test_panels_fetch_rows_far_ahead_where_they_are_walked(
    m: int, shape: tuple[int, int], tile: tuple[int, int, int, bool], rows: int, level: int
) -> None:
    """By a tile of all rows of A, along all of K (Zen 5)."""
    chosen = walking("x86-64-v4", m, *shape)
    assert isinstance(chosen, AheadMatmul) and not chosen.pack_b
    assert (chosen.mr, chosen.nr, chosen.nc, chosen.pack_a) == tile
    assert (chosen.kc, chosen.level) == (shape[1], level)
    assert chosen.ahead == rows * shape[0] * 4


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


@pytest.mark.parametrize(
    ("name", "m", "shape", "block", "packs"),
    [
        # Rows and K of a block. Tiles fetch what is packed next, if vectors are half a line.
        ("x86-64-v3", 24, (384, 384), (24, 128), True),
        ("x86-64-v3", 64, (2304, 768), (66, 128), True),
        ("x86-64-v3", 128, (256, 784), (132, 128), True),
        ("x86-64-v4", 128, (1536, 384), (135, 192), False),
        ("x86-64-v4", 196, (256, 1024), (102, 512), False),
    ],
)
def test_several_tiles_take_short_blocks_of_k_where_rows_are_walked(
    name: str, m: int, shape: tuple[int, int], block: tuple[int, int], packs: bool
) -> None:
    """From memory they are a tenth faster so, and as fast called again and again (Zen 5)."""
    chosen = walking(name, m, *shape)
    assert type(chosen) is (AheadMatmul if packs else CpuMatmul)
    assert (chosen.mc, chosen.kc, chosen.pack_b) == (*block, packs)


@pytest.mark.parametrize("n", [2048, 4096])
@pytest.mark.parametrize("m", [15, 16, 32])
def test_pairs_of_rows_that_meet_are_packed(m: int, n: int) -> None:
    """32 x 4096 x 4096 in bf16 takes 3.3 ms so, 4.3 in place (Zen 5)."""
    chosen = walking("x86-64-v4+bf16", m, n, 1024, DType.BF16)
    assert type(chosen) is DotMatmul and chosen.pack_b
    others = walking("x86-64-v4+bf16", m, n + 64, 1024, DType.BF16)
    assert type(others) is DotMatmul and not others.pack_b


@pytest.mark.parametrize(
    ("name", "m", "shape", "kc"),
    [
        ("x86-64-v3", 5, (1152, 14336), 8),
        ("x86-64-v4", 12, (1280, 8192), 16),
        ("x86-64-v4", 24, (2304, 4096), 16),
        # By panels.
        ("x86-64-v4", 8, (1024, 1024), 64),
    ],
)
def test_whole_rows_are_cut_along_k_where_they_are_walked(
    name: str, m: int, shape: tuple[int, int], kc: int
) -> None:
    """12 x 1280 x 8192 takes 1.4 ms so, 3.9 in two tasks of columns (Zen 5)."""
    chosen = walking(name, m, *shape)
    assert isinstance(chosen, CpuSplitMatmul) and chosen.nc >= shape[0]
    assert (chosen.kc, chosen.split_k) == (kc, 4)


@pytest.mark.parametrize(
    ("name", "dtype", "m", "shape", "tile"),
    [
        # Rows and columns of a tile, K of a block, and how often the next one is fetched.
        ("x86-64-v4", DType.F32, 2, (4096, 4096), (2, 4, 4096, 2)),
        ("x86-64-v4", DType.F32, 4, (4096, 4096), (4, 2, 2048, 2)),
        ("x86-64-v4", DType.F32, 8, (4096, 4096), (8, 2, 1024, 2)),
        ("x86-64-v4", DType.F32, 5, (2560, 2048), (5, 4, 1024, 1)),
        ("x86-64-v4", DType.F32, 8, (768, 3072), (8, 3, 1024, 0)),
        ("x86-64-v4", DType.F32, 6, (11008, 3000), (6, 4, 3000, 2)),
        ("x86-64-v4", DType.F32, 3, (5120, 640), (3, 4, 640, 1)),
        ("x86-64-v4+bf16", DType.BF16, 7, (5120, 2304), (7, 3, 1152, 1)),
        ("x86-64-v4+bf16", DType.BF16, 8, (4096, 4096), (8, 2, 2048, 2)),
        ("x86-64-v3", DType.F32, 8, (4096, 4096), (4, 2, 1024, 2)),
        ("x86-64-v3", DType.F32, 5, (768, 3072), (5, 2, 768, 0)),
        # As elsewhere: so many rows, and what is not measured.
        ("x86-64-v4", DType.F32, 16, (4096, 4096), (4, 4, 1024, 2)),
        ("x86-64-v4", DType.BF16, 8, (4096, 4096), (4, 4, 2048, 2)),
    ],
)
def test_inner_products_where_rows_are_walked(
    name: str, dtype: DType, m: int, shape: tuple[int, int], tile: tuple[int, int, int, int]
) -> None:
    chosen = walking(name, m, *shape, dtype, Layout.NT)
    assert isinstance(chosen, InnerMatmul)
    assert (chosen.mr, chosen.nr, chosen.kc, chosen.prefetch) == tile
    assert chosen.level == 1


def test_inner_products_fetch_into_the_cache_of_their_level() -> None:
    """The first one where rows are walked, the second elsewhere; results do not tell."""
    spec = Matmul(m=4, n=4096, k=4096, dtype=DType.F32, layout=Layout.NT)
    for device, locality in (("Zen 5", 3), ("Zen 4", 2)):
        found = dataclasses.replace(targets.find("x86-64-v4"), device=device)
        text = pipeline.source(pipeline.plan(spec, found)).text
        assert f"i32 0, i32 {locality}, i32 1)" in text
        assert f"i32 0, i32 {5 - locality}, i32 1)" not in text


def test_rows_of_sums_do_not_meet_in_a_cache_set() -> None:
    """However many columns a task has: 32 x 3000 x 2048 takes 8.2 ms on AVX2 where they do, 3.3
    where they do not (Zen 5)."""
    for columns in (240, 512, 1008, 1024, 2032):
        assert padded(4 * columns) % 1024 and padded(4 * columns) % 64 == 0
    planned = pipeline.plan_with(
        Matmul(m=32, n=3000, k=2048, dtype=DType.F32),
        targets.find("x86-64-v3"),
        {"mr": 6, "nr": 16, "mc": 36, "kc": 8, "nc": 1008, "pack_a": 1, "pack_b": 0},
    )
    assert isinstance(planned, BlisPlan) and planned.acc.row == 4 * 1008 + 2 * 64
    outer = pipeline.plan_with(
        Matmul(m=2, n=1008, k=2048, dtype=DType.F32),
        targets.find("x86-64-v3"),
        {"mr": 2, "nr": 16, "mc": 2, "kc": 256, "nc": 1008, "parts": 4, "tasks_per_pass": 1},
    )
    assert isinstance(outer, OuterPlan) and outer.acc.row == 4 * 1008 + 2 * 64


@pytest.mark.parametrize(
    ("name", "device", "m", "shape", "dtype"),
    [
        ("x86-64-v3", "Zen 5", 6, (2016, 5000), DType.F32),
        ("x86-64-v4", "Zen 5", 12, (1008, 4096), DType.F32),
        ("x86-64-v4", "Zen 4", 4, (4096, 4096), DType.BF16),
        ("x86-64-v4+vnni", "Zen 4", 16, (4096, 4096), DType.S8),
    ],
)
def test_sums_fit_however_small_the_stack_is(
    name: str, device: str, m: int, shape: tuple[int, int], dtype: DType
) -> None:
    """With what lies between their rows, which depends on how many columns there is room for."""
    found = targets.find(name)
    for stack in range(24 << 10, 96 << 10, 192):
        limits = {**found.limits, "l2_bytes": 1 << 20, "l3_bytes": 1 << 23, "stack_bytes": stack}
        small = dataclasses.replace(found, device=device, limits=limits)
        planned = pipeline.plan(Matmul(m=m, n=shape[0], k=shape[1], dtype=dtype), small)
        assert not isinstance(planned, BlisPlan) or not planned.acc.in_out


HALF_WORDS, HALF_LINES, LINES = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("name", "dtype", "m", "shape", "rows", "ahead", "taken"),
    [
        # Rows of B at once and from one to the next, the last of those that are fetched; and
        # whether in half lines, and by words.
        ("x86-64-v4+bf16", DType.BF16, 1, (4096, 4096), (4, 128), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 2, (4096, 4096), (2, 1), 16, HALF_WORDS),
        ("x86-64-v4+bf16", DType.BF16, 3, (4096, 4096), (4, 1), 16, HALF_LINES),
        ("x86-64-v4+bf16", DType.BF16, 4, (4096, 4096), (2, 1), 8, LINES),
        ("x86-64-v4+bf16", DType.BF16, 5, (4096, 4096), (4, 1), 16, HALF_LINES),
        # From memory alone.
        ("x86-64-v4+bf16", DType.BF16, 1, (8192, 4096), (4, 128), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 3, (8192, 4096), (2, 1), 16, HALF_LINES),
        ("x86-64-v4+bf16", DType.BF16, 4, (8192, 4096), (2, 1), 8, LINES),
        ("x86-64-v4+bf16", DType.BF16, 6, (8192, 4096), (4, 1), 16, HALF_LINES),
        # All of it from the last-level cache, and most of it.
        ("x86-64-v4+bf16", DType.BF16, 1, (2304, 768), (4, 128), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 2, (2304, 768), (8, 1), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 4, (4096, 2048), (8, 1), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 5, (2304, 768), (4, 1), 8, LINES),
        ("x86-64-v4+bf16", DType.BF16, 1, (3072, 3072), (4, 128), 0, LINES),
        ("x86-64-v4+bf16", DType.BF16, 2, (3072, 3072), (4, 1), 16, HALF_LINES),
        ("x86-64-v4+bf16", DType.BF16, 5, (3072, 3072), (4, 1), 8, LINES),
        ("x86-64-v4+vnni", DType.S8, 1, (8192, 4096), (4, 128), 0, LINES),
        ("x86-64-v4+vnni", DType.S8, 3, (4096, 4096), (8, 1), 0, LINES),
        ("x86-64-v4+vnni", DType.S8, 4, (4096, 2048), (4, 1), 16, LINES),
        ("x86-64-v4+vnni", DType.S8, 2, (8192, 4096), (8, 1), 16, HALF_LINES),
        ("x86-64-v4+vnni", DType.S8, 3, (8192, 4096), (4, 1), 16, HALF_LINES),
        ("x86-64-v3", DType.BF16, 1, (4096, 4096), (1, 64), 8, LINES),
        ("x86-64-v3", DType.BF16, 2, (4096, 4096), (2, 256), 4, LINES),
        ("x86-64-v3", DType.BF16, 3, (4096, 4096), (2, 256), 4, LINES),
        ("x86-64-v3", DType.BF16, 1, (2304, 2304), (2, 256), 0, LINES),
    ],
)
def test_outer_products_of_narrow_types_where_rows_are_walked(
    name: str,
    dtype: DType,
    m: int,
    shape: tuple[int, int],
    rows: tuple[int, int],
    ahead: int,
    taken: tuple[bool, bool],
) -> None:
    """As they were measured (Zen 5)."""
    chosen = walking(name, m, *shape, dtype)
    assert isinstance(chosen, OuterMatmul)
    assert (chosen.parts, chosen.kc // chosen.parts) == rows
    assert chosen.prefetch * chosen.apart == ahead
    assert (chosen.halves, chosen.words) == taken


@pytest.mark.parametrize(
    ("name", "dtype", "m", "shape", "tile"),
    [
        # Rows, columns and K of a tile, and columns of a task; whether A is packed.
        ("x86-64-v4+bf16", DType.BF16, 6, (1024, 1024), (6, 32, 16, 512, False)),
        ("x86-64-v4+bf16", DType.BF16, 8, (4096, 4096), (8, 32, 16, 512, False)),
        ("x86-64-v4+bf16", DType.BF16, 9, (4096, 4096), (9, 32, 32, 1024, True)),
        ("x86-64-v4+bf16", DType.BF16, 14, (4096, 4096), (14, 32, 32, 1024, True)),
        ("x86-64-v4+bf16", DType.BF16, 32, (5120, 4096), (11, 32, 32, 1280, True)),
        ("x86-64-v4+bf16", DType.BF16, 16, (8192, 4096), (8, 32, 32, 1024, True)),
        # Three pages for two cores, unless rows of A would meet in a cache set.
        ("x86-64-v4+bf16", DType.BF16, 9, (3072, 3000), (9, 32, 16, 512, False)),
        ("x86-64-v4+bf16", DType.BF16, 9, (3072, 2048), (9, 32, 32, 1024, True)),
        ("x86-64-v4+vnni", DType.S8, 4, (4096, 4096), (4, 64, 8, 512, False)),
        ("x86-64-v4+vnni", DType.S8, 8, (4096, 4096), (4, 64, 8, 512, False)),
        ("x86-64-v4+vnni", DType.S8, 12, (2048, 2048), (6, 64, 16, 512, False)),
    ],
)
def test_streams_of_groups_where_rows_are_walked(
    name: str, dtype: DType, m: int, shape: tuple[int, int], tile: tuple[int, int, int, int, bool]
) -> None:
    """As few rows of B at once as were measured (Zen 5)."""
    chosen = walking(name, m, *shape, dtype)
    assert type(chosen) is DotMatmul and not chosen.pack_b
    assert (chosen.mr, chosen.nr, chosen.kc, chosen.nc, chosen.pack_a) == tile
    others = walking(name, 128, *shape, dtype)
    assert type(others) is DotMatmul and others.pack_b
