"""Candidate schedules of wgmma."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from kgen.schedule import PromotedWgmmaMatmul, WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.cuda.devices import device_of
from kgen.targets.cuda.plan.epilogue import tma_store
from kgen.targets.cuda.plan.mma.instruction import warpgroup_instruction_of
from kgen.targets.cuda.plan.staging.tma import ROW_BYTES
from kgen.targets.cuda.plan.wgmma.fragments import wants_swap
from kgen.targets.cuda.plan.wgmma.launch import cluster_tile
from kgen.targets.cuda.plan.wgmma.limits import obstacle
from kgen.targets.cuda.schedule.split_k import group_of, part_counts

#: Values of block_m and block_n, the number of consumer warpgroups, and whether each has a block
#: tile of its own (ping-pong). Accumulators fit in registers unless they are promoted.
WGMMA_TILES = (
    (128, 256, 2, False),
    (256, 128, 2, False),
    (128, 192, 2, False),
    (128, 128, 2, True),
    (64, 256, 2, True),
    (128, 128, 2, False),
    (64, 128, 2, True),
    (256, 64, 2, False),
    (128, 64, 2, False),
    (64, 256, 1, False),
    (64, 192, 1, False),
    (64, 128, 1, False),
    (64, 64, 1, False),
)
#: Numbers of stages. The deepest ring comes first, because it tolerates the longest latency.
WGMMA_STAGES = (7, 6, 5, 4, 3)
#: Numbers of CTAs that load a tile of B together.
CLUSTERS = (1, 2)


def wgmma_tiles(spec: Matmul, target: Target) -> Iterator[Iterator[WgmmaMatmul]]:
    """Yield the schedules of each tile; none for a product that wgmma cannot compute."""
    if obstacle(spec, target) is not None:
        return
    depth = ROW_BYTES // spec.dtype.itemsize
    instruction = warpgroup_instruction_of(spec)
    short = instruction is not None and instruction.short_sums
    kind = PromotedWgmmaMatmul if short else WgmmaMatmul
    sms = device_of(target).sms
    swap = wants_swap(spec)
    for (high, wide, consumers, pingpong), cluster in itertools.product(WGMMA_TILES, CLUSTERS):
        m, n = (wide, high) if swap else (high, wide)
        tile = kind(
            block_m=m,
            block_n=n,
            block_k=depth,
            consumers=consumers,
            swap=swap,
            pingpong=pingpong,
            cluster_m=1 if swap else cluster,
            cluster_n=cluster if swap else 1,
            tma_store=tma_store.obstacle(spec, block_m=m, block_n=n, swap=swap) is None,
        )
        if not pingpong and cluster == 1:
            yield _stream_schedules(spec, tile, sms)
        if cluster == 1 or (spec.n if swap else spec.m) > high:
            yield _wgmma_schedules(spec, tile, sms)


def _wgmma_schedules(spec: Matmul, tile: WgmmaMatmul, sms: int) -> Iterator[WgmmaMatmul]:
    """Yield the schedules of a tile. CTAs are persistent if there are more block tiles than SMs;
    TMA then stores a block tile during the products of the next one."""
    cluster = tile.cluster
    clusters = block_tiles(spec, *cluster_tile(tile))
    blocks = cluster * clusters.total
    if blocks > sms:
        ctas = sms // cluster * cluster
        group = group_of(clusters.rows, *cluster_tile(tile), ctas // cluster)
        tile, splits = replace(tile, num_workgroups=ctas, group_m=group), [1]
    elif tile.pingpong:
        return
    else:
        splits = part_counts(blocks, -(-spec.k // tile.block_k), 2 * sms)
    for stages, split in itertools.product(WGMMA_STAGES, splits):
        stores = tile.tma_store and split == 1
        yield replace(tile, num_stages=stages, split_k=split, tma_store=stores)


def _stream_schedules(spec: Matmul, tile: WgmmaMatmul, sms: int) -> Iterator[WgmmaMatmul]:
    """Yield schedules with stream-k, if block tiles fill some waves and a part of one."""
    blocks = block_tiles(spec, tile.block_m, tile.block_n)
    if not sms < blocks.total < 2 * sms:
        return
    group = group_of(blocks.rows, tile.block_m, tile.block_n, sms)
    for stages in WGMMA_STAGES:
        yield replace(tile, num_stages=stages, num_workgroups=sms, group_m=group, stream_k=True)
