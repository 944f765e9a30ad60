"""Split-k of products of few rows: whole rows of B, in slices of K that cores share."""

from __future__ import annotations

import dataclasses

from kgen.schedule import CpuMatmul, CpuSplitMatmul
from kgen.spec import Matmul

#: Slices of a product, each of so many blocks of K at least; and multiply-adds from which it has
#: them: a launch more takes a microsecond or two.
SLICES, SLICE_BLOCKS, SLICED_WORK = 4, 4, 1 << 22


def slices_of(spec: Matmul, kc: int) -> int:
    """How many slices K has, in blocks of so much of it; 1 if it does not pay."""
    slices = min(SLICES, spec.k // (SLICE_BLOCKS * kc))
    return slices if slices > 1 and spec.m * spec.n * spec.k >= SLICED_WORK else 1


def in_slices(spec: Matmul, whole: CpuMatmul) -> CpuMatmul:
    """Split-k of a product that is one task, so that other cores have a part of it: 12 x 768 x 3072
    in f32 takes two threads 1.0 times one's time without it (Golden Cove)."""
    is_whole = whole.mc >= spec.m and whole.nc >= spec.n and spec.batch == 1
    slices = slices_of(spec, whole.kc)
    if not is_whole or whole.pack_b or slices < 2:
        return whole
    fields = {field.name: getattr(whole, field.name) for field in dataclasses.fields(whole)}
    return CpuSplitMatmul(**fields, split_k=slices)
