"""Which schedule a stream or a row-wise kernel takes; a matmul's is chosen by the model."""

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
#: Up to this many columns a row is a warp's (or a part of one), 32 elements for each lane.
WARP_ROW_COLS = 1024
#: Longer rows get a CTA with about this many elements per thread, and stay in registers up to the
#: second number: 1024 threads have 64 registers each.
COLUMNS_PER_THREAD = 16
RESIDENT_COLUMNS = 32


def elementwise(spec: Elementwise, target: Target) -> GpuStream:
    """16-byte accesses to the wider of inputs and output, narrower where rows are odd; four per
    thread where that leaves enough CTAs, and more where the grid would not fit otherwise."""
    vector = widest_vector(spec, MAX_ACCESS_BYTES // spec.widest_itemsize)
    unroll = 4 if spec.elements >= NOMINAL_CTAS * STREAM_THREADS * vector * 4 else 1
    while spec.elements > target.limits["grid_x"] * STREAM_THREADS * vector * unroll:
        unroll *= 2
    return GpuStream(num_threads=STREAM_THREADS, vector=vector, unroll=unroll)


def rowwise(spec: Rowwise, target: Target) -> GpuRows:
    """A warp or less for a short row, a CTA or a cluster for a long one, which then stays in
    registers if later phases need more of it than its folds."""
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
        # Fewer threads take fewer instructions: what they exchange is work of each.
        while threads > STREAM_THREADS and spec.cols <= threads // 2 * limit:
            threads //= 2
    if target.has("clusters") and spec.rows <= target.limits["grid_y"]:
        cluster = _row_cluster(spec, threads)
        if -(-spec.cols // (threads * cluster * vector)) * vector <= limit:
            return ClusterRows(num_threads=threads, vector=vector, cluster=cluster)
    held = -(-spec.cols // (threads * vector)) * vector
    return GpuRows(num_threads=threads, vector=vector, resident=int(held <= limit))


def _row_cluster(spec: Rowwise, threads: int) -> int:
    """CTAs for a row: as many as it takes to keep it in registers, which eight can for the longest,
    and more while that leaves SMs idle and every thread has a few elements."""
    cluster = 1
    while cluster < MAX_CLUSTER:
        each = spec.cols / (threads * cluster)
        idle = 2 * cluster * spec.rows <= NOMINAL_CTAS
        if each <= RESIDENT_COLUMNS and not (idle and each >= COLUMNS_PER_THREAD):
            break
        cluster *= 2
    return cluster
