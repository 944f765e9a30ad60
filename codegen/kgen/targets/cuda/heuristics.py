"""Which schedule to take: the cheapest of a few tiles by a small model, correct for every shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from kgen.schedule import FmaMatmul, GpuMatmul, GpuRelu, GpuSoftmax, MmaMatmul, Schedule
from kgen.spec import Matmul, Relu, Softmax, Spec
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import matmul_mma
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.softmax import widest_vector

T = TypeVar("T", bound=GpuMatmul)

#: CTAs that run at once on a GPU of ordinary size. Only speed depends on it.
NOMINAL_CTAS = 128
#: What an element brought to a tile's edge costs, in multiply-adds per element of k. On a tensor
#: core the products are cheap beside the traffic; on fma they are not.
MMA_EDGE_COST = 32
FMA_EDGE_COST = 8

RELU_THREADS = 256

SOFTMAX_THREADS = 128
MAX_SOFTMAX_THREADS = 1024
#: Up to this many columns a row is a warp's (or a part of one), 32 elements for each lane.
WARP_ROW_COLS = 1024
#: Longer rows get a CTA with about this many elements per thread, and stay in registers up to the
#: second number: 1024 threads have 64 registers each.
WANTED_PER_THREAD = 16
MAX_HELD = 32


def _mma(block_m: int, block_n: int, block_k: int, warp_m: int, warp_n: int) -> MmaMatmul:
    return MmaMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        warp_m=warp_m,
        warp_n=warp_n,
        num_stages=3,
    )


def _fma(block_m: int, block_n: int, block_k: int, thread_m: int, thread_n: int) -> FmaMatmul:
    return FmaMatmul(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        thread_m=thread_m,
        thread_n=thread_n,
        num_stages=2,
    )


MMA_TILES = (
    _mma(128, 128, 32, 64, 32),
    _mma(128, 64, 32, 64, 32),
    _mma(64, 128, 32, 32, 64),
    _mma(64, 64, 32, 32, 32),
    _mma(64, 32, 64, 32, 16),
    _mma(32, 64, 64, 16, 32),
    _mma(32, 32, 64, 16, 16),
    _mma(16, 64, 64, 16, 16),
    _mma(64, 16, 64, 16, 16),
    _mma(16, 32, 64, 16, 16),
    _mma(32, 16, 64, 16, 16),
    _mma(16, 16, 64, 16, 16),
)

FMA_TILES = (
    _fma(128, 128, 8, 8, 8),
    _fma(128, 64, 8, 8, 4),
    _fma(64, 128, 8, 4, 8),
    _fma(64, 64, 16, 4, 4),
    _fma(64, 32, 16, 4, 4),
    _fma(32, 64, 16, 4, 4),
    _fma(32, 32, 16, 4, 2),
    _fma(64, 8, 16, 4, 1),
    _fma(8, 64, 16, 1, 4),
    _fma(16, 16, 16, 2, 2),
)


def choose(spec: Spec, target: Target) -> Schedule:
    """The schedule of an operation on a target."""
    if isinstance(spec, Matmul):
        return _choose_matmul(spec, target)
    if isinstance(spec, Relu):
        return _choose_relu(spec)
    assert isinstance(spec, Softmax)
    return _choose_softmax(spec)


def _choose_matmul(spec: Matmul, target: Target) -> GpuMatmul:
    if not matmul_mma.supports(spec.dtype, target):
        return _cheapest(spec, FMA_TILES, FMA_EDGE_COST)
    tile = _cheapest(spec, MMA_TILES, MMA_EDGE_COST)
    tile = replace(tile, block_k=min(tile.block_k, max(matmul_mma.PIECE, _power_of_two(spec.k))))
    # More than two stages are for copies that run on their own.
    uses_async = matmul_mma.plan_mma(spec, target, tile).uses_async
    return tile if uses_async else replace(tile, num_stages=2)


def _cheapest(spec: Matmul, tiles: Iterable[T], edge_cost: int) -> T:
    """The tile with the least work on the busiest place: rounds of CTAs x work of one."""

    def cost(tile: T) -> int:
        blocks = -(-spec.m // tile.block_m) * -(-spec.n // tile.block_n) * spec.batch
        products = tile.block_m * tile.block_n
        edges = tile.block_m + tile.block_n
        return -(-blocks // NOMINAL_CTAS) * (products + edge_cost * edges)

    return min(tiles, key=cost)


def _choose_relu(spec: Relu) -> GpuRelu:
    vector = MAX_ACCESS_BYTES // spec.dtype.itemsize
    unroll = 4 if spec.elements >= NOMINAL_CTAS * RELU_THREADS * vector * 4 else 1
    return GpuRelu(num_threads=RELU_THREADS, vector=vector, unroll=unroll)


def _choose_softmax(spec: Softmax) -> GpuSoftmax:
    vector = widest_vector(spec)
    if spec.cols <= WARP_ROW_COLS:
        per_row = min(WARP_SIZE, _power_of_two(spec.cols // vector))
        rows = SOFTMAX_THREADS // per_row
        return GpuSoftmax(num_threads=SOFTMAX_THREADS, rows_per_block=rows, vector=vector)
    wanted = _power_of_two(-(-spec.cols // WANTED_PER_THREAD))
    threads = max(SOFTMAX_THREADS, min(MAX_SOFTMAX_THREADS, wanted))
    held = -(-spec.cols // (threads * vector)) * vector
    return GpuSoftmax(num_threads=threads, vector=vector, resident=int(held <= MAX_HELD))


def _power_of_two(value: int) -> int:
    """The least power of two that is not below `value`."""
    return 1 << (value - 1).bit_length()
