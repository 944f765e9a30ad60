"""Code of inner products: order of columns, prefetches, and no spills."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.kernels.inner import InnerPlan
from kgen.targets.cpu.schedule.cost_model import best
from tests.unit.targets.cpu.cpu_plans import plan


@pytest.mark.parametrize(("n", "nc"), [(4096, 256), (4091, 256), (70, 48), (5, 16)])
def test_columns_of_inner_products_are_streams_that_go_on(n: int, nc: int) -> None:
    """Whole tiles take the first column of each part of a block, then the second ones; remaining
    columns come last."""
    schedule = InnerMatmul(mr=1, nr=4, mc=1, kc=64, nc=nc, pack_a=False, pack_b=False)
    planned = plan(Matmul(m=1, n=n, k=64, dtype=DType.F32, layout=Layout.NT), "x86-64-v4", schedule)
    assert isinstance(planned, InnerPlan)
    assert planned.tile_spread(planned.tiles.whole) == planned.spread
    assert n % 4 == 0 or planned.tile_spread(planned.tiles.right) == "1"
    assert planned.blocking.n.varies == (planned.spread == "%spread") == (n > nc and n % nc > 0)
    if not planned.blocking.n.varies:
        spread = int(planned.spread)
        taken = [j + spread * c for j in range(spread) for c in range(4)]
        assert sorted(taken) == list(range(min(n, nc) // 4 * 4))


@pytest.mark.parametrize(
    ("target", "once"), [("x86-64-v3", [True, False]), ("x86-64-v4", [True] * 2)]
)
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16])
def test_each_line_of_the_next_tiles_is_fetched_once(
    dtype: DType, target: str, once: list[bool]
) -> None:
    """Two vectors of half a line share one prefetch."""
    schedule = InnerMatmul(
        mr=1, nr=2, mc=1, kc=128, nc=16, pack_a=False, pack_b=False, unroll=2, prefetch=1
    )
    planned = plan(Matmul(m=1, n=64, k=256, dtype=dtype, layout=Layout.NT), target, schedule)
    assert isinstance(planned, InnerPlan) and planned.blocking.k.is_split
    assert [planned.fetches_at(vector, dtype) for vector in planned.k_steps.step_vectors] == once
    assert planned.next_offsets == (256 * dtype.itemsize,)


def test_rows_of_the_tile_below_are_fetched() -> None:
    """Only an output with more rows than columns has these prefetches."""
    schedule = InnerMatmul(
        mr=2, nr=2, mc=8, kc=64, nc=16, pack_a=False, pack_b=False, prefetch=1, level=1
    )
    for m, n, fetched in ((8, 6, 2), (6, 8, 0)):
        spec = Matmul(m=m, n=n, k=64, dtype=DType.F32, lda=100, layout=Layout.NT)
        planned = plan(spec, "x86-64-v4", schedule)
        assert isinstance(planned, InnerPlan)
        text = pipeline.source(planned).text
        loop = text[
            text.index(f"@{planned.tiles.whole.name}(") : text.index("reduce each vector sum")
        ]
        assert loop.count("call void @llvm.prefetch") == fetched
        offsets = [planned.next_row(row) for row in planned.tiles.whole.rows]
        assert offsets == ([800, 1200] if fetched else [0, 400])


@pytest.mark.integration
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
def test_inner_products_do_not_spill(target: str) -> None:
    """Widening needs registers besides the sums in every function of a tile."""
    found = FAMILY.find(target)
    assert found is not None
    for m in (1, 2, 8):
        spec = Matmul(m=m, n=256, k=4096, dtype=DType.F16, layout=Layout.NT)
        planned = pipeline.plan(spec, found, best(spec, found, {}, "inner"))
        assert isinstance(planned, InnerPlan)
        text = assembly(pipeline.source(planned).text, found.arch, planned.features)
        loop = re.search(r"Inner Loop Header.*?\s(jb|jne|b\.lo|b\.ne)\s", text, re.DOTALL)
        assert loop is not None
        assert "Spill" not in loop[0] and "Reload" not in loop[0]
