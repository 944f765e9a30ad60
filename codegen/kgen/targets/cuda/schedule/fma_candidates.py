"""Schedules of scalar multiply-adds that are worth ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kgen.schedule import SplitFmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.base import power_of_two
from kgen.targets.cuda.schedule.split_k import splits, ways_to_add

#: block_m, block_n, the least block_k, thread_m, thread_n.
FMA_TILES = (
    (128, 128, 8, 8, 8),
    (128, 64, 8, 8, 4),
    (64, 128, 8, 4, 8),
    (64, 64, 16, 4, 4),
    (64, 32, 16, 4, 4),
    (32, 64, 16, 4, 4),
    (32, 32, 16, 4, 2),
    (64, 8, 16, 4, 1),
    (8, 64, 16, 1, 4),
    (16, 16, 16, 2, 2),
    (16, 16, 16, 1, 1),
)
#: The deepest tile, and the multiply-adds of a loop that instruction caches still hold.
FMA_DEPTH, FMA_LOOP = 64, 1024
#: For few rows, and for few columns.
ROW_TILE, COLUMN_TILE = (16, 64, 16, 4, 4), (64, 16, 16, 4, 4)


def fma_tiles(spec: Matmul, target: Target) -> Iterator[Iterator[SplitFmaMatmul]]:
    """The schedules of each tile: it, and the ways to cut its k in parts."""
    thin = [ROW_TILE] if spec.m <= 16 else [COLUMN_TILE] if spec.n <= 16 else []
    for m, n, least, thread_m, thread_n in (*FMA_TILES, *thin):
        threads = m * n // (thread_m * thread_n)
        for depth in _depths(spec, least, threads, thread_m * thread_n):
            tile = SplitFmaMatmul(
                block_m=m,
                block_n=n,
                block_k=depth,
                thread_m=thread_m,
                thread_n=thread_n,
                num_stages=2,
            )
            yield _in_parts(spec, target, tile)


def _in_parts(spec: Matmul, target: Target, tile: SplitFmaMatmul) -> Iterator[SplitFmaMatmul]:
    m, n, warps = tile.block_m, tile.block_n, tile.num_threads // WARP_SIZE
    for split, one_kernel in ways_to_add(splits(spec, target, m, n, tile.block_k, warps)):
        yield replace(tile, split_k=split, one_kernel=one_kernel)


def _depths(spec: Matmul, least: int, threads: int, outputs: int) -> list[int]:
    """Of k in a tile. One tile is on its way through registers while another is multiplied: deeper
    ones have more bytes under way, as more stages would, and fewer barriers. A pass of the threads
    must have rows enough for stores without bank conflicts (FmaOperand.crossing); odd rows, which
    are copied in single elements, have a few."""
    most = min(FMA_DEPTH, FMA_LOOP // outputs, threads // 4, power_of_two(spec.k))
    return [least, *(depth for depth in (2 * least, 4 * least) if depth <= most)]
