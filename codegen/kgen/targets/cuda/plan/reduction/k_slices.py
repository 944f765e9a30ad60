"""Slices that a schedule cuts K into, as a batch of products."""

from __future__ import annotations

from functools import lru_cache

from kgen.schedule import SplitFmaMatmul, SplitMatmul, WgmmaMatmul
from kgen.spec import Layout, Matmul
from kgen.targets.contraction.access import access_maps

F32_BYTES = 4

#: Schedules with split-k.
SplitSchedule = SplitMatmul | SplitFmaMatmul | WgmmaMatmul


def part_tiles(spec: Matmul, schedule: SplitSchedule) -> int:
    """Return the K-tiles of each slice; the last slice may have fewer."""
    return -(-spec.k // (schedule.block_k * schedule.split_k))


def part_spec(spec: Matmul, schedule: SplitSchedule) -> Matmul:
    """Return a matmul whose batch has the slices of each product, one product after another.

    Outputs are the packed accumulators, 4 bytes each. The kernel reads operands from the whole
    matrices, whose strides this spec does not have.
    """
    return _parts(spec, part_tiles(spec, schedule) * schedule.block_k, schedule.split_k)


@lru_cache(maxsize=64)
def _parts(spec: Matmul, k: int, split_k: int) -> Matmul:
    """Return the matmul of `part_spec`; cached because the model predicts many schedules with equal
    slices."""
    # Tiles in shared memory have the order of the operands' maps, also where those are no matrices.
    a, b = access_maps(spec)
    layout = f"{'t' if a.inner == 'row' else 'n'}{'t' if b.inner == 'k' else 'n'}"
    return Matmul(
        m=spec.m,
        n=spec.n,
        k=k,
        dtype=spec.dtype,
        b_dtype=spec.b_dtype,
        out_dtype=spec.accumulate,
        layout=Layout(layout),
        math=spec.math,
        batch=spec.batch * split_k,
    )
