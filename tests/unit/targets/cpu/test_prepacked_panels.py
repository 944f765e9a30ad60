"""How products of few rows by an f32 B that comes packed read its panels."""

from __future__ import annotations

import dataclasses

import pytest

from kgen import pipeline, targets
from kgen.schedule import AheadMatmul, CpuMatmul
from kgen.spec import DType, Matmul, Operand
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
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, constant=(Operand.B,))
        planned = pipeline.plan(spec, found, FAMILY.choose(spec, found))
        assert isinstance(planned, TiledPlan) and planned.row_tiles == 1
        assert isinstance(planned.schedule, AheadMatmul) == fetched == planned.fetches_panels
        vectors = sum(len(tile.columns) for tile in planned.tiles)
        prefetches = pipeline.source(planned).text.count("call void @llvm.prefetch")
        assert prefetches == fetched * vectors
        assert not isinstance(FAMILY.choose(spec, follows), AheadMatmul)


def test_the_next_panel_that_came_packed_has_room() -> None:
    """Beside this one, in the second-level cache; a single tile reads a panel once."""
    found = targets.find("x86-64-v4")
    for m, k in ((8, 4096), (12, 3072), (16, 4096), (32, 2048)):
        spec = Matmul(m=m, n=1024, k=k, dtype=DType.F32, constant=(Operand.B,))
        schedule = FAMILY.choose(spec, found)
        assert isinstance(schedule, CpuMatmul)
        fits = 2 * schedule.kc * schedule.nr * 4 <= found.limits["l2_bytes"]
        assert fits if m > schedule.mr else schedule.kc == k
    apart = Matmul(
        m=16, n=1024, k=4096, dtype=DType.F32, out_dtype=DType.F16, constant=(Operand.B,)
    )
    schedule = FAMILY.choose(apart, found)
    assert isinstance(schedule, CpuMatmul) and schedule.kc == apart.k


def test_panels_that_came_packed_where_rows_are_walked() -> None:
    """In several tiles by 256 of K, unless sums have no room in out; nothing is fetched of half of
    the last-level cache. Of many rows it takes panels cheaper to read again (Zen 5)."""
    wide = targets.find("x86-64-v4")
    walks = dataclasses.replace(wide, device="Zen 5", limits={**wide.limits, "l3_bytes": 1 << 25})
    for m, n, k, out, kc in (
        (8, 2304, 768, DType.F32, 768), (16, 1024, 4096, DType.F32, 256),
        (16, 1024, 4096, DType.F16, 4096), (4, 2048, 2048, DType.F32, 2048),
    ):  # fmt: skip
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, out_dtype=out, constant=(Operand.B,))
        schedule = pipeline.plan(spec, walks).schedule
        assert type(schedule) is CpuMatmul and schedule.kc == kc, spec.key
    tall = Matmul(m=128, n=768, k=3072, dtype=DType.F32, constant=(Operand.B,))
    there, here = (FAMILY.choose(tall, target) for target in (walks, wide))
    assert isinstance(there, CpuMatmul) and isinstance(here, CpuMatmul)
    assert there.nr * there.kc < here.nr * here.kc
