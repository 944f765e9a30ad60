"""Candidate schedules of a matmul, and their order by the cost model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kgen.schedule import GemvMatmul, GpuMatmul, PromotedMatmul, SplitFmaMatmul, SplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target, fits
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.cuda.devices import device_of
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import plan
from kgen.targets.cuda.plan.gemv_limits import columns_of, gemv_depth, gemv_obstacle
from kgen.targets.cuda.plan.matrix import matrices
from kgen.targets.cuda.plan.mma.instruction import instruction_of
from kgen.targets.cuda.schedule.cost_model import least_seconds, predict, tile_clocks
from kgen.targets.cuda.schedule.split_k import (
    GAINS,
    SPLIT_GAIN,
    group_of,
    in_one_part,
    shared_by,
    splits,
    ways_to_add,
    worthwhile,
)
from kgen.targets.cuda.schedule.work import num_workgroups_of
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.values import frozen

#: Values of block_m, block_n, warp_m and warp_n. The accumulators and two sets of fragments of
#: every warp tile fit in 255 registers.
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
#: Bytes of k in each row of a tile.
MMA_ROW_BYTES = (64, 128)
#: Stages with cp.async: a K-tile in use, the next one, and some in flight. Copies through registers
#: have two stages.
ASYNC_STAGES = (3, 4, 5, 6)
STAGED_STAGES = (2,)

GEMV_THREADS = (256, 128)

#: Number of a schedule among all: the number of its tile, and its own among those of the tile.
Place = tuple[int, int]


@frozen
class ScheduleChoice:
    """Chosen schedule, the number of schedules that the model predicted, and the number that were
    planned."""

    schedule: GpuMatmul
    predicted: int
    planned: int


def choose(spec: Matmul, target: Target) -> GpuMatmul:
    """Return the schedule with the least predicted time that the target's limits allow."""
    return choice(spec, target).schedule


def choice(spec: Matmul, target: Target) -> ScheduleChoice:
    """Return the first of `candidates`, but predict few of them and plan fewer.

    Schedules are predicted in the order of a lower bound of their time. The search ends at the time
    of a schedule that fits and has no split-k slices: slower ones change neither the ranking up to
    there, nor which split-k slices are worthwhile. If slices are much faster, it ends sooner: at
    the time of the fastest schedule that fits, times the gain that slices must have, squared.
    """
    schedules = _by_least_seconds(spec, target)
    found: dict[Place, Candidate[GpuMatmul]] = {}
    predicted = planned = 0
    whole = fastest = math.inf
    for least, place, schedule in schedules:
        if least > min(whole, fastest * GAINS * SPLIT_GAIN):
            break
        predicted += 1
        if (candidate := _predicted(spec, target, schedule)) is None:
            continue
        found[place] = candidate
        if candidate.seconds < (whole if in_one_part(schedule) else fastest):
            planned += 1
            if fits(plan, spec, target, schedule):
                whole = candidate.seconds if in_one_part(schedule) else whole
                fastest = min(fastest, candidate.seconds)
    certain = whole if whole <= fastest * GAINS * SPLIT_GAIN else fastest * GAINS
    for candidate in _ranked(found[place] for place in sorted(found)):
        if candidate.seconds > certain:
            break
        planned += 1
        if fits(plan, spec, target, candidate.schedule):
            return ScheduleChoice(schedule=candidate.schedule, predicted=predicted, planned=planned)
    # None of the fastest schedules fits.
    ranked = _all_ranked(spec, target)
    fitting = next((c for c in ranked if fits(plan, spec, target, c.schedule)), None)
    if fitting is None:  # report the limit that the best schedule exceeds
        plan(spec, target, ranked[0].schedule)
    assert fitting is not None
    return ScheduleChoice(schedule=fitting.schedule, predicted=len(schedules), planned=len(ranked))


def candidates(spec: Matmul, target: Target) -> tuple[Candidate[GpuMatmul], ...]:
    """Return all schedules that fit, the fastest first."""
    return tuple(c for c in _all_ranked(spec, target) if fits(plan, spec, target, c.schedule))


def _all_ranked(spec: Matmul, target: Target) -> list[Candidate[GpuMatmul]]:
    schedules = itertools.chain.from_iterable(_tiles(spec, target))
    found = (_predicted(spec, target, schedule) for schedule in schedules)
    return _ranked(candidate for candidate in found if candidate is not None)


def _by_least_seconds(spec: Matmul, target: Target) -> list[tuple[float, Place, GpuMatmul]]:
    """Return all schedules with a lower bound of their time and their number, ordered by the
    bound."""
    found = []
    for i, schedules in enumerate(_tiles(spec, target)):
        clocks = None
        for j, schedule in enumerate(schedules):
            clocks = clocks or tile_clocks(spec, target, schedule)
            found.append((least_seconds(spec, target, schedule, clocks), (i, j), schedule))
    return sorted(found, key=lambda item: item[:2])


