"""The CPU's heuristic schedules always fit, and what they are for some products."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen import pipeline, targets
from kgen.schedule import (
    AheadMatmul,
    BlockedMatmul,
    CpuMatmul,
    CpuSplitMatmul,
    DotMatmul,
    LimbsMatmul,
    OuterMatmul,
)
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.spec.choices import BType
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from kgen.targets.cpu.plan.kernels.gemv import OuterPlan
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from tests.unit.targets.cpu.cpu_plans import plan

TARGETS = [t.name for t in FAMILY.targets]
EXTENTS = st.one_of(st.integers(1, 300), st.integers(1, 65536))
SIDES = st.one_of(EXTENTS, st.integers(65536, 1 << 20))


@settings(max_examples=150, deadline=None)
@given(
    m=SIDES,
    n=SIDES,
    k=EXTENTS,
    dtype=st.sampled_from([DType.F64, DType.F32, DType.F16, DType.BF16, DType.S8]),
    layout=st.sampled_from(list(Layout)),
    target=st.sampled_from(TARGETS),
)
def test_a_heuristic_schedule_fits(
    m: int, n: int, k: int, dtype: DType, layout: Layout, target: str
) -> None:
    planned = plan(Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout), target)
    mc, nc = (getattr(planned.schedule, field) for field in ("mc", "nc"))
    assert planned.launches[-1].grid == (-(-m // mc) * -(-n // nc), 1, 1)


@pytest.mark.parametrize("target", TARGETS)
def test_skinny_products_waste_little(target: str) -> None:
    """Multiply-adds of whole register tiles, relative to those that are asked for."""
    for m, n, most in ((1, 4096, 1.1), (64, 2048, 1.1), (127, 131, 1.35), (1000, 1000, 1.1)):
        schedule = plan(Matmul(m=m, n=n, k=64, dtype=DType.F32), target).schedule
        assert isinstance(schedule, BlockedMatmul)
        done = -(-m // schedule.mr) * schedule.mr * -(-n // schedule.nr) * schedule.nr
        assert done / (m * n) <= most


def test_long_products_have_tasks_for_many_cores() -> None:
    for target in TARGETS:
        # On AMX tiles the whole takes one core less than a millisecond.
        least = 16 if "amx" in target else 32
        assert plan(Matmul(m=1024, n=1024, k=1024), target).launches[-1].grid[0] >= least


def test_rows_of_a_are_packed_for_all_columns() -> None:
    """An odd K is packed in pairs; B, which comes packed, costs nothing in every task."""
    spec = Matmul(m=127, n=131, k=113, dtype=DType.BF16, constant=("b",))
    planned = plan(spec, "x86-64-v4+bf16")
    assert isinstance(planned, TiledPlan)
    assert planned.packs_a
    assert planned.blocking.blocks_n == 1
    assert planned.blocking.blocks_m > 1


def test_a_task_that_packs_both_is_halved_along_m_where_that_is_even() -> None:
    """65 and 62 rows in tiles of 5; of tiles of 3, under half of the rows are 63, so columns are
    taken apart."""
    for dtype, target, blocks in (
        (DType.BF16, "x86-64-v4+bf16", (2, 1)),
        (DType.S8, "x86-64-v3", (1, 2)),
    ):
        planned = plan(Matmul(m=127, n=131, k=113, dtype=dtype), target)
        assert isinstance(planned, TiledPlan)
        assert (planned.blocking.blocks_m, planned.blocking.blocks_n) == blocks


def test_a_streamed_b_is_fetched_once_while_the_rows_before_are_multiplied() -> None:
    for spec, name in (
        (Matmul(m=2, n=4096, k=4096, dtype=DType.S8), "x86-64-v4+vnni"),
        (Matmul(m=5, n=4096, k=4096, dtype=DType.F32), "x86-64-v3"),
        (Matmul(m=8, n=4096, k=4096, dtype=DType.F16), "x86-64-v4"),
        (Matmul(m=16, n=4096, k=4096, dtype=DType.BF16), "x86-64-v4+bf16"),
    ):
        planned = plan(spec, name)
        assert isinstance(planned, TiledPlan)
        assert planned.streams_b
        s = planned.schedule
        tiles = -(-s.nc // s.nr) * planned.blocking.row_tiles
        steps = s.kc // planned.loop.depth
        block = s.kc * s.nc * spec.dtype.itemsize
        assert block <= tiles * steps * planned.ahead.step <= 1.25 * block
        text = pipeline.source(planned).text
        fetches = len(planned.tiles.all) * len(planned.ahead.lines)
        fetches += sum(len(planned.lines_ahead(tile)) for tile in planned.packing_tiles)
        assert text.count("call void @llvm.prefetch") == fetches


def test_a_large_b_in_narrow_panels_is_packed_in_blocks_of_a_long_k() -> None:
    """What a model's products are on AVX2, with tasks for several cores."""
    for m, n, k in ((197, 768, 3072), (64, 1024, 1024), (197, 768, 768), (31, 4096, 1024)):
        schedule = plan(Matmul(m=m, n=n, k=k, dtype=DType.F32), "x86-64-v3").schedule
        assert isinstance(schedule, BlockedMatmul)
        assert (schedule.pack_b, schedule.nr) == (True, 16)
        assert schedule.kc < k or k <= 1024
        assert math.ceil(n / schedule.nc) * math.ceil(m / schedule.mc) >= 2


