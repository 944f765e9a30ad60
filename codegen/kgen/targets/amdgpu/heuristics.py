"""Default schedules. For a matmul, the cost model ranks the tiles listed here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kgen.schedule import (
    DirectMatmul,
    FmaMatmul,
    GpuMatmul,
    GpuRows,
    GpuStream,
    PingPongMatmul,
    Schedule,
    SharedMatmul,
)
from kgen.spec import Elementwise, Matmul, Rowwise
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.matmul import direct
from kgen.targets.amdgpu.plan.rows.rowwise import vector_of
from kgen.targets.amdgpu.schedule.cost_model import per_unit, predict
from kgen.targets.amdgpu.schedule.filling import filled
from kgen.targets.base import Candidate, Target, fits
from kgen.targets.contraction.access import access_maps
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import interleaved_block, is_interleaved
from kgen.targets.stream import widest_vector

P = TypeVar("P", bound=PingPongMatmul)

#: Values of block_m, block_n, warp_m and warp_n, the largest blocks first.
MMA_TILES = (
    (128, 128, 64, 64),
    (128, 64, 64, 32),
    (64, 128, 32, 64),
    (64, 64, 32, 32),
    (128, 32, 32, 32),
    (32, 128, 32, 32),
    (64, 32, 16, 32),
    (32, 64, 16, 32),
    (32, 32, 16, 32),
    (16, 64, 16, 32),
    (64, 16, 16, 16),
    (16, 32, 16, 32),
    (32, 16, 16, 16),
    (16, 16, 16, 16),
)
#: Ping-pong schedule of 16-bit types, with two waves per SIMD.
PING_PONG = PingPongMatmul(block_m=256, block_n=256, block_k=64, warp_m=128, warp_n=64)
DIRECT = DirectMatmul(block_m=256, block_n=256, block_k=64, warp_m=128, warp_n=64)
#: Largest tile of 8-bit types in waves of 32, whose lanes hold twice as many accumulators and twice
#: the depth.
LARGEST_OF_BYTES_IN_WAVES_OF_32 = (128, 128, 64, 32)
#: Largest tile of dot products: 8 x 8 accumulators per lane, and as many elements of A and of B.
LARGEST_OF_DOTS = (128, 128, 32, 64)
#: Bytes of block_k by the number of LDS banks, so that the lines of a tile reach all banks.
MMA_BLOCK_BYTES = {32: 64, 64: 128}

#: Shortest side of a tile.
SHORTEST = 16
#: Bytes of a memory request to L2.
SECTOR = 64

#: Values of block_m, block_n, thread_m and thread_n.
FMA_TILES = (
    (128, 128, 8, 8),
    (128, 64, 8, 4),
    (64, 128, 4, 8),
    (64, 64, 4, 4),
    (32, 64, 4, 4),
    (64, 32, 4, 4),
    (32, 32, 4, 4),
    (16, 64, 4, 4),
    (64, 16, 4, 4),
    (16, 16, 4, 1),
)

#: Threads of an element-wise workgroup, and of a row-wise workgroup whose rows need fewer.
THREADS = 256
#: Columns per thread of a row, up to the limit of threads: one access of 16 bytes in f16, two in
#: f32.
COLUMNS_PER_THREAD = 8
#: Most elements of a row that a thread keeps in registers; longer rows are streamed.
RESIDENT_COLUMNS = 32
#: Workgroups that keep a compute unit busy; with fewer rows than that, a row gets more threads.
WORKGROUPS_PER_UNIT = 4


def matmul(spec: Matmul, target: Target) -> GpuMatmul:
    """Return the schedule with the least predicted time."""
    return candidates(spec, target)[0].schedule


def candidates(spec: Matmul, target: Target) -> tuple[Candidate[GpuMatmul], ...]:
    """Return the schedules that the cost model ranks, the fastest first. Schedules with equal times
    stay in order."""
    with_matrices = matrix.instructions_of(spec, target)
    schedules = _with_matrices(spec, target) if with_matrices else _fma(spec)
    return tuple(sorted(map(partial(_predicted, spec, target), schedules), key=_seconds))


def main_loops(spec: Matmul, target: Target) -> tuple[Schedule, ...]:
    """Return the fastest schedule of each main loop that the target supports for a product."""
    found = [each.schedule for each in candidates(spec, target)]
    if matrix.available(target, spec.dtype):
        narrow = spec.dtype.itemsize <= 2 and are_matrices(spec)
        if narrow and target.has("mfma"):
            found.append(as_deep(PING_PONG, spec))
        if narrow and target.has("global-load-lds-16"):
            found.append(as_deep(DIRECT, spec))
        if spec.dtype.itemsize > 1:
            found.append(
                min(map(partial(_predicted, spec, target), _fma(spec)), key=_seconds).schedule
            )
    fastest: dict[str, Schedule] = {}
    for schedule in found:
        fastest.setdefault(schedule.mainloop, schedule)
    return tuple(fastest.values())


def _halves(spec: Matmul, target: Target) -> PingPongMatmul:
    """Return the ping-pong schedule, with copies directly to LDS if they are possible."""
    copying = as_deep(DIRECT, spec)
    return copying if fits(direct.plan, spec, target, copying) else as_deep(PING_PONG, spec)


def as_deep(schedule: P, spec: Matmul) -> P:
    """Return a schedule of 16-bit types changed to another type, with K-tiles of as many bytes."""
    return replace(schedule, block_k=schedule.block_k * 2 // spec.dtype.itemsize)


def _predicted(spec: Matmul, target: Target, schedule: GpuMatmul) -> Candidate[GpuMatmul]:
    found = predict(spec, target, schedule)
    return Candidate(
        schedule=schedule,
        seconds=found.seconds,
        terms=found.terms,
        notes={
            "bound": found.bound,
            "rounds": found.rounds,
            "workgroups/CU": found.per_unit,
            "busy CUs": found.busy,
        },
    )


def _seconds(candidate: Candidate[GpuMatmul]) -> float:
    return candidate.seconds


def _with_matrices(spec: Matmul, target: Target) -> Iterator[GpuMatmul]:
    for tiling in _tilings(spec, target):
        for schedule in filled(spec, target, tiling, per_unit(spec, target, tiling)):
            if has_registers(spec, schedule):
                yield schedule


def _tilings(spec: Matmul, target: Target) -> Iterator[SharedMatmul]:
    if suits_ping_pong(spec, target):
        yield _halves(spec, target)
    for m, n, warp_m, warp_n in _with_whole_sectors(spec, _tiles(spec, target)):
        yield SharedMatmul(
            block_m=m,
            block_n=n,
            block_k=MMA_BLOCK_BYTES[target.limits["lds_banks"]] // spec.dtype.itemsize,
            num_stages=2,
            warp_m=warp_m,
            warp_n=warp_n,
        )


def _tiles(spec: Matmul, target: Target) -> tuple[tuple[int, int, int, int], ...]:
    if matrix.instructions_of(spec, target)[0].by_lane:
        return (LARGEST_OF_DOTS, *MMA_TILES[1:])
    if target.subgroup == 32 and spec.dtype.itemsize == 1:
        return (LARGEST_OF_BYTES_IN_WAVES_OF_32, *MMA_TILES[1:])
    return MMA_TILES


def _fma(spec: Matmul) -> Iterator[GpuMatmul]:
    for m, n, thread_m, thread_n in _with_whole_sectors(spec, FMA_TILES):
        yield FmaMatmul(
            block_m=m,
            block_n=n,
            block_k=SECTOR // spec.dtype.itemsize,
            num_stages=2,
            thread_m=thread_m,
            thread_n=thread_n,
        )


def suits_ping_pong(spec: Matmul, target: Target) -> bool:
    """Return whether the ping-pong loop suits a product.

    It requires MFMA on 8 or 16 bits, K-tiles for some iterations, and matrices whose stored rows
    are whole vectors: narrower loads would need more registers than the tile leaves.
    """
    vector = WIDEST // spec.dtype.itemsize
    whole = all(access.run % vector == 0 for access in access_maps(spec))
    return (
        target.has("mfma")
        and spec.dtype.itemsize <= 2
        and whole
        and are_matrices(spec)
        and spec.k >= 4 * as_deep(PING_PONG, spec).block_k
    )


def are_matrices(spec: Matmul) -> bool:
    """Return whether both operands are matrices; A of an implicit GEMM may not be one."""
    return all(access.is_affine for access in access_maps(spec))


def has_registers(spec: Matmul, schedule: SharedMatmul) -> bool:
    """Return whether registers suffice. A ping-pong loop that transposes bytes in registers has
    none left for a partial K-tile or for partial sums."""
    in_registers = isinstance(schedule, PingPongMatmul) and not isinstance(schedule, DirectMatmul)
    transposes = any(access.inner == "row" for access in access_maps(spec))
    if not (in_registers and transposes and spec.dtype.itemsize == 1):
        return True
    shares = schedule.stream_k or schedule.split_k > 1
    return spec.k % schedule.block_k == 0 and not shares


def _with_whole_sectors(
    spec: Matmul, tiles: tuple[tuple[int, int, int, int], ...]
) -> list[tuple[int, int, int, int]]:
    """Return the tiles whose sides read whole sectors and fit the extents of the product.

    If an extent is less than a sector, it need not be a whole one. A side fits if it is less than
    twice the extent, or the shortest one.
    """
    whole = SECTOR // spec.dtype.itemsize

    def suits(side: int, extent: int) -> bool:
        return side >= min(whole, extent) and (side == SHORTEST or side < 2 * extent)

    return [t for t in tiles if suits(t[0], spec.m) and suits(t[1], spec.n)] or [tiles[-1]]


def elementwise(spec: Elementwise, target: Target) -> GpuStream:
    """Return the schedule of an element-wise kernel.

    Accesses to the widest tensor have 16 bytes, or fewer if rows are odd. A thread has more
    accesses if the grid would be too long otherwise.
    """
    vector = widest_vector(spec, WIDEST // spec.widest_itemsize)
    threads, unroll = THREADS, 1
    while spec.elements // (vector * unroll) + threads > target.limits["grid_threads"]:
        unroll *= 2
    return GpuStream(num_threads=threads, vector=vector, unroll=unroll)


def rowwise(spec: Rowwise, target: Target) -> GpuRows:
    """Return the schedule of a row-wise kernel: as few threads per row as keep it in registers, at
    most one workgroup."""
    vector = vector_of(spec)
    kept = max(1, RowPlan(spec=spec, vector=vector, lanes=1).values_kept)
    if is_interleaved(spec):
        rows, lanes = interleaved_block(spec, THREADS)
        held = -(-spec.cols // lanes) * kept
        return GpuRows(
            num_threads=rows * lanes, rows_per_block=rows, resident=int(held <= RESIDENT_COLUMNS)
        )
    threads = 1
    while threads < target.limits["threads"] and threads * COLUMNS_PER_THREAD < spec.cols:
        threads *= 2
    # If every compute unit has rows, fewer threads per row need fewer instructions in all, because
    # each thread takes part in the exchange.
    if spec.rows >= WORKGROUPS_PER_UNIT * target.limits["compute_units"]:
        while threads > THREADS and spec.cols * kept <= threads // 2 * RESIDENT_COLUMNS:
            threads //= 2
    # The number of rows is rounded up to whole workgroups of at most THREADS rows.
    while (spec.rows + THREADS) * threads > target.limits["grid_threads"]:
        threads //= 2
    rows_per_block = max(1, THREADS // threads)
    while rows_per_block > 1 and rows_per_block // 2 >= spec.rows:
        rows_per_block //= 2
    held = -(-spec.cols // (threads * vector)) * vector * kept
    return GpuRows(
        num_threads=threads * rows_per_block,
        rows_per_block=rows_per_block,
        vector=vector,
        resident=int(held <= RESIDENT_COLUMNS),
    )
