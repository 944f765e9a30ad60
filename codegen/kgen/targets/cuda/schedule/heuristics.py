"""Schedules of element-wise and row-wise kernels. The cost model chooses those of a matmul."""

from __future__ import annotations

from kgen.schedule import ClusterRows, GpuRows, GpuStream
from kgen.spec import Elementwise, Rowwise
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.rowwise import MAX_CLUSTER, vector_of
from kgen.targets.powers_of_two import power_of_two
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import interleaved_block, is_interleaved
from kgen.targets.stream import widest_vector

#: CTAs that run at once on a GPU of ordinary size. Only speed depends on it.
NOMINAL_CTAS = 128

STREAM_THREADS = 256

ROW_THREADS = 128
MAX_ROW_THREADS = 1024
#: Most columns of a row that a warp, or a part of one, computes: 32 elements per lane.
WARP_ROW_COLS = 1024
#: Longer rows get a CTA with about COLUMNS_PER_THREAD elements per thread. They stay in registers
#: up to RESIDENT_COLUMNS elements per thread, because each of 1024 threads has 64 registers.
COLUMNS_PER_THREAD = 16
RESIDENT_COLUMNS = 32


def elementwise(spec: Elementwise, target: Target) -> GpuStream:
    """Return the schedule of an element-wise kernel.

    Accesses to the widest tensor have 16 bytes, or fewer if rows are odd. A thread has four vectors
    if enough CTAs remain, and more if the grid would be too long.
    """
    vector = widest_vector(spec, MAX_ACCESS_BYTES // spec.widest_itemsize)
    unroll = 4 if spec.elements >= NOMINAL_CTAS * STREAM_THREADS * vector * 4 else 1
    while spec.elements > target.limits["grid_x"] * STREAM_THREADS * vector * unroll:
        unroll *= 2
    return GpuStream(num_threads=STREAM_THREADS, vector=vector, unroll=unroll)


def rowwise(spec: Rowwise, target: Target) -> GpuRows:
    """Return the schedule of a row-wise kernel.

    A short row has a warp or a part of one; a long row has a CTA or a cluster. A long row stays in
    registers if later phases need more of it than the results of its folds.
    """
    vector = vector_of(spec)
    kept = RowPlan(spec=spec, vector=vector, lanes=1).values_kept
    limit = RESIDENT_COLUMNS // max(1, kept)
    if is_interleaved(spec):
        rows, lanes = interleaved_block(spec, ROW_THREADS)
        lanes = max(lanes, WARP_SIZE // rows)
        return GpuRows(
            num_threads=rows * lanes,
            rows_per_block=rows,
            resident=int(-(-spec.cols // lanes) <= limit),
        )
    if spec.cols <= min(WARP_ROW_COLS, WARP_SIZE * limit):
        per_row = min(WARP_SIZE, power_of_two(spec.cols // vector))
        rows = ROW_THREADS // per_row
        return GpuRows(num_threads=ROW_THREADS, rows_per_block=rows, vector=vector)
    wanted = power_of_two(-(-spec.cols // min(COLUMNS_PER_THREAD, limit)))
    threads = max(ROW_THREADS, min(MAX_ROW_THREADS, wanted))
    if spec.rows >= NOMINAL_CTAS:
        # Fewer threads need fewer instructions in all, because each one takes part in the exchange.
        while threads > STREAM_THREADS and spec.cols <= threads // 2 * limit:
            threads //= 2
    if target.has("clusters") and spec.rows <= target.limits["grid_y"]:
        cluster = _row_cluster(spec, threads)
        if -(-spec.cols // (threads * cluster * vector)) * vector <= limit:
            return ClusterRows(num_threads=threads, vector=vector, cluster=cluster)
    held = -(-spec.cols // (threads * vector)) * vector
    return GpuRows(num_threads=threads, vector=vector, resident=int(held <= limit))


def _row_cluster(spec: Rowwise, threads: int) -> int:
    """Return the CTAs of a row: enough to keep it in registers, at most eight.

    A row gets more CTAs while SMs would be idle and every thread has a few elements.
    """
    cluster = 1
    while cluster < MAX_CLUSTER:
        each = spec.cols / (threads * cluster)
        idle = 2 * cluster * spec.rows <= NOMINAL_CTAS
        if each <= RESIDENT_COLUMNS and not (idle and each >= COLUMNS_PER_THREAD):
            break
        cluster *= 2
    return cluster