def test_tiles_fetch_the_panel_that_is_packed_next() -> None:
    """Of a large B on AVX2, all of its rows; where the hardware follows them, a block of K."""
    found = targets.find("x86-64-v3")
    follows = dataclasses.replace(found, device="Golden Cove")
    for m, n, k in ((128, 2048, 2048), (2048, 2048, 2048), (197, 768, 3072)):
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32)
        planned = plan(spec, "x86-64-v3")
        assert isinstance(planned, TiledPlan) and isinstance(planned.schedule, AheadMatmul)
        assert planned.fetches_to_pack and not planned.ahead.exists
        rows, tiles = planned.pack_share, planned.blocking.row_tiles - 1  # one of them packs
        assert (rows - 1) * tiles < planned.schedule.kc <= rows * tiles
        assert not isinstance(FAMILY.choose(spec, follows), AheadMatmul)
    small = plan(Matmul(m=256, n=256, k=256, dtype=DType.F32), "x86-64-v3").schedule
    assert not isinstance(small, AheadMatmul)


def test_sums_in_scratch_between_blocks_of_k() -> None:
    """Of a large B in bf16 on AVX2, in blocks of out that the stack has room for; all of K of one
    row of tiles, whose panels come in time as they are packed, unless their rows meet."""
    for m, n, k in ((2048, 2048, 2048), (1000, 1000, 1000), (128, 768, 3072), (131, 1531, 1113)):
        planned = plan(Matmul(m=m, n=n, k=k, dtype=DType.BF16), "x86-64-v3")
        assert isinstance(planned, TiledPlan) and isinstance(planned.schedule, AheadMatmul)
        assert planned.blocking.k_blocked and not planned.acc.in_out
        assert planned.scratch_bytes <= planned.target.limits["stack_bytes"]
    few = plan(Matmul(m=50, n=768, k=768, dtype=DType.BF16), "x86-64-v3").schedule
    assert isinstance(few, BlockedMatmul) and not isinstance(few, AheadMatmul)
    assert few.kc == 768
    meeting = plan(Matmul(m=50, n=2048, k=768, dtype=DType.BF16), "x86-64-v3").schedule
    assert isinstance(meeting, AheadMatmul)


