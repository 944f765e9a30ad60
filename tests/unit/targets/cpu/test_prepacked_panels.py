"""How products of few rows by an f32 B that comes packed read its panels."""

from __future__ import annotations

import dataclasses

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import AheadMatmul, BlockedMatmul, DotMatmul, Schedule
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_a_tile_of_all_rows_fetches_panels_that_came_packed(name: str) -> None:
    """From so many rows on as hide the fetching: of half of the last-level cache, and of memory,
    where rows of a vector's line are fewer; not of a small B, nor where the hardware does."""
    found, wide = targets.find(name), name == "x86-64-v4"
    follows = dataclasses.replace(found, device="Golden Cove")
    for m, n, k, fetched in (
        (1, 2048, 2048, False), (3, 2048, 2048, True), (6, 2048, 2048, True),
        (3, 5120, 2048, not wide), (6, 5120, 2048, True), (4, 1536, 1536, False),
    ):  # fmt: skip
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, constant=(ConstantOperand.B,))
        planned = pipeline.plan(spec, found, FAMILY.choose(spec, found))
        assert isinstance(planned, TiledPlan) and planned.blocking.row_tiles == 1
        assert isinstance(planned.schedule, AheadMatmul) == fetched == planned.fetches_panels
        vectors = sum(len(tile.columns) for tile in planned.tiles.all)
        prefetches = pipeline.source(planned).text.count("call void @llvm.prefetch")
        assert prefetches == fetched * vectors
        assert not isinstance(FAMILY.choose(spec, follows), AheadMatmul)


def test_the_next_panel_that_came_packed_has_room() -> None:
    """Beside this one, in the second-level cache; a single tile reads a panel once."""
    found = targets.find("x86-64-v4")
    for m, k in ((8, 4096), (12, 3072), (16, 4096), (32, 2048)):
        spec = Matmul(m=m, n=1024, k=k, dtype=DType.F32, constant=(ConstantOperand.B,))
        schedule = FAMILY.choose(spec, found)
        assert isinstance(schedule, BlockedMatmul)
        fits = 2 * schedule.kc * schedule.nr * 4 <= found.limits["l2_bytes"]
        assert fits if m > schedule.mr else schedule.kc == k
    apart = Matmul(
        m=16, n=1024, k=4096, dtype=DType.F32, out_dtype=DType.F16, constant=(ConstantOperand.B,)
    )
    schedule = FAMILY.choose(apart, found)
    assert isinstance(schedule, BlockedMatmul) and schedule.kc == apart.k


def test_panels_that_came_packed_where_rows_are_walked() -> None:
    """In several tiles by 256 of K, unless sums have no room in out. Of many rows it takes panels
    cheaper to read again (Zen 5)."""
    wide = targets.find("x86-64-v4")
    walks = dataclasses.replace(wide, device="Zen 5", limits={**wide.limits, "l3_bytes": 1 << 25})
    for m, n, k, out, kc in (
        (8, 2304, 768, DType.F32, 768), (16, 1024, 4096, DType.F32, 256),
        (16, 1024, 4096, DType.F16, 4096), (4, 2048, 2048, DType.F32, 2048),
    ):  # fmt: skip
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, out_dtype=out, constant=(ConstantOperand.B,))
        schedule = pipeline.plan(spec, walks).schedule
        assert isinstance(schedule, BlockedMatmul) and schedule.kc == kc, spec.key
    tall = Matmul(m=128, n=768, k=3072, dtype=DType.F32, constant=(ConstantOperand.B,))
    there, here = (FAMILY.choose(tall, target) for target in (walks, wide))
    assert isinstance(there, BlockedMatmul) and isinstance(here, BlockedMatmul)
    assert there.nr * there.kc < here.nr * here.kc


#: Bytes ahead, or `NEXT_TILE`, and the cache into which lines are fetched; None if none are.
Fetched = tuple[int, int] | None
#: The distance to the panels of the next tile, which the first-level cache holds.
NEXT_TILE = 0
SOON, FIRST, SECOND, NEXT = (2048, 1), (4096, 1), (4096, 2), (NEXT_TILE, 2)


