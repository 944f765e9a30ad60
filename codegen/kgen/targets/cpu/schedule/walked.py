"""The schedule of products of few rows by tiles, where the hardware walks rows of B by itself.

So few rows of B at once that all of them stay in the first-level cache, from the first tile of rows
of A to the last, however far apart they lie; and pieces of them so long that memory follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.schedule import CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.matmul import SUMS_PADDING
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import balanced, paired, rounded_up, rows_in_cache
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows import (
    NEAR,
    STREAM_A_ROWS,
    gains_by_pairs,
    walks_lines,
)
from kgen_runtime.values import frozen


@frozen
class Stream:
    """Rows of A, from the least to the most, and up to which A is not packed if it need not be;
    `vectors` of a tile, and columns of a task at most."""

    rows: range
    in_place: int
    vectors: int
    columns: int


#: By what is multiplied, on Zen 5; pairs of bf16 and fours of s8 with AVX-512 alone.
#:
#: F32: 16 x 2048 x 2048 takes 1.08 ms, 1.5 by panels, 8 x 4096 x 4096 2.4 ms, 4.0 by 16 rows of B
#: and tiles of one vector (AVX2); 9 x 4096 x 4096 2.0 ms, 3.9 by 32 rows of B and tiles of five
#: rows (AVX-512). Bf16: 9 x 4096 x 4096 takes 0.79 ms, 1.91 by 64 rows of B and tiles of five, 8 x
#: 5120 x 5120 1.8 ms, 4.2 by 64 rows of B, 4 x 1024 x 1024 38 us, 47 by 32. S8: 8 x 4096 x 4096
#: takes 0.59 ms, 1.14 by 64 rows of B, 8 x 2048 x 2048 154 us, 225; but 2 rows no less.
STREAMS: Mapping[DType, Stream] = {
    DType.F32: Stream(rows=range(5, 33), in_place=0, vectors=2, columns=2048),
    DType.BF16: Stream(rows=range(3, 33), in_place=8, vectors=2, columns=1024),
    DType.S8: Stream(rows=range(3, 13), in_place=12, vectors=4, columns=512),
}
#: The part of the second-level cache that sums may take (12 x 5120 x 5120 in f32 takes 3.4 ms in
#: blocks of 1024 columns, 4.3 of 2560).
SUMS = 12
#: Bytes of a row of sums of a task, in vectors of a line, if columns make four such (16 x 14336 x
#: 4096 in f32 takes 9.7 ms in blocks of 1024 columns, 13.1 of 1216).
PAGE_BYTES = 4096
#: Rows of s8 at once, of which half as many come from memory (8 x 4096 x 4096 takes 0.59 ms, 0.75
#: by 16; 8 x 2304 x 768 50 us, 62 by 8).
BYTES_K = 16


def walks_stream(spec: Matmul, target: Target) -> bool:
    """Such a stream was measured, of what is multiplied and for so many rows."""
    if not core_of(target).walks_rows or spec.dtype is not spec.b_type:
        return False
    stream = STREAMS.get(spec.dtype)
    if stream is None or spec.m not in stream.rows:
        return False
    if spec.dtype is DType.BF16 and not gains_by_pairs(target):
        return False
    return spec.dtype is DType.F32 or (walks_lines(target) and bool(dot_for(spec.dtype, target)))


def packs_rows_of_a(spec: Matmul, target: Target) -> bool:
    """A stream of groups packs A even if it need not."""
    return spec.m > (STREAMS[spec.dtype].in_place if walks_stream(spec, target) else STREAM_A_ROWS)


def walked_stream(spec: Matmul, target: Target, *, packs_a: bool) -> CpuMatmul:
    """Tiles as high as the registers allow, by a vector's rows of B."""
    stream, dot = STREAMS[spec.dtype], dot_for(spec.dtype, target)
    vector = vector_for(target, spec.accumulate, spec.n).count
    vectors = min(stream.vectors, -(-spec.n // vector))
    registers = target.limits["vector_registers"] - (dot.extra_registers if dot else 0)
    most = (registers - 2) // vectors - 1
    # Rows of an A that is not packed may meet in a cache set.
    mr = balanced(spec.m, most if packs_a else min(most, rows_in_cache(spec)), 1)
    nr, mc = vectors * vector, rounded_up(spec.m, mr)
    kc = _depth(spec, target, vector, packs_a)
    itemsize = spec.accumulate.itemsize
    copies = rounded_up(mc, vector) * kc * itemsize + max(mc, kc) * ROW_PADDING
    room = target.limits["stack_bytes"] - packs_a * copies - mc * SUMS_PADDING
    sums = min(target.limits["l2_bytes"] // SUMS, room) // (mc * itemsize)
    nc = paired(spec.n, min(sums, stream.columns), nr)
    page = PAGE_BYTES // itemsize
    if walks_lines(target) and page <= min(sums, stream.columns, spec.n // 4):
        nc = page
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)


def _depth(spec: Matmul, target: Target, vector: int, packs_a: bool) -> int:
    """K of a block: as many rows of B as a vector of sums has elements, or as a row of packed A is
    rounded up to."""
    unit = LINE_BYTES // spec.dtype.itemsize
    if spec.dtype is DType.F32:
        return vector
    if spec.dtype is DType.S8:
        is_far = spec.k * spec.n > NEAR * target.limits["l3_bytes"]
        kc = BYTES_K // (2 if is_far else 1)
        return unit if packs_a or spec.k % kc else kc
    return unit if packs_a else vector
