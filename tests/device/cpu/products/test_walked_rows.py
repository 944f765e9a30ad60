"""Skinny GEMMs on cores whose hardware prefetcher tracks rows of B, at any cache level."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.device.cpu.cpu_support import check, here

#: Bytes of the last-level cache: B of these sizes leaves it, lies in a part of it, and stays there.
CACHES = {"far": 1024, "half": 3 << 16, "near": 1 << 20}
ROWS = (1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 31)
#: What a core has instructions for.
TYPES = [
    ("x86-64-v3", DType.F32),
    ("x86-64-v3", DType.BF16),
    ("x86-64-v4", DType.F32),
    ("x86-64-v4+bf16", DType.BF16),
    ("x86-64-v4+vnni", DType.S8),
]
#: Each number of rows in each type; each pair of another two of rows, type, cache and shape too.
CASES = [
    (m, name, dtype, tuple(CACHES)[(i + j) % len(CACHES)])
    for i, m in enumerate(ROWS)
    for j, (name, dtype) in enumerate(TYPES)
]


@pytest.mark.parametrize(("m", "name", "dtype", "cache"), CASES)
def test_every_number_of_rows(m: int, name: str, dtype: DType, cache: str) -> None:
    """N is no multiple of a strip, B has fewer rows than are prefetched, K is cut. Each case has
    two of the shapes, in turn."""
    found = here(name)
    limits = {**found.limits, "l2_bytes": 1 << 14, "l3_bytes": CACHES[cache]}
    walks = dataclasses.replace(found, device="Zen 5", limits=limits)
    shapes: tuple[tuple[int, int, dict[str, Any]], ...] = (
        (1101, 29, {"batch": 2}),
        (256, 117, {"epilogue": (Epilogue.BIAS,)} if dtype is not DType.S8 else {}),
        (101, 277, {"layout": Layout.TN}),
        (4099, 33, {}),
    )
    turn = ROWS.index(m) + tuple(CACHES).index(cache) + TYPES.index((name, dtype))
    for n, k, fields in shapes[turn % 2 :: 2]:
        check(Matmul(m=m, n=n, k=k, dtype=dtype, **fields), walks)
