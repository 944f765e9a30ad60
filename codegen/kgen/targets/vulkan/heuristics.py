"""Default schedules.

All stay within the limits that every device guarantees, except for rows of more than 8 million
columns that are not a whole number of vectors.
"""

from __future__ import annotations

from kgen.schedule import (
    CooperativeAttention,
    CooperativeMatmul,
    FmaMatmul,
    GpuMatmul,
    GpuRows,
    GpuStream,
    UnstagedAttention,
    UnstagedMatmul,
)
from kgen.spec import Attention, DType, Elementwise, Matmul, Rowwise
from kgen.targets.base import Target
from kgen.targets.contraction.access import access_maps
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.powers_of_two import power_of_two
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import interleaved_block
from kgen.targets.vulkan.limits import DOT_PRODUCT, MAX_TURNS
from kgen.targets.vulkan.plan.attention.coopmat_attention import MAX_WORDS, words_of
from kgen.targets.vulkan.plan.attention.coopmat_attention import (
    is_cooperative as is_cooperative_attention,
)
from kgen.targets.vulkan.plan.elementwise import vector_of
from kgen.targets.vulkan.plan.matmul.coopmat import is_cooperative
from kgen.targets.vulkan.plan.matmul.dot_operand import QUAD
from kgen.targets.vulkan.plan.matmul.matrix import plan_matrix
from kgen.targets.vulkan.plan.rows.rowwise import fewest_lanes
from kgen.targets.vulkan.plan.rows.rowwise import vector_of as vector_of_row

#: Values of block_m, block_n, thread_m and thread_n of staged products, with 128 invocations if the
#: tile is large enough. An invocation multiplies each value thread_m or thread_n times.
FMA_TILES = (
    (64, 128, 8, 8),
    (128, 64, 8, 8),
    (64, 64, 8, 4),
    (32, 64, 4, 4),
    (64, 32, 4, 4),
    (32, 32, 2, 4),
    (16, 64, 2, 4),
    (64, 16, 2, 4),
    (16, 16, 1, 4),
)
#: Largest block_k: every device has memory for two stages of the largest tile.
MAX_BLOCK_K = 8
STAGES = 2
#: Tiles of products of s8, whose K-tiles are words of four steps. The last two are for small M or
#: small N.
DOT_TILES = ((128, 64, 8, 8), (64, 64, 8, 4), (32, 32, 4, 4), (8, 128, 4, 4), (128, 8, 4, 4))
DOT_BLOCK_K = 32
#: Values of block_m and block_n of products by cooperative matrices. In the larger tiles, four
#: subgroups of 32 lanes have whole matrices of all sizes.
COOPERATIVE_TILES = ((128, 64), (64, 64), (32, 32))
#: Largest M, and block_n, of the tile for small M, whose subgroups are side by side.
SMALL_M_TILE = (16, 64)
#: Bytes of a K-tile's rows, so that each invocation copies 16 bytes of an operand.
COOPERATIVE_K_BYTES, SMALL_M_K_BYTES = 64, 128
#: Values of block_q, block_k, thread_q and thread_k of attention, for rows of any number.
ATTENTION_TILES = ((32, 32, 4, 2), (16, 32, 2, 2), (8, 32, 1, 2), (4, 64, 1, 2), (1, 128, 1, 4))
#: Values of block_q, block_k and num_threads of attention by cooperative matrices. Subgroups of 32
#: lanes have 16 queries each.
COOPERATIVE_ATTENTION_TILES = ((64, 32, 128), (32, 32, 64), (16, 32, 32))
#: Workgroups that run at once on a typical GPU; only the balance of tiles depends on it.
TYPICAL_UNITS = 64
#: Cost of copying one row or column of a K-tile, in multiply-adds of its elements.
EDGE_WEIGHT = 16

#: Largest M (or N) of a skinny GEMM, which reads the other operand once, directly from its buffer.
#: An invocation computes all of these rows (or columns).
SKINNY = 8
#: Outputs of an invocation of a skinny GEMM along the longer of M and N.
UNSTAGED_OUTPUTS = 4
#: Neighbouring invocations along that dimension, by whether memory is contiguous along it.
UNSTAGED_THREADS = {True: 16, False: 4}

#: Lanes of a software driver's vectors, and most rows of A per lane, for products on a CPU.
CPU_LANES = 8
CPU_ROWS = 8
#: Columns per lane, by its rows. In lavapipe, an access is a loop over the lanes, so each load
#: should serve as many outputs as registers hold.
CPU_OUTPUTS = {1: 32, 2: 32, 4: 16, 8: 16}
#: Columns per lane for 16-bit types, whose conversion needs registers; block_k for these types, and
#: for others.
CPU_NARROW_OUTPUTS, CPU_NARROW_STEPS, CPU_STEPS = 8, 8, 4

