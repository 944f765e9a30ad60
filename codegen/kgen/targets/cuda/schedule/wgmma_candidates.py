"""Schedules of wgmma that are worth ranking."""

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

#: block_m, block_n, how many warpgroups multiply, and whether each has a tile of its own; no sums
#: but fit their registers, unless they are promoted.
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
#: Of equals the deepest ring is first: what it holds is there if memory is late.
WGMMA_STAGES = (7, 6, 5, 4, 3)
#: CTAs that read tiles of B together.
CLUSTERS = (1, 2)


def wgmma_tiles(spec: Matmul, target: Target) -> Iterator[Iterator[WgmmaMatmul]]:
    """The schedules of each tile; none for a product that is not wgmma's."""
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
    """CTAs are persistent where there are more tiles than SMs; then TMA stores behind the next
    tile's products."""
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
    """Stream-k, where block tiles are a wave and a part of one."""
    blocks = block_tiles(spec, tile.block_m, tile.block_n)
    if not sms < blocks.total < 2 * sms:
        return
    group = group_of(blocks.rows, tile.block_m, tile.block_n, sms)
    for stages in WGMMA_STAGES:
        yield replace(tile, num_stages=stages, num_workgroups=sms, group_m=group, stream_k=True)