def _predicted(spec: Matmul, target: Target, schedule: GpuMatmul) -> Candidate[GpuMatmul] | None:
    """Return the schedule with its prediction; None if it needs too many registers or CTAs."""
    prediction = predict(spec, target, schedule)
    if prediction.registers > target.limits["registers_per_thread"]:
        return None  # the loop would spill
    if num_workgroups_of(schedule) > prediction.ctas_per_sm * device_of(target).sms:
        return None  # some CTAs would start only after others end
    return Candidate(
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


def _ranked(found: Iterable[Candidate[GpuMatmul]]) -> list[Candidate[GpuMatmul]]:
    """Return the worthwhile candidates, the fastest first. Candidates with equal times stay in
    order: larger tiles and fewer stages first."""
    return sorted(worthwhile([*found]), key=lambda candidate: candidate.seconds)


def _tiles(spec: Matmul, target: Target) -> Iterator[Iterator[GpuMatmul]]:
    """Yield the schedules of each tile. They differ in stages, split-k slices and persistent CTAs,
    which do not change the amount of work."""
    if gemv_obstacle(spec) is None:
        yield from _gemv_tiles(spec)
    instruction = instruction_of(spec, target)
    if instruction is None:
        yield from fma_tiles(spec, target)
        return
    if target.has("wgmma"):
        from kgen.targets.cuda.schedule.wgmma_candidates import wgmma_tiles

        yield from wgmma_tiles(spec, target)
    deepest = max(instruction.step, power_of_two(spec.k))
    kind = PromotedMatmul if instruction.short_sums else SplitMatmul
    for m, n, warp_m, warp_n in MMA_TILES:
        for depth in sorted({min(b // instruction.itemsize, deepest) for b in MMA_ROW_BYTES}):
            tile = kind(block_m=m, block_n=n, block_k=depth, warp_m=warp_m, warp_n=warp_n)
            yield _mma_schedules(spec, target, tile)


def _mma_schedules(spec: Matmul, target: Target, tile: SplitMatmul) -> Iterator[GpuMatmul]:
    runs_ahead = any(matrix.is_asynchronous(target) for matrix in matrices(spec))
    limit = target.limits["dynamic_shared_memory"]
    m, n, depth = tile.block_m, tile.block_n, tile.block_k
    for stages in ASYNC_STAGES if runs_ahead else STAGED_STAGES:
        if stages * (m + n) * depth * spec.dtype.itemsize > limit:
            break
        tile = replace(tile, num_stages=stages)
        for split, one in ways_to_add(splits(spec, target, m, n, depth, tile.num_warps)):
            yield replace(tile, split_k=split, one_kernel=one)
        for ctas in shared_by(spec, tile, device_of(target).sms):
            group = group_of(block_tiles(spec, m, n).rows, m, n, ctas)
            yield replace(tile, num_workgroups=ctas, group_m=group, stream_k=True)


def _gemv_tiles(spec: Matmul) -> Iterator[Iterator[GpuMatmul]]:
    for threads in GEMV_THREADS:
        for columns in columns_of(spec, threads):
            depth = gemv_depth(spec, threads, columns)
            tile = GemvMatmul(block_m=spec.m, block_n=columns, block_k=depth, num_threads=threads)
            yield iter((tile,))


#: Values of block_m, block_n, the least block_k, thread_m and thread_n.
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
#: Largest block_k, and most multiply-adds of a loop that still fits in instruction caches.
FMA_DEPTH, FMA_LOOP = 64, 1024
#: Block and thread tiles for small M, and for small N.
ROW_TILE, COLUMN_TILE = (16, 64, 16, 4, 4), (64, 16, 16, 4, 4)


def fma_tiles(spec: Matmul, target: Target) -> Iterator[Iterator[SplitFmaMatmul]]:
    """Yield the schedules of each tile: without split-k, and with each number of slices."""
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
    """Return the depths of a K-tile to try.

    One K-tile is loaded to registers while another is multiplied. Deeper tiles keep more bytes in
    flight, as more stages would, and need fewer barriers. A pass of the threads needs enough rows
    for stores without bank conflicts (FmaOperand.crossing). Odd rows are copied in single elements
    and have a few conflicts.
    """
    most = min(FMA_DEPTH, FMA_LOOP // outputs, threads // 4, power_of_two(spec.k))
    return [least, *(depth for depth in (2 * least, 4 * least) if depth <= most)]