THREADS = 128
#: Columns per lane above which a row gets more lanes.
COLUMNS_PER_THREAD = 16
#: Most columns of a row that a lane holds; longer rows are streamed.
RESIDENT_COLUMNS = 32


def matmul(spec: Matmul, target: Target) -> GpuMatmul:
    """Return the schedule of a matmul.

    Tiles are staged in workgroup memory if operands are reused, and for an implicit GEMM. A skinny
    GEMM, and any product on a CPU, reads its operands directly from the buffers.
    """
    if spec.dtype is DType.S8:
        found = _cooperative if is_cooperative(spec, target) else _staged
        return found(spec, target)
    are_matrices = all(access.is_affine for access in access_maps(spec))
    if target.has("unstaged") and are_matrices:
        return _on_cpu(spec, target)
    if min(spec.m, spec.n) <= SKINNY and are_matrices:
        return _skinny(spec, target)
    if is_cooperative(spec, target):
        return _cooperative(spec, target)
    return _staged(spec, target)


def _cooperative(spec: Matmul, target: Target) -> CooperativeMatmul:
    """Return the largest cooperative tile of which there are enough for all units."""
    limit = target.limits["maxComputeWorkGroupCount"]

    has_small_m = spec.m <= SMALL_M_TILE[0]
    suiting = (SMALL_M_TILE,) if has_small_m else COOPERATIVE_TILES
    enough = [tile for tile in suiting if block_tiles(spec, *tile).total >= TYPICAL_UNITS]
    found = enough[0] if enough else suiting[-1]
    tiles = block_tiles(spec, *found)
    if max(tiles.rows, tiles.cols) > limit:
        has_small_m, found = False, COOPERATIVE_TILES[0]
    block_m, block_n = found
    return CooperativeMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=(SMALL_M_K_BYTES if has_small_m else COOPERATIVE_K_BYTES) // spec.dtype.itemsize,
        num_stages=STAGES,
        num_threads=THREADS,
    )


def _staged(spec: Matmul, target: Target) -> FmaMatmul:
    """Return the staged tile with the least work, counted in rounds of workgroups."""
    limit = target.limits["maxComputeWorkGroupCount"]

    def cost(tile: tuple[int, int, int, int]) -> tuple[bool, int]:
        block_m, block_n, *_ = tile
        tiles = block_tiles(spec, block_m, block_n)
        rounds = -(-tiles.total // TYPICAL_UNITS)
        work = rounds * (block_m * block_n + EDGE_WEIGHT * (block_m + block_n))
        return (max(tiles.rows, tiles.cols) > limit, work)

    dots = spec.dtype is DType.S8
    candidates = _dot_tiles(spec, target) if dots else FMA_TILES
    block_m, block_n, thread_m, thread_n = min(candidates, key=cost)
    return FmaMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=DOT_BLOCK_K if dots else min(MAX_BLOCK_K, power_of_two(spec.k)),
        num_stages=STAGES,
        thread_m=thread_m,
        thread_n=thread_n,
    )


def _dot_tiles(spec: Matmul, target: Target) -> list[tuple[int, int, int, int]]:
    """Return the tiles of s8. If rows are not whole words and are copied byte by byte, a line of a
    K-tile has at most one byte per invocation."""
    # Without dot products, bytes are unpacked, which takes four times the registers.
    tiles = DOT_TILES if target.has(DOT_PRODUCT) else DOT_TILES[1:]
    maps = access_maps(spec)
    bytewise = [plan_matrix(spec, target, access, QUAD).width == 1 for access in maps]
    across = [access.inner == "row" for access in maps]

    def fits(tile: tuple[int, int, int, int]) -> bool:
        block_m, block_n, thread_m, thread_n = tile
        invocations = block_m // thread_m * (block_n // thread_n)
        sides = zip((block_m, block_n), across, bytewise, strict=True)
        return all(block <= invocations for block, *whether in sides if all(whether))

    return [tile for tile in tiles if fits(tile)]


