"""Skinny GEMMs on Zen 3, which read rows of B from end to end without software prefetches."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.base import Target
from tests.device.cpu.cpu_support import best_of, check, here

NEAR, FAR = 1 << 25, 1 << 19
ROWS = (1, 2, 3, 4, 5, 7, 12, 16, 17, 24)
TYPES = (DType.F32, DType.F16, DType.BF16, DType.S8)


def zen_3(l3_bytes: int) -> Target:
    """Return a Zen 3 whose second-level cache is smaller than B; the last-level cache is larger
    or smaller."""
    found = here("x86-64-v3")
    limits = {**found.limits, "l2_bytes": 1 << 18, "l3_bytes": l3_bytes}
    return dataclasses.replace(found, device="Zen 3", limits=limits)


@pytest.mark.parametrize("l3_bytes", [NEAR, FAR])
@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("dtype", TYPES)
def test_few_rows(dtype: DType, m: int, l3_bytes: int) -> None:
    """N and K are no multiples of anything, in one task or in several; the last-level cache
    alternates."""
    turn = ROWS.index(m) + TYPES.index(dtype) + (l3_bytes == NEAR)
    n, k, batch = ((613, 577, 1), (1031, 301, 2))[turn % 2]
    check(Matmul(m=m, n=n, k=k, dtype=dtype, batch=batch), zen_3(l3_bytes))


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
@pytest.mark.parametrize("m", [4, 12])
def test_rows_cut_along_k(dtype: DType, m: int) -> None:
    """Tiles cover whole rows of B, 8 at once; each thread has a part of K."""
    spec, found = Matmul(m=m, n=613, k=577, dtype=dtype), here("x86-64-v3")
    schedule = best_of(spec, found, "split-k", kc=8, split_k=4, pack_a=1)
    assert schedule.nc >= spec.n and schedule.mc >= spec.m
    check(spec, found, schedule)


@pytest.mark.parametrize("m", [2, 4, 8, 15])
def test_columns_of_a_transposed_b_are_read_whole(m: int) -> None:
    spec = Matmul(m=m, n=300, k=2048, dtype=DType.F32, layout=Layout.NT)
    found = here("x86-64-v3")
    for kc in (2048, 512):
        check(spec, found, best_of(spec, found, "inner", kc=kc))


@pytest.mark.parametrize("prefetch", [0, 1])
def test_rows_of_a_are_prefetched(prefetch: int) -> None:
    """B has a small N, and is transposed first."""
    found = here("x86-64-v3")
    for m, k in ((300, 300), (50, 300)):
        spec = Matmul(m=m, n=10, k=k, dtype=DType.F32, epilogue=(Epilogue.BIAS,))
        fixed = {"mr": 6, "nr": 2, "unroll": 1, "prefetch": prefetch}
        check(spec, found, best_of(spec, found, "inner", **fixed))


def test_several_tiles_take_a_large_b_in_short_blocks() -> None:
    found = here("x86-64-v3")
    spec = Matmul(m=49, n=256, k=1000, dtype=DType.F32)
    check(spec, found, best_of(spec, found, "ahead", pack_b=1, kc=256, ahead=4096, level=2))
