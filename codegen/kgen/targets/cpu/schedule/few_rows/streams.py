"""The schedule of products of few rows that are multiplied by tiles, a few rows of B at a time.

B comes from memory and is multiplied where it lies, while its next rows are fetched, or packed on
the way; the sums go to and fro in the caches.
"""

from __future__ import annotations

from kgen.schedule import CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.schedule.block_sizes import (
    balanced,
    lines_in_cache,
    paired,
    room_for_sums,
    rounded_up,
    rows_in_cache,
)
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    STREAM_A_ROWS,
    STREAM_ROWS,
    for_rows,
    gains_by_pairs,
)
from kgen.targets.cpu.schedule.few_rows.walked import walked_stream, walks_stream

#: Rows of B side by side, by rows of A at most, for elements of 32 bits or more and of 16: for few
#: rows of A the streams bind, for more the sums' traffic (4096 x 4096 on Zen 4).
STREAM_K = {2: (8, 16), 4: (32, 32), 8: (16, 64), STREAM_ROWS: (32, 64)}
#: The same of bf16 that is widened for so few rows: 5 take 1.75 ms, 2.25 with 64 (Golden Cove).
WIDENED_FEW, WIDENED_K = 8, 32
#: And of 16 bits that are widened in vectors of half a line, by rows of A at most: two rows read
#: whole lines, more read each several times, which a few rows of B alone survive that meet in a
#: cache set. 2 x 4096 x 4096 in bf16 takes 1.30 ms with 32, 1.50 with 16; 4 rows 2.04 with 32, 1.75
#: with 8; 8 x 4096 x 4096 in tiles of 4 x 16 3.7 ms with 8, 4.4 with 16, 4.6 with 64; 8 x 4160 x
#: 4096 3.8, 3.3 and 3.8 (Zen 4).
HALVES_K = {3: 32, 4: 8, 5: 64, STREAM_ROWS: 8}
#: Rows of A, elements and columns of an f32 B, at most, that a tile of all those rows takes panel
#: by panel, in blocks of so much K: 8 x 2304 x 768 takes 280 us instead of 405, 8 x 768 x 3072 375
#: instead of 430, but 8 x 4096 x 4096 twice as long (Golden Cove, AVX-512).
PANELS_ROWS, PANELS_B, PANELS_COLUMNS, PANELS_K = 8, 5 << 19, 2304, 128
#: Vectors of such a tile: the most that hold all rows (6 x 1024 x 1024: 173 us with 4, 205 with 2).
PANELS_VECTORS = 4
#: Vectors of a row of B, at most, that a tile of such a product has, by rows of A, or one whose B
#: comes packed: each is a stream of its own (one row by 4096 x 4096: eight are a fifth slower than
#: four, Zen 4).
STREAM_VECTORS, STREAM_VECTORS_FEW = 2, 4
STREAM_FEW = 2
#: Of vectors whose rows of B are interleaved within lanes, what such a tile has at most; of pairs
#: of bf16 one by more than STREAM_FEW rows of A, which 32 rows of B or more pass at once (5 and 6 x
#: 4096 x 4096 take 1.50 and 1.81 ms, 3.9 and 4.4 by two, 5 x 3072 x 2048 606 us and 1179, 4 x 2048
#: x 4096 623 and 1135, 3 x 2048 x 2048 221 and 227; AVX-512, Zen 4).
LANES_STRIPS = 2
#: Rows of B side by side in that case, of s8, by rows of A. Their vectors cross lines of an
#: array that is not aligned, which the next tile then reads again: few, lest a cache set has lost
#: them (1 x 4096 x 4096 in an array of numpy's: twice as fast as 64 rows, Zen 4).
LANES_K = {STREAM_FEW: 8, STREAM_A_ROWS: 16}
#: Rows of A, by the bytes of a vector, from which a stream of s8 whose rows of B meet in a cache
#: set is packed by the tiles of its first rows, in panels of so many vectors. A tile of all rows
#: takes less than half a line of a row of B at once, and reads each line again from the
#: second-level cache: 8 x 4096 x 4096 takes 2.7 ms packed, 5.9 in place, 3 x 4096 x 4096 1.9 and
#: 3.1, but 2 rows 1.6 and 1.4, and 7 x 2304 x 3072, where no rows meet, 1.1 and 0.8 (AVX2); with
#: AVX-512 16 x 4096 x 4096 takes 2.3 and 3.4, 8 rows 2.0 and 1.6 (Zen 4).
PACKED_ROWS, PACKED_VECTORS = {32: 3, 64: 9}, 4
#: Vectors' bytes of K in a block of it, and columns of a task at most: 512 cost up to 12 %.
PACKED_DEPTH, PACKED_COLUMNS = 2, 1024
#: Columns of a task of such a product, at most: enough of a row for the hardware to see a stream,
#: and tasks for several threads (2048 of 4096 columns cost one thread 4 % and make two 1.4x as
#: fast; 1024 cost 10 %).
STREAM_COLUMNS = 2048
#: Up to so many rows of A fewer columns are one task, whose rows of B would be read in short pieces
#: by two (12 x 768 x 3072 in f32 takes one core 629 us in two tasks, 440 in one; Golden Cove).
PAIRED_ROWS = 16


