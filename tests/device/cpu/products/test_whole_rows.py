"""Products of a few rows on Zen 3, which read rows of B from end to end and fetch none."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.schedule import (
    AheadMatmul,
    BlockedMatmul,
    CpuMatmul,
    CpuSplitMatmul,
    InnerMatmul,
    OuterMatmul,
)
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from tests.device.cpu.cpu_support import check, here

NEAR, FAR = 1 << 25, 1 << 19
ROWS = (1, 2, 3, 4, 5, 7, 12, 16, 17, 24)
TYPES = (DType.F32, DType.F16, DType.BF16, DType.S8)


def zen_3(l3_bytes: int) -> Target:
    """With a second-level cache that a B of these sizes leaves, and a last-level one that it stays
    in or leaves."""
    found = here("x86-64-v3")
    limits = {**found.limits, "l2_bytes": 1 << 18, "l3_bytes": l3_bytes}
    return dataclasses.replace(found, device="Zen 3", limits=limits)


@pytest.mark.parametrize("l3_bytes", [NEAR, FAR])
@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("dtype", TYPES)
def test_few_rows(dtype: DType, m: int, l3_bytes: int) -> None:
    """Columns and a K that nothing divides, alone or in several tasks, with the other cache the
    other way."""
    turn = ROWS.index(m) + TYPES.index(dtype) + (l3_bytes == NEAR)
    n, k, batch = ((613, 577, 1), (1031, 301, 2))[turn % 2]
    check(Matmul(m=m, n=n, k=k, dtype=dtype, batch=batch), zen_3(l3_bytes))


@pytest.mark.parametrize("l3_bytes", [NEAR, FAR])
@pytest.mark.parametrize(
    ("dtype", "outer", "tiles"),
    [
        (DType.F32, (1, 2, 3), (5, 8, 12)),
        (DType.F16, (), (1, 4, 12)),
        (DType.BF16, (1, 2), (3, 8, 12)),
        (DType.S8, (1, 2), ()),
    ],
)
def test_rows_of_b_are_read_whole(
    dtype: DType, outer: tuple[int, ...], tiles: tuple[int, ...], l3_bytes: int
) -> None:
    """One thread passes by all columns; several have a part each of them, or of K."""
    found = zen_3(l3_bytes)
    for m in outer:
        chosen = FAMILY.choose(Matmul(m=m, n=2048, k=1024, dtype=dtype), found)
        assert isinstance(chosen, OuterMatmul) and chosen.prefetch == 0
        assert chosen.kc >= 64 * chosen.parts, "rows of B are far apart"
        assert chosen.nc < 2048 <= chosen.nc * chosen.tasks_per_pass
        # The sums of wider rows have no room in the first-level cache.
        wide = FAMILY.choose(Matmul(m=m, n=12288 // m, k=1024, dtype=dtype), found)
        assert isinstance(wide, OuterMatmul) and wide.nc * wide.tasks_per_pass >= 12288 // m
    for m in tiles:
        chosen = FAMILY.choose(Matmul(m=m, n=1024, k=4096, dtype=dtype), found)
        assert isinstance(chosen, CpuSplitMatmul) and chosen.split_k == 4
        assert (chosen.kc, chosen.pack_a, chosen.pack_b) == (8, True, False)
        assert chosen.nc >= 1024 and chosen.mc >= m


def test_columns_of_a_transposed_b_are_read_whole() -> None:
    found = zen_3(NEAR)
    for m in (2, 4, 8, 15):
        spec = Matmul(m=m, n=600, k=4096, dtype=DType.F32, layout=Layout.NT)
        chosen = FAMILY.choose(spec, found)
        assert isinstance(chosen, InnerMatmul) and chosen.kc == spec.k
        shorter = FAMILY.choose(spec, dataclasses.replace(found, device="Zen 4"))
        assert isinstance(shorter, InnerMatmul) and shorter.kc < spec.k
        check(spec, found)


def test_rows_are_fetched_where_they_have_room() -> None:
    """Of an A that leaves the second-level cache, by few columns; not those that would fill the
    first one."""
    found = zen_3(NEAR)
    for m, k, fetches in ((300, 300, True), (300, 800, False), (50, 300, False)):
        spec = Matmul(m=m, n=10, k=k, dtype=DType.F32, epilogue=(Epilogue.BIAS,))
        chosen = FAMILY.choose(spec, found)
        assert isinstance(chosen, InnerMatmul) and chosen.pack_b
        assert (chosen.mr, chosen.nr, chosen.prefetch) == (6, 2, int(fetches))
        check(spec, found)
    many = FAMILY.choose(Matmul(m=300, n=16, k=300, dtype=DType.F32), found)
    assert type(many) is CpuMatmul


def test_several_tiles_take_a_large_b_in_short_blocks() -> None:
    found = zen_3(NEAR)
    spec = Matmul(m=49, n=256, k=1000, dtype=DType.F32)
    chosen = FAMILY.choose(spec, found)
    assert isinstance(chosen, AheadMatmul) and chosen.pack_b and chosen.kc <= 256
    check(spec, found)
    near = dataclasses.replace(found, limits={**found.limits, "l2_bytes": 1 << 21})
    small = FAMILY.choose(spec, near)
    assert isinstance(small, BlockedMatmul) and small.pack_b and small.kc > 256