def test_narrow_panels_that_several_tiles_use_are_packed() -> None:
    small = plan(Matmul(m=256, n=256, k=256, dtype=DType.F32), "x86-64-v3").schedule
    few = plan(Matmul(m=6, n=256, k=256, dtype=DType.F32), "x86-64-v3").schedule
    assert isinstance(small, BlockedMatmul) and isinstance(few, BlockedMatmul)
    assert small.pack_b and small.kc == 256
    assert not few.pack_b


@pytest.mark.parametrize(
    ("m", "k", "dtype", "parts"),
    [(1, 4096, DType.F32, 4), (4, 4095, DType.F32, 4), (2, 4097, DType.BF16, 4)],
)
def test_outer_products_take_every_row_of_b_once(m: int, k: int, dtype: DType, parts: int) -> None:
    planned = plan(Matmul(m=m, n=4096, k=k, dtype=dtype), "x86-64-v4+bf16")
    assert isinstance(planned, OuterPlan)
    assert planned.schedule.parts == parts
    taken = [
        block + row + i * planned.part
        for block in range(0, planned.blocks_depth, planned.schedule.kc)
        for row in range(planned.part)
        for i in range(parts)
    ]
    taken += [
        row + i * planned.rest_part
        for row in range(planned.blocks_depth, planned.blocks_depth + planned.rest_part)
        for i in range(parts)
    ]
    taken += range(planned.left_from, k)
    assert sorted(taken) == list(range(k))


