"""Which schedules of a matmul are worth ranking, and their order by the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from kgen.errors import ScheduleError
from kgen.schedule import (
    GemvMatmul,
    GpuMatmul,
    PromotedMatmul,
    PromotedWgmmaMatmul,
    SplitMatmul,
    WgmmaMatmul,
)
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.cuda.devices import device_of
from kgen.targets.cuda.fma_candidates import fma_schedules
from kgen.targets.cuda.model import predict
from kgen.targets.cuda.parts import part_counts, shared_by, splits, ways_to_add, worthwhile
from kgen.targets.cuda.plan import base, plan, tma_store
from kgen.targets.cuda.plan.gemv_limits import columns_of, gemv_depth, gemv_obstacle
from kgen.targets.cuda.plan.instruction import instruction_of, warpgroup_instruction_of
from kgen.targets.cuda.plan.matmul import matrices
from kgen.targets.cuda.plan.tma import ROW_BYTES
from kgen.targets.cuda.plan.wgmma_fragments import wants_swap
from kgen.targets.cuda.plan.wgmma_limits import obstacle
from kgen.targets.cuda.shared_work import num_ctas_of

#: block_m, block_n, warp_m, warp_n. No warp tile is so large that its sums and two sets of
#: fragments would not fit 255 registers.
MMA_TILES = (
    (128, 256, 64, 64),
    (256, 128, 64, 64),
    (128, 128, 64, 64),
    (128, 128, 64, 32),
    (64, 256, 64, 64),
    (128, 64, 64, 32),
    (64, 128, 32, 64),
    (64, 64, 32, 32),
    (128, 32, 32, 32),
    (32, 128, 32, 32),
    (64, 32, 32, 16),
    (32, 64, 16, 32),
    (32, 32, 16, 16),
    (16, 128, 16, 32),
    (128, 16, 32, 16),
    (16, 64, 16, 16),
    (64, 16, 16, 16),
    (16, 32, 16, 16),
    (32, 16, 16, 16),
    (16, 16, 16, 16),
)
#: Of k, in each row of a tile.
MMA_ROW_BYTES = (64, 128)
#: With cp.async: a tile in use, one that must be there next, and some under way. Through registers
#: there are always two.
ASYNC_STAGES = (3, 4, 5, 6)
STAGED_STAGES = (2,)

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

GEMV_THREADS = (256, 128)


def choose(spec: Matmul, target: Target) -> GpuMatmul:
    """The fastest schedule, by the model, that the target's limits allow."""
    ranked = _ranked(spec, target)
    found = next(_fitting(spec, target, ranked), None)
    if found is None:  # what the best one meets is what the user must hear
        plan(spec, target, ranked[0].schedule)
    assert found is not None
    return found.schedule


def candidates(spec: Matmul, target: Target) -> tuple[Candidate[GpuMatmul], ...]:
    """All that fit, the fastest first."""
    return tuple(_fitting(spec, target, _ranked(spec, target)))


def _ranked(spec: Matmul, target: Target) -> list[Candidate[GpuMatmul]]:
    """Schedules that registers hold, with their predictions. Of equals the first stays first:
    larger tiles, fewer stages."""
    found = []
    sms = device_of(target).sms
    for schedule in _schedules(spec, target):
        prediction = predict(spec, target, schedule)
        if prediction.registers > target.limits["registers_per_thread"]:
            continue  # the loop would spill
        if num_ctas_of(schedule) > prediction.ctas_per_sm * sms:
            continue  # some would wait for others to end
        found.append(
            Candidate(
                schedule=schedule,
                seconds=prediction.seconds,
                terms=prediction.terms,
                notes={
                    "bound": prediction.bound,
                    "waves": prediction.waves,
                    "CTAs/SM": prediction.ctas_per_sm,
                    "registers": prediction.registers,
                },
            )
        )
    return sorted(worthwhile(found), key=lambda candidate: candidate.seconds)


def _fitting(
    spec: Matmul, target: Target, ranked: list[Candidate[GpuMatmul]]
) -> Iterator[Candidate[GpuMatmul]]:
    for candidate in ranked:
        try:
            plan(spec, target, candidate.schedule)
        except ScheduleError:
            continue
        yield candidate