@pytest.mark.parametrize(
    ("name", "m", "shape", "fetched"),
    [
        # All of it stays in the last-level cache, and in part in the second-level ones.
        ("x86-64-v4", 1, (512, 2048), SOON),
        ("x86-64-v4", 4, (768, 3072), SOON),
        ("x86-64-v4", 2, (768, 768), None),
        ("x86-64-v4", 9, (768, 3072), SOON),
        ("x86-64-v4", 10, (768, 3072), FIRST),
        ("x86-64-v4", 14, (768, 3072), FIRST),
        ("x86-64-v4", 15, (768, 3072), None),
        ("x86-64-v3", 1, (512, 2048), (1024, 1)),
        ("x86-64-v3", 2, (512, 2048), SOON),
        ("x86-64-v3", 6, (512, 2048), FIRST),
        ("x86-64-v3", 7, (512, 2048), None),
        # No larger than the second-level cache, or little: what is multiplied by each line.
        ("x86-64-v3", 3, (384, 384), None),
        ("x86-64-v3", 4, (384, 384), NEXT),
        ("x86-64-v3", 6, (768, 768), NEXT),
        ("x86-64-v3", 8, (768, 768), None),
        ("x86-64-v3", 196, (1024, 256), NEXT),
        ("x86-64-v3", 33, (96, 96), None),
        ("x86-64-v4", 4, (384, 384), None),
        ("x86-64-v4", 5, (384, 384), SOON),
        ("x86-64-v4", 8, (384, 384), NEXT),
        ("x86-64-v4", 12, (768, 768), NEXT),
        ("x86-64-v4", 16, (384, 384), NEXT),
        ("x86-64-v4", 196, (1024, 256), NEXT),
        ("x86-64-v4", 196, (256, 1024), None),
        # Half of it.
        ("x86-64-v4", 1, (2048, 2048), None),
        ("x86-64-v4", 3, (2048, 2048), SOON),
        # More than half of it.
        ("x86-64-v4", 3, (5120, 2048), None),
        ("x86-64-v4", 4, (5120, 2048), FIRST),
        ("x86-64-v4", 16, (5120, 2048), FIRST),
        ("x86-64-v4", 64, (5120, 2048), FIRST),
        ("x86-64-v4", 65, (5120, 2048), None),
        ("x86-64-v3", 1, (5120, 2048), None),
        ("x86-64-v3", 2, (5120, 2048), FIRST),
        ("x86-64-v3", 3, (5120, 2048), FIRST),
        ("x86-64-v3", 4, (5120, 2048), SECOND),
    ],
)
def test_the_cache_into_which_panels_are_fetched_where_rows_are_walked(
    name: str, m: int, shape: tuple[int, int], fetched: Fetched
) -> None:
    """As it was measured (Zen 5)."""
    schedule = walked(name, m, shape, DType.F32)
    if not isinstance(schedule, AheadMatmul):
        assert fetched is None
        return
    is_next = schedule.ahead == schedule.nr * shape[1] * DType.F32.itemsize
    assert (NEXT_TILE if is_next else schedule.ahead, schedule.level) == fetched


@pytest.mark.parametrize(
    ("name", "dtype", "m", "side", "ahead"),
    [
        ("x86-64-v4+bf16", DType.BF16, 2, 4096, 0),
        ("x86-64-v4+bf16", DType.BF16, 3, 4096, 4096),
        ("x86-64-v4+bf16", DType.BF16, 32, 4096, 4096),
        ("x86-64-v4+bf16", DType.BF16, 2, 2048, 0),
        ("x86-64-v4+bf16", DType.BF16, 3, 2048, 2048),
        ("x86-64-v4+bf16", DType.BF16, 32, 2048, 2048),
        ("x86-64-v4+bf16", DType.BF16, 128, 2048, 2048),
        ("x86-64-v4+bf16", DType.BF16, 129, 2048, 0),
        # Few rows of a smaller one are not worth it.
        ("x86-64-v4+bf16", DType.BF16, 4, 384, 0),
        ("x86-64-v4+bf16", DType.BF16, 5, 384, 2048),
        ("x86-64-v4+bf16", DType.BF16, 5, 256, 0),
        ("x86-64-v4+vnni", DType.S8, 8, 5120, 4096),
        ("x86-64-v4+vnni", DType.S8, 8, 4096, 2048),
        ("x86-64-v4+vnni", DType.S8, 6, 4096, 1024),
        ("x86-64-v4+vnni", DType.S8, 4, 768, 0),
        ("x86-64-v4+vnni", DType.S8, 5, 768, 1024),
        ("x86-64-v4+vnni", DType.S8, 128, 768, 2048),
        ("x86-64-v3", DType.S8, 2, 2048, 0),
        ("x86-64-v3", DType.S8, 6, 2048, 2048),
        ("x86-64-v3", DType.S8, 64, 768, 2048),
        ("x86-64-v3", DType.S8, 65, 768, 0),
        ("x86-64-v3", DType.S8, 8, 5120, 0),
    ],
)
def test_groups_of_panels_are_fetched_where_rows_are_walked(
    name: str, dtype: DType, m: int, side: int, ahead: int
) -> None:
    schedule = walked(name, m, (side, side), dtype)
    assert isinstance(schedule, DotMatmul) and schedule.ahead == ahead


@pytest.mark.parametrize(
    ("m", "shape", "level"),
    [
        (1, (384, 384), 0), (2, (384, 384), 2), (33, (384, 384), 2), (128, (768, 3072), 2),
        (17, (4096, 4096), 2),
    ],
)  # fmt: skip
def test_pairs_are_fetched_where_rows_are_walked(
    m: int, shape: tuple[int, int], level: int
) -> None:
    """Into the second-level cache."""
    schedule = walked("x86-64-v3", m, shape, DType.BF16)
    assert (schedule.level if isinstance(schedule, AheadMatmul) else 0) == level


def test_what_is_fetched_goes_to_the_cache_of_its_level() -> None:
    """PREFETCHT0 and PREFETCHT1: results do not tell."""
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


def walked(name: str, m: int, shape: tuple[int, int], dtype: DType) -> Schedule:
    """On a core that walks rows by itself, with the caches that were measured (Zen 5)."""
    wide = targets.find(name)
    caches = {"l1_bytes": 48 << 10, "l2_bytes": 1 << 20, "l3_bytes": 1 << 25}
    walks = dataclasses.replace(wide, device="Zen 5", limits={**wide.limits, **caches})
    spec = Matmul(m=m, n=shape[0], k=shape[1], dtype=dtype, constant=(ConstantOperand.B,))
    return pipeline.plan(spec, walks).schedule