@pytest.mark.parametrize(("m", "n"), [(1, 4096), (2, 2304), (2, 5120), (4, 5120), (3, 530)])
def test_two_cores_share_few_rows_and_one_reads_them_whole(m: int, n: int) -> None:
    """Where the hardware follows rows by itself: an even number of tasks, which one thread takes as
    few passes as have room for their sums."""
    target = FAMILY.find("x86-64-v4+bf16")
    assert target is not None
    wide = dataclasses.replace(target, device="Golden Cove")
    spec = Matmul(m=m, n=n, k=16384, dtype=DType.F32)
    schedule, before = FAMILY.choose(spec, wide), FAMILY.choose(spec, target)
    assert isinstance(schedule, OuterMatmul) and isinstance(before, OuterMatmul)
    assert (schedule.prefetch, before.prefetch, before.tasks_per_pass) == (0, 2, 1)
    assert -(-n // schedule.nc) % 2 == 0
    columns = schedule.nc * schedule.tasks_per_pass
    assert m * columns * 4 <= 32768
    assert columns >= n or m * (columns + schedule.nc) * 4 > 32768


@pytest.mark.parametrize(
    ("name", "m", "k", "way"),
    [
        # Rows of B at once, K of a block and rows fetched; nr of a strip; of a few rows of B.
        ("x86-64-v4", 1, 768, (4, 256, 0)),
        ("x86-64-v4", 2, 768, (4, 256, 0)),
        ("x86-64-v4", 3, 768, 112),
        ("x86-64-v4", 4, 768, 96),
        ("x86-64-v4", 1, 1800, (4, 256, 1)),
        ("x86-64-v4", 4, 1800, (4, 256, 1)),
        ("x86-64-v4", 4, 2304, (4, 256, 2)),
        ("x86-64-v3", 1, 768, (8, 8, 0)),
        ("x86-64-v3", 2, 768, (6, 6, 0)),
        ("x86-64-v3", 4, 768, "a stream"),
        ("x86-64-v3", 4, 1800, "a stream"),
        ("x86-64-v3", 4, 2304, (2, 256, 2)),
    ],
)
def test_few_rows_by_where_b_lies(
    name: str, m: int, k: int, way: tuple[int, int, int] | int | str
) -> None:
    """Of 2304 columns, in the last-level cache, in half of it, or in memory (Zen 4)."""
    planned = plan(Matmul(m=m, n=2304, k=k, dtype=DType.F32), name, core="Zen 4")
    schedule = planned.schedule
    if isinstance(way, tuple):
        assert isinstance(schedule, OuterMatmul)
        assert (schedule.parts, schedule.kc, schedule.prefetch) == way
        # A second core has a part; one reads rows of B from end to end where it may.
        assert schedule.nc < 2304
        assert schedule.prefetch or schedule.nc * max(schedule.tasks_per_pass, 2) >= 2304
    elif isinstance(way, int):
        assert isinstance(schedule, BlockedMatmul) and isinstance(planned, BlisPlan)
        assert (schedule.nr, schedule.kc, schedule.pack_a, schedule.pack_b) == (
            way,
            k,
            False,
            False,
        )
        # Each line of a strip once, some rows ahead.
        strip = max(planned.tiles.all, key=lambda tile: tile.width)
        ahead = planned.lines_ahead(strip)
        assert planned.fetches and len(ahead) == -(-way * 4 // 64)
        assert min(ahead) == 8 * 2304 * 4
    else:
        assert isinstance(schedule, BlockedMatmul) and isinstance(planned, BlisPlan)
        assert planned.streams_b and not planned.fetches_rows
        assert schedule.kc == 32


@pytest.mark.parametrize(("m", "kc"), [(1, 0), (2, 16), (3, 32), (4, 32)])
def test_few_rows_of_pairs_by_a_b_in_the_last_level_cache(m: int, kc: int) -> None:
    """One row in outer products without prefetches, more by tiles; by rows of B from memory."""
    near = plan(Matmul(m=m, n=2304, k=768, dtype=DType.BF16), "x86-64-v4+bf16").schedule
    far = plan(Matmul(m=m, n=4096, k=4096, dtype=DType.BF16), "x86-64-v4+bf16").schedule
    assert isinstance(far, OuterMatmul) and far.prefetch == 2
    if kc:
        assert isinstance(near, DotMatmul) and (near.kc, near.pack_b) == (kc, False)
    else:
        assert isinstance(near, OuterMatmul) and near.prefetch == 0


@pytest.mark.parametrize(
    ("m", "k", "nr", "kc"), [(2, 2048, 64, 16), (4, 2048, 32, 32), (5, 4096, 32, 64)]
)
def test_streams_of_pairs_take_one_strip_of_many_rows_of_b(
    m: int, k: int, nr: int, kc: int
) -> None:
    """Two by 32 rows of B at once and more take up to twice as long."""
    schedule = plan(Matmul(m=m, n=2048, k=k, dtype=DType.BF16), "x86-64-v4+bf16").schedule
    assert isinstance(schedule, DotMatmul)
    assert (schedule.nr, schedule.kc, schedule.pack_b) == (nr, kc, False)


@pytest.mark.parametrize(("m", "nr"), [(5, 64), (6, 64), (7, 48), (8, 48)])
def test_panels_of_few_rows_are_as_wide_as_registers_hold_all_rows(m: int, nr: int) -> None:
    """Of 32 registers two are not for sums and vectors of B."""
    target = FAMILY.find("x86-64-v4")
    assert target is not None
    wide = dataclasses.replace(target, device="Golden Cove")
    schedule = FAMILY.choose(Matmul(m=m, n=1024, k=1024, dtype=DType.F32), wide)
    assert isinstance(schedule, BlockedMatmul)
    assert (schedule.mr, schedule.nr, schedule.mc) == (m, nr, m)
    assert schedule.pack_a and schedule.pack_b


@pytest.mark.parametrize("constant", [(), ("b",)])
def test_bf16_is_widened_where_pairs_gain_nothing(constant: tuple[Literal["b"], ...]) -> None:
    """The core decides: two rows still go in pairs, and so does what is too narrow."""
    target = FAMILY.find("x86-64-v4+bf16")
    assert target is not None and target.device == "Zen 4"
    slow = dataclasses.replace(target, device="Golden Cove")
    for m, n, widens in ((128, 384, True), (3, 384, True), (2, 384, False), (128, 15, False)):
        spec = Matmul(m=m, n=n, k=384, dtype=DType.BF16, constant=constant)
        assert (type(FAMILY.choose(spec, slow)) is CpuMatmul) is widens, (m, n)
        planned = FAMILY.plan(spec, slow, FAMILY.choose(spec, slow))
        assert isinstance(planned, TiledPlan)
        assert ("avx512_bf16" in planned.features) is not widens
    assert isinstance(FAMILY.choose(Matmul(m=128, n=384, k=384, dtype="bf16"), target), DotMatmul)


def test_streams_of_one_task_are_cut_along_k() -> None:
    """Few rows by a B that leaves the second-level cache, where the hardware follows its rows; not
    a batch, nor where there is little work."""
    found = FAMILY.find("x86-64-v4")
    assert found is not None
    target = dataclasses.replace(found, device="Golden Cove")

    def slices(m: int, n: int, k: int, batch: int = 1) -> int:
        spec = Matmul(m=m, n=n, k=k, batch=batch, dtype=DType.F32)
        schedule = FAMILY.choose(spec, target)
        return schedule.split_k if isinstance(schedule, CpuSplitMatmul) else 1

    assert slices(12, 768, 3072) == 4
    assert slices(12, 768, 460) == 3
    assert slices(12, 768, 3072, batch=2) == 1
    assert slices(12, 4096, 3072) == slices(64, 768, 3072) == 1


@pytest.mark.parametrize(
    ("m", "n", "name", "packs"),
    [
        (8, 4096, "x86-64-v3", True),
        (3, 3072, "x86-64-v3", True),
        (2, 4096, "x86-64-v3", False),
        (8, 2304, "x86-64-v3", False),
        (16, 4096, "x86-64-v4+vnni", True),
        (8, 4096, "x86-64-v4+vnni", False),
        (8, 4096, "x86-64", False),
    ],
)
def test_a_stream_of_bytes_whose_rows_meet_in_a_cache_set_is_packed(
    m: int, n: int, name: str, packs: bool
) -> None:
    """By tiles of fewer rows than A has; not on cores that find rows of B by themselves."""
    target, spec = FAMILY.find(name), Matmul(m=m, n=n, k=4096, dtype=DType.S8)
    assert target is not None
    schedule = plan(spec, name, core=None if name == "x86-64" else "Zen 4").schedule
    assert isinstance(schedule, DotMatmul) and schedule.pack_b is packs
    if packs:
        assert schedule.mr < m <= schedule.mc
    elsewhere = FAMILY.choose(spec, dataclasses.replace(target, device="Golden Cove"))
    assert isinstance(elsewhere, DotMatmul) and not elsewhere.pack_b


def test_widened_streams_read_half_lines_of_few_rows_at_once() -> None:
    """Elements of 16 bits on AVX2: two vectors side by side and 8 of K, 64 for 5 rows (Zen 4)."""
    for dtype in (DType.BF16, DType.F16):
        specs = [Matmul(m=m, n=4096, k=4096, dtype=dtype) for m in (4, 5, 8)]
        found = [plan(spec, "x86-64-v3", core="Zen 4").schedule for spec in specs]
        tiles = [(s.mr, s.nr, s.kc) for s in found if isinstance(s, BlockedMatmul)]
        assert tiles == [(4, 16, 8), (5, 16, 64), (4, 16, 8)]


def test_limbs_of_few_rows_by_several_panels() -> None:
    """Two rows, or four on cores that follow several rows at once; one where products wait."""
    packed = Matmul(
        m=4, n=4096, k=4096, dtype=DType.F32, b_dtype=BType.S4, layout=Layout.NT,
        constant=(ConstantOperand.B,),
    )  # fmt: skip
    rows = {("x86-64-v4+vnni", "Zen 4"): 2, ("x86-64-v4+vnni", "Golden Cove"): 4}
    for (name, device), mr in {**rows, ("x86-64-v3", "Zen 3"): 1}.items():
        target = FAMILY.find(name)
        assert target is not None
        schedule = FAMILY.choose(packed, dataclasses.replace(target, device=device))
        assert isinstance(schedule, LimbsMatmul) and schedule.mr == mr


@pytest.mark.parametrize(
    ("m", "tile"), [(1, (1, 16)), (2, (2, 16)), (6, (3, 16)), (15, (4, 16)), (16, (2, 32))]
)
@pytest.mark.parametrize("b_dtype", [BType.S8, BType.S4])
def test_weights_of_few_bits_come_panel_by_panel_where_rows_are_walked(
    m: int, tile: tuple[int, int], b_dtype: BType
) -> None:
    """On Zen 5: a model has them in memory. So do the few rows of a tile that two panels share."""
    packed = Matmul(
        m=m, n=1536, k=576, dtype=DType.F32, b_dtype=b_dtype, layout=Layout.NT,
        constant=(ConstantOperand.B,),
    )  # fmt: skip
    target = FAMILY.find("x86-64-v4+vnni")
    assert target is not None
    schedule = FAMILY.choose(packed, dataclasses.replace(target, device="Zen 5"))
    assert isinstance(schedule, LimbsMatmul)
    assert (schedule.mr, schedule.nr) == tile and schedule.ahead == 4096
    other = FAMILY.choose(packed, dataclasses.replace(target, device="Zen 4"))
    assert isinstance(other, LimbsMatmul) and other.ahead == 0


@pytest.mark.parametrize(
    ("m", "n", "k", "vectors"),
    [(1, 1536, 576, 1), (1, 2048, 2048, 2), (3, 576, 1536, 2), (4, 576, 1536, 0), (1, 64, 576, 0)],
)
def test_weights_of_bf16_are_fetched_ahead_where_rows_are_walked(
    m: int, n: int, k: int, vectors: int
) -> None:
    """On Zen 5, of up to three rows: one row takes one panel after the other, if they are short."""
    packed = Matmul(
        m=m, n=n, k=k, dtype=DType.F32, b_dtype=BType.BF16, constant=(ConstantOperand.B,)
    )
    target = FAMILY.find("x86-64-v4")
    assert target is not None
    for device, found in (("Zen 5", vectors), ("Zen 4", 0)):
        schedule = FAMILY.choose(packed, dataclasses.replace(target, device=device))
        soon = isinstance(schedule, AheadMatmul) and schedule.level == 1
        assert isinstance(schedule, BlockedMatmul) and soon is bool(found)
        assert not found or schedule.nr == 16 * found


@pytest.mark.parametrize(
    ("m", "n", "k", "walks"),
    [(8, 2304, 768, True), (5, 768, 3072, True), (12, 768, 768, False), (8, 4096, 4096, False)],
)
def test_a_b_in_the_last_level_cache_is_taken_by_panels(
    m: int, n: int, k: int, walks: bool
) -> None:
    """On Golden Cove, for as many rows as a register tile has; in two tasks of columns."""
    target = FAMILY.find("x86-64-amx")
    assert target is not None
    schedule = FAMILY.choose(Matmul(m=m, n=n, k=k, dtype=DType.F32), target)
    assert isinstance(schedule, BlockedMatmul) and schedule.pack_b is walks
    if walks:
        assert (schedule.mr, schedule.kc, -(-n // schedule.nc)) == (m, 128, 2)


@pytest.mark.parametrize(
    ("m", "n", "k", "tasks"),
    [(12, 768, 3072, 4), (8, 2304, 768, 4), (32, 512, 2048, 4), (16, 2048, 2048, 2)],
)
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_short_products_by_panels_have_four_even_tasks(
    name: str, m: int, n: int, k: int, tasks: int
) -> None:
    schedule = plan(Matmul(m=m, n=n, k=k, dtype=DType.F32), name, core="Zen 4").schedule
    assert isinstance(schedule, BlockedMatmul) and schedule.mc >= m
    assert -(-n // schedule.nc) == tasks


@pytest.mark.parametrize(
    ("name", "shape", "constant", "tile", "packs_b"),
    [
        ("x86-64-v4", (6, 1024, 1024), (), (6, 64), False),
        ("x86-64-v4", (8, 2304, 768), (), (4, 48), False),
        ("x86-64-v4", (16, 2048, 2048), (), (8, 48), False),
        # 11 panels of three vectors would be 6 and 5 of them, for two cores.
        ("x86-64-v4", (32, 512, 2048), (), (11, 32), False),
        ("x86-64-v4", (31, 4096, 1024), ("b",), (8, 48), False),
        ("x86-64-v3", (8, 2304, 768), (), (4, 16), False),
        ("x86-64-v3", (31, 4096, 1024), (), (6, 16), True),
        ("x86-64-v3", (31, 4096, 1024), ("b",), (6, 16), False),
    ],
)
def test_panels_are_fetched_while_others_are_multiplied(
    name: str,
    shape: tuple[int, int, int],
    constant: tuple[Literal["b"], ...],
    tile: tuple[int, int],
    packs_b: bool,
) -> None:
    """Where the hardware does not follow rows by itself, on all rows at once and in several tasks,
    and before they are packed; on a single tile of panels of a line, or from memory, B is a stream.
    """
    m, n, k = shape
    spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, constant=constant)
    schedule = plan(spec, name, core="Zen 4").schedule
    assert type(schedule) is (AheadMatmul if packs_b else CpuMatmul)
    assert (schedule.mr, schedule.nr, schedule.pack_b) == (*tile, packs_b)
    assert schedule.mc >= m and n / 16 < schedule.nc < n
    assert (schedule.kc == k) is bool(constant)
    for m, n, k in ((6, 1024, 1024), (8, 4096, 4096)) if name == "x86-64-v3" else ():
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32)
        stream = plan(spec, name, core="Zen 4").schedule
        assert isinstance(stream, BlockedMatmul) and stream.kc == 16


def test_many_blocks_of_columns_are_an_even_number() -> None:
    """So that two cores have as much to do. Rows of sums do not meet in sets of the first-level
    cache."""
    target = FAMILY.find("x86-64-v4")
    assert target
    for m, n in ((1, 5120), (3, 5120), (2, 2048), (4, 2048), (4, 2304)):
        spec = Matmul(m=m, n=n, k=5120, dtype=DType.F32)
        schedule = pipeline.plan(spec, target).schedule
        assert isinstance(schedule, OuterMatmul)
        assert -(-spec.n // schedule.nc) % 2 == 0
        assert m == 1 or schedule.nc % 512


@pytest.mark.parametrize(
    ("m", "n", "two_sums", "fetches"),
    [(1, 4096, True, True), (4, 4096, False, True), (1, 512, True, False), (8, 512, False, False)],
)
def test_few_rows_by_prepacked_pairs(m: int, n: int, two_sums: bool, fetches: bool) -> None:
    """Tiles of few sums have two for each, a B from memory is fetched, and few rows of A leave the
    sums in registers along all of K."""
    spec = Matmul(m=m, n=n, k=4096, dtype=DType.BF16, constant=(ConstantOperand.B,))
    planned = plan(spec, "x86-64-v3")
    assert isinstance(planned, BlisPlan)
    assert planned.has_two_sums(planned.tiles.whole) == two_sums
    assert planned.fetches_panels == fetches
    assert m > 4 or planned.is_direct


@pytest.mark.parametrize(("n", "k"), [(45, 2892), (64, 6956)])
def test_few_rows_of_a_transposed_a_fit(n: int, k: int) -> None:
    """They are packed by whole vectors of rows: 3 take as much room as 48."""
    spec = Matmul(m=3, n=n, k=k, dtype=DType.S8, layout=Layout.TN)
    for name in ("x86-64-v3", "x86-64-v4", "x86-64-v4+vnni"):
        pipeline.plan(spec, targets.find(name))
