"""Slices that a schedule cuts K into, as a batch of products."""

from __future__ import annotations

from functools import lru_cache

from kgen.schedule import SplitFmaMatmul, SplitMatmul, WgmmaMatmul
from kgen.spec import Matmul

F32_BYTES = 4

#: Schedules that cut k.
SplitSchedule = SplitMatmul | SplitFmaMatmul | WgmmaMatmul


def part_tiles(spec: Matmul, schedule: SplitSchedule) -> int:
    """Tiles along k of each part; the last may have fewer."""
    return -(-spec.k // (schedule.block_k * schedule.split_k))


def part_spec(spec: Matmul, schedule: SplitSchedule) -> Matmul:
    """The parts as a batch: all of a product, then those of the next; sums (as they are
    accumulated, 4 bytes) packed behind one another. Operands are read from the whole matrices,
    whose strides are not here."""
    return _parts(spec, part_tiles(spec, schedule) * schedule.block_k, schedule.split_k)


@lru_cache(maxsize=64)
def _parts(spec: Matmul, k: int, split_k: int) -> Matmul:
    """Cached because many schedules of a product cut k alike when their times are predicted."""
    return Matmul(
        m=spec.m,
        n=spec.n,
        k=k,
        dtype=spec.dtype,
        b_dtype=spec.b_dtype,
        out_dtype=spec.accumulate,
        layout=spec.layout,
        math=spec.math,
        batch=spec.batch * split_k,
    )