def _schedules(spec: Matmul, target: Target) -> Iterator[GpuMatmul]:
    if gemv_obstacle(spec) is None:
        yield from _gemv_schedules(spec)
    instruction = instruction_of(spec, target)
    if instruction is None:
        yield from fma_schedules(spec, target)
        return
    if obstacle(spec, target) is None:
        yield from _wgmma_schedules(spec, target)
    runs_ahead = any(matrix.is_asynchronous(target) for matrix in matrices(spec))
    limit = target.limits["dynamic_shared_memory"]
    deepest = max(instruction.step, base.power_of_two(spec.k))
    for m, n, warp_m, warp_n in MMA_TILES:
        for depth in sorted({min(b // instruction.itemsize, deepest) for b in MMA_ROW_BYTES}):
            for stages in ASYNC_STAGES if runs_ahead else STAGED_STAGES:
                if stages * (m + n) * depth * spec.dtype.itemsize > limit:
                    break
                kind = PromotedMatmul if instruction.short_sums else SplitMatmul
                tile = kind(
                    block_m=m,
                    block_n=n,
                    block_k=depth,
                    warp_m=warp_m,
                    warp_n=warp_n,
                    num_stages=stages,
                )
                for split, one in ways_to_add(splits(spec, target, m, n, depth, tile.num_warps)):
                    yield replace(tile, split_k=split, one_kernel=one)
                for ctas in shared_by(spec, tile, device_of(target).sms):
                    group = _group(-(-spec.m // m), m, n, ctas)
                    yield replace(tile, num_ctas=ctas, group_m=group, stream_k=True)


def _wgmma_schedules(spec: Matmul, target: Target) -> Iterator[GpuMatmul]:
    """CTAs are persistent where there are more tiles than SMs; then TMA stores behind the next
    tile's products."""
    depth = ROW_BYTES // spec.dtype.itemsize
    instruction = warpgroup_instruction_of(spec)
    short = instruction is not None and instruction.short_sums
    kind = PromotedWgmmaMatmul if short else WgmmaMatmul
    sms = device_of(target).sms
    swap = wants_swap(spec)
    for (high, wide, consumers, pingpong), cluster in itertools.product(WGMMA_TILES, CLUSTERS):
        m, n = (wide, high) if swap else (high, wide)
        cluster_m, cluster_n = (1, cluster) if swap else (cluster, 1)
        if not pingpong and cluster == 1:
            yield from _stream_schedules(spec, sms, kind, m, n, consumers, swap)
        rows, cols = -(-spec.m // (m * cluster_m)), -(-spec.n // (n * cluster_n))
        persistent = rows * cluster * cols * spec.batch > sms
        if (pingpong and not persistent) or (cluster > 1 and (spec.n if swap else spec.m) <= high):
            continue
        ctas = sms // cluster * cluster if persistent else 0
        stores = tma_store.obstacle(spec, block_m=m, block_n=n, swap=swap) is None
        tiles = -(-spec.k // depth)
        splits = (
            [1] if persistent else part_counts(rows * cluster * cols * spec.batch, tiles, 2 * sms)
        )
        for stages, split in itertools.product(WGMMA_STAGES, splits):
            yield kind(
                block_m=m,
                block_n=n,
                block_k=depth,
                num_stages=stages,
                consumers=consumers,
                swap=swap,
                pingpong=pingpong,
                cluster_m=cluster_m,
                cluster_n=cluster_n,
                num_ctas=ctas,
                group_m=_group(rows, m * cluster_m, n * cluster_n, ctas // cluster)
                if persistent
                else 1,
                tma_store=stores and split == 1,
                split_k=split,
            )


def _stream_schedules(
    spec: Matmul,
    sms: int,
    kind: type[WgmmaMatmul],
    block_m: int,
    block_n: int,
    consumers: int,
    swap: bool,
) -> Iterator[GpuMatmul]:
    """Stream-k, where block tiles are a wave and a part of one."""
    rows, cols = -(-spec.m // block_m), -(-spec.n // block_n)
    if not sms < rows * cols * spec.batch < 2 * sms:
        return
    for stages in WGMMA_STAGES:
        yield kind(
            block_m=block_m,
            block_n=block_n,
            block_k=ROW_BYTES // spec.dtype.itemsize,
            num_stages=stages,
            consumers=consumers,
            swap=swap,
            num_ctas=sms,
            group_m=_group(rows, block_m, block_n, sms),
            tma_store=tma_store.obstacle(spec, block_m=block_m, block_n=block_n, swap=swap) is None,
            stream_k=True,
        )


def _group(rows: int, height: int, width: int, clusters: int) -> int:
    """Rows of tiles to walk together so that those of all clusters at once are about a square."""
    return max(1, min(rows, round(math.sqrt(clusters * width / height))))


def _gemv_schedules(spec: Matmul) -> Iterator[GpuMatmul]:
    for threads in GEMV_THREADS:
        for columns in columns_of(spec, threads):
            yield GemvMatmul(
                block_m=spec.m,
                block_n=columns,
                block_k=gemv_depth(spec, threads, columns),
                num_threads=threads,
            )
