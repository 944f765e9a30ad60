"""Which schedule to take when the user names none. All stay inside what every device guarantees,
but for rows of more than 8 million columns that are no whole number of vectors."""

from __future__ import annotations

from kgen.schedule import FmaMatmul, GpuRows, GpuStream
from kgen.spec import Elementwise, Matmul, Rowwise
from kgen.targets.base import Target
from kgen.targets.row import RowPlan, interleaved_block
from kgen.targets.vulkan.plan.base import VECTOR_WIDTHS
from kgen.targets.vulkan.plan.elementwise import vector_of
from kgen.targets.vulkan.plan.rowwise import fewest_lanes
from kgen.targets.vulkan.plan.rowwise import vector_of as vector_of_row

#: (block_m, block_n, thread_m, thread_n): 128 invocations each, 16 of them side by side along n
#: where the tile is wide enough.
FMA_TILES = (
    (64, 64, 8, 4),
    (32, 64, 4, 4),
    (64, 32, 8, 2),
    (32, 32, 4, 2),
    (16, 64, 2, 4),
    (64, 16, 8, 1),
    (16, 16, 2, 1),
    (8, 64, 1, 4),
    (4, 128, 4, 1),
    (1, 128, 1, 1),
    (128, 4, 1, 4),
    (128, 1, 1, 1),
)
MAX_BLOCK_K = 16
#: Workgroups that run at once on a middling GPU; only the balance of tiles depends on it.
TYPICAL_UNITS = 64
#: Copying one row or column of a K-tile counts as much as multiplying this many of its elements.
EDGE_WEIGHT = 16

THREADS = 128
#: Columns of a row that a lane holds before another lane joins, and at most.
COLUMNS_PER_THREAD = 16
RESIDENT_COLUMNS = 32
#: Turns of a loop, after which lavapipe 22.3 leaves it without a word (LP_MAX_TGSI_LOOP_ITERATIONS
#: of its gallivm); the longest rows take more lanes than every device guarantees instead.
MAX_TURNS = 65535


def matmul(spec: Matmul, target: Target) -> FmaMatmul:
    """The tile with the least work in the rounds that its workgroups take."""
    limit = target.limits["maxComputeWorkGroupCount"]

    def cost(tile: tuple[int, int, int, int]) -> tuple[bool, int]:
        block_m, block_n, *_ = tile
        rows, cols = -(-spec.m // block_m), -(-spec.n // block_n)
        rounds = -(-rows * cols * spec.batch // TYPICAL_UNITS)
        work = rounds * (block_m * block_n + EDGE_WEIGHT * (block_m + block_n))
        return (max(rows, cols) > limit, work)

    block_m, block_n, thread_m, thread_n = min(FMA_TILES, key=cost)
    return FmaMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=min(MAX_BLOCK_K, 1 << (spec.k - 1).bit_length()),
        thread_m=thread_m,
        thread_n=thread_n,
    )


def elementwise(spec: Elementwise, target: Target) -> GpuStream:
    return GpuStream(num_threads=THREADS, vector=vector_of(spec))


def rowwise(spec: Rowwise, target: Target) -> GpuRows:
    """As few lanes as hold a row; several rows in a workgroup where they are short."""
    vector, cols = vector_of_row(spec), spec.cols
    row = RowPlan(spec=spec, vector=vector, lanes=1)
    if row.interleaved:
        return _interleaved(spec, row)
    lanes = fewest_lanes(row)
    while lanes < THREADS and lanes * max(vector, COLUMNS_PER_THREAD) < cols:
        lanes *= 2
    while -(-cols // (lanes * vector)) > MAX_TURNS:
        lanes *= 2
    rows = max(1, THREADS // lanes)
    while rows > 1 and rows // 2 >= spec.rows:
        rows //= 2
    held = -(-cols // (lanes * vector)) * vector * max(1, row.values_kept)
    return GpuRows(
        num_threads=lanes * rows,
        rows_per_block=rows,
        vector=vector,
        resident=int(held <= RESIDENT_COLUMNS),
    )


def _interleaved(spec: Rowwise, row: RowPlan) -> GpuRows:
    """Rows next to one another in a workgroup, and lanes for each."""
    rows, lanes = interleaved_block(spec, THREADS)
    lanes = max(lanes, fewest_lanes(row))
    while -(-spec.cols // lanes) > MAX_TURNS:
        lanes *= 2
    held = -(-spec.cols // lanes) * max(1, row.values_kept)
    return GpuRows(
        num_threads=lanes * rows, rows_per_block=rows, resident=int(held <= RESIDENT_COLUMNS)
    )


def _vector(elements: int) -> int:
    """The widest vector of which `elements` is a whole number."""
    return next(width for width in VECTOR_WIDTHS if elements % width == 0)