def stream_matmul(spec: Matmul, target: Target, *, packs_a: bool) -> CpuMatmul:
    """A few rows of B at a time, over as many columns as the second-level cache holds sums."""
    if walks_stream(spec, target):
        return walked_stream(spec, target, packs_a=packs_a)
    vector = vector_for(target, spec.accumulate, spec.n).count
    dot = dot_for(spec.dtype, target)
    registers = target.limits["vector_registers"] - (dot.extra_registers if dot else 0)

    def rows(vectors: int) -> int:
        return balanced(spec.m, min((registers - 2) // vectors - 1, rows_in_cache(spec)), 1)

    widest = STREAM_VECTORS_FEW if spec.m <= STREAM_FEW else STREAM_VECTORS
    widths = range(1, min(widest, -(-spec.n // vector)) + 1)
    wide, narrow = for_rows(spec, STREAM_K)
    kc = narrow if spec.b_type.itemsize < 4 else wide
    if spec.dtype is DType.BF16 and spec.m <= WIDENED_FEW and not gains_by_pairs(target):
        kc = min(kc, WIDENED_K)
    if dot is None and widens_halves(spec, target):
        kc = for_rows(spec, HALVES_K)
        # One vector by all rows is less of a line: 8 x 4160 x 4096 takes 5.4 ms with 8 of K.
        widths = widths[1:] or widths
    if dot and (most := strip_vectors(spec, target, dot, vector, registers)):
        widths = range(most, most + 1)
        if spec.dtype is DType.S8 and spec.m <= STREAM_A_ROWS:
            kc = for_rows(spec, LANES_K)
    vectors = max(widths, key=lambda v: (rows(v), v))
    if packs_a and rows(1) == spec.m and walks_panels(spec, target):
        nr = vector * max(v for v in range(1, PANELS_VECTORS + 1) if rows(v) == spec.m)
        nc = paired(spec.n, spec.n, nr)
        return CpuMatmul(mr=spec.m, nr=nr, mc=spec.m, kc=PANELS_K, nc=nc, pack_a=True, pack_b=True)
    mr, nr = rows(vectors), vectors * vector
    mc = rounded_up(spec.m, mr)
    if packs_a or (spec.dtype is DType.S8 and spec.k % kc):
        kc = rounded_up(kc, LINE_BYTES // spec.dtype.itemsize if dot else vector)
    room = room_for_sums(spec, target, mc, kc, packs_a=packs_a)
    sums = min(target.limits["l2_bytes"] // 8, room) // (mc * spec.accumulate.itemsize)
    wide = spec.n >= STREAM_COLUMNS or spec.m > PAIRED_ROWS
    nc = (paired if wide else balanced)(spec.n, min(sums, STREAM_COLUMNS), nr)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)


def packs_stream(spec: Matmul, target: Target) -> bool:
    """A stream of s8 is packed on the way; not on cores that find rows of B by themselves, where
    that is not measured."""
    width = target.limits["vector_bytes"]
    if spec.dtype is not DType.S8 or spec.m < PACKED_ROWS.get(width, spec.m + 1):
        return False
    if walks_stream(spec, target):
        return False
    meets = lines_in_cache(spec.b_strides[1] * spec.b_type.itemsize) < PACKED_DEPTH * width
    return meets and not core_of(target).finds_rows


def packed_stream(spec: Matmul, target: Target, dot: Dot, *, packs_a: bool) -> CpuMatmul:
    """Panels as wide as leave room for two rows, in short blocks of K; sums in scratch. No higher
    than wide: 16 x 4096 x 4096 takes 2.28 ms, 2.57 by six rows at once (Zen 4)."""
    nr = PACKED_VECTORS * vector_for(target, spec.accumulate, spec.n).count
    registers = target.limits["vector_registers"] - dot.extra_registers - 1
    fits = (registers - 1) // PACKED_VECTORS - 1
    mr = balanced(spec.m, min(fits, PACKED_VECTORS), 1)
    mc, kc = rounded_up(spec.m, mr), PACKED_DEPTH * target.limits["vector_bytes"]
    copies = (packs_a * mc + nr) * (kc * 4 // dot.group + ROW_PADDING)
    sums = (target.limits["stack_bytes"] - copies) // (mc * spec.accumulate.itemsize)
    nc = paired(spec.n, min(sums, PACKED_COLUMNS), nr)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=True)


def widens_halves(spec: Matmul, target: Target) -> bool:
    """Elements of 16 bits become f32 in vectors of half a line; not on cores that find rows of B by
    themselves, where that is not measured."""
    halves = spec.dtype.itemsize == 2 and target.limits["vector_bytes"] == LINE_BYTES // 2
    return halves and not core_of(target).finds_rows


def walks_panels(spec: Matmul, target: Target) -> bool:
    """A tile that packs takes panels of B from top to bottom, fetching lines some steps ahead: that
    is faster than a few whole rows at a time where B is not much larger than the second-level cache
    and its rows are not long."""
    few = STREAM_A_ROWS < spec.m <= PANELS_ROWS and spec.dtype is spec.b_type is DType.F32
    fits = spec.k * spec.n <= PANELS_B and spec.n <= PANELS_COLUMNS
    lines = target.limits["vector_bytes"] == LINE_BYTES
    return few and fits and lines and core_of(target).finds_rows


def strip_vectors(spec: Matmul, target: Target, dot: Dot, vector: int, registers: int) -> int:
    """Vectors of a tile of all rows of A whose rows of B are interleaved within lanes; 0 if there
    is none."""
    pairs = spec.dtype is DType.BF16 and gains_by_pairs(target)
    most = 1 if pairs and spec.m > STREAM_FEW else LANES_STRIPS
    fits = (
        strips * dot.group
        for strips in range(most, 0, -1)
        if registers_needed(spec.m, strips * dot.group) <= registers
        and spec.m <= rows_in_cache(spec)
        and spec.n >= strips * dot.group * vector
    )
    return next(fits, 0)