def _skinny(spec: Matmul, target: Target) -> UnstagedMatmul:
    """Return the schedule of a skinny GEMM: an invocation computes the whole short dimension, and
    the slices of K fill a workgroup."""
    tall = spec.n < spec.m
    short, long = (spec.n, spec.m) if tall else (spec.m, spec.n)
    a, b = access_maps(spec)
    contiguous = (a if tall else b).inner == "row"
    block_k = min(MAX_BLOCK_K, power_of_two(spec.k))
    outputs = min(UNSTAGED_OUTPUTS, power_of_two(long))
    slices = min(THREADS // UNSTAGED_THREADS[contiguous], power_of_two(-(-spec.k // block_k)))
    threads = min(THREADS // slices, power_of_two(-(-long // outputs)))
    limit = target.limits["maxComputeWorkGroupCount"]
    while -(-long // (threads * outputs)) > limit and slices > 1:
        threads, slices = 2 * threads, slices // 2
    each, block = (power_of_two(short), outputs), (power_of_two(short), outputs * threads)
    (thread_m, thread_n), (block_m, block_n) = (each[::-1], block[::-1]) if tall else (each, block)
    return UnstagedMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        thread_m=thread_m,
        thread_n=thread_n,
        slices=slices,
    )


def _on_cpu(spec: Matmul, target: Target) -> UnstagedMatmul:
    """Return the schedule for a CPU: neighbouring invocations are neighbours along n, or along m if
    n is short."""
    is_narrow = spec.dtype.itemsize < DType.F32.itemsize
    thread_m = min(CPU_ROWS, power_of_two(spec.m))
    most = CPU_NARROW_OUTPUTS if is_narrow and thread_m > 1 else CPU_OUTPUTS[thread_m]
    columns = power_of_two(spec.n)
    across = min(CPU_LANES, columns)
    thread_n = min(most, columns // across)
    down = CPU_LANES // across
    limit = target.limits["maxComputeWorkGroupCount"]
    while -(-spec.m // (thread_m * down)) > limit:
        down *= 2
    return UnstagedMatmul(
        block_m=thread_m * down,
        block_n=thread_n * across,
        block_k=min(CPU_NARROW_STEPS if is_narrow else CPU_STEPS, power_of_two(spec.k)),
        thread_m=thread_m,
        thread_n=thread_n,
    )


def attention(spec: Attention, target: Target) -> UnstagedAttention | CooperativeAttention:
    """Return the tile with the least work, counted in rounds of workgroups.

    Up to SKINNY queries do not fill cooperative matrices.
    """
    if spec.group * spec.queries > SKINNY and is_cooperative_attention(spec, target):
        return cooperative_attention(spec)
    return unstaged_attention(spec)


def cooperative_attention(spec: Attention) -> CooperativeAttention:
    schedules = (
        CooperativeAttention(block_q=block_q, block_k=block_k, num_threads=num_threads)
        for block_q, block_k, num_threads in COOPERATIVE_ATTENTION_TILES
    )
    fitting = (each for each in schedules if words_of(spec, each) <= MAX_WORDS)
    return min(fitting, key=lambda each: _rounds_of_keys(spec, each.block_q, each.block_k))


def unstaged_attention(spec: Attention) -> UnstagedAttention:
    def cost(tile: tuple[int, ...]) -> tuple[bool, int]:
        return _rounds_of_keys(spec, *tile[:2])

    block_q, block_k, thread_q, thread_k = min(ATTENTION_TILES, key=cost)
    return UnstagedAttention(block_q=block_q, block_k=block_k, thread_q=thread_q, thread_k=thread_k)


def _rounds_of_keys(spec: Attention, block_q: int, block_k: int) -> tuple[bool, int]:
    """Return whether a loop is too long, and the work of all rounds of workgroups."""
    blocks = spec.batch * spec.kv_heads * -(-spec.group * spec.queries // block_q)
    turns = -(-spec.keys // block_k)
    rounds = -(-blocks // TYPICAL_UNITS)
    return (turns > MAX_TURNS, rounds * turns * block_k * (block_q + EDGE_WEIGHT))


def elementwise(spec: Elementwise, target: Target) -> GpuStream:
    return GpuStream(num_threads=THREADS, vector=vector_of(spec))


def rowwise(spec: Rowwise, target: Target) -> GpuRows:
    """Return the schedule of a row-wise kernel: as few lanes as hold a row, and several rows per
    workgroup if rows are short."""
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
    """Return the schedule of interleaved rows: adjacent rows in a workgroup, and the lanes of
    each."""
    rows, lanes = interleaved_block(spec, THREADS)
    lanes = max(lanes, fewest_lanes(row))
    while -(-spec.cols // lanes) > MAX_TURNS:
        lanes *= 2
    held = -(-spec.cols // lanes) * max(1, row.values_kept)
    return GpuRows(
        num_threads=lanes * rows, rows_per_block=rows, resident=int(held <= RESIDENT_COLUMNS)
    )
