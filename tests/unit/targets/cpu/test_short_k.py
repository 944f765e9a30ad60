"""Products of a short K: tasks of one tile's rows."""

from __future__ import annotations

import pytest

from kgen.spec import DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from tests.unit.targets.cpu.cpu_plans import plan

CASES = [
    ("x86-64-v3", DType.F32),
    ("x86-64-v4", DType.F32),
    ("x86-64-v4", DType.F64),
    ("x86-64-v4", DType.F16),
    ("x86-64-v4+bf16", DType.BF16),
    ("x86-64-v4+vnni", DType.S8),
    ("aarch64-neon", DType.F32),
]


@pytest.mark.parametrize(("target", "dtype"), CASES)
@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
def test_a_task_is_a_tiles_rows(target: str, dtype: DType, layout: Layout) -> None:
    """Along all columns, whose panels the first task packs for the others."""
    found = plan(Matmul(m=100, n=1024, k=5, dtype=dtype, layout=layout), target)
    assert isinstance(found, TiledPlan)
    assert (found.schedule.mr, found.blocking.row_tiles, found.blocking.blocks_n) == (
        found.schedule.mc,
        1,
        1,
    )
    assert found.schedule.mr <= 8
    assert not found.schedule.pack_b or found.keeps_b


def test_others_are_in_blocks() -> None:
    """A longer K, one tile's rows or columns, and more columns than there is room for to pack."""
    for m, n, k in ((100, 1024, 40), (8, 1024, 5), (100, 30, 5)):
        found = plan(Matmul(m=m, n=n, k=k, dtype=DType.F32), "x86-64-v4")
        assert isinstance(found, TiledPlan)
        assert found.blocking.row_tiles == -(-m // found.schedule.mr)
    wide = plan(Matmul(m=100, n=100_000, k=16, dtype=DType.F32), "x86-64-v4")
    assert isinstance(wide, TiledPlan)
    assert wide.keeps_b and wide.blocking.row_tiles == 1 and wide.blocking.blocks_n > 1


def test_columns_of_a_that_meet_are_packed() -> None:
    """A power of two apart, in 16 registers."""
    for target, m, n, packs in (
        ("x86-64-v3", 1024, 512, True),
        ("x86-64-v3", 1000, 512, False),
        ("x86-64-v3", 1024, 8, False),
        ("x86-64-v4", 1024, 512, False),
    ):
        found = FAMILY.find(target)
        assert found is not None
        spec = Matmul(m=m, n=n, k=100, dtype=DType.F32, layout=Layout.TT)
        schedule = FAMILY.choose(spec, found)
        assert schedule.to_json()["pack_a"] is packs
