"""The schedule of skinny products whose B comes from memory, limited by its bandwidth.

B is multiplied where it lies, a few of its rows at a time, while the next ones are fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kgen.schedule import CpuMatmul, OuterMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.kernels.gemv_strips import has_outer, outer_registers, sums_of_outer
from kgen.targets.cpu.plan.matmul import SUMS_PADDING
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.schedule.block_sizes import (
    balanced,
    lines_in_cache,
    rounded_up,
    rows_in_cache,
)
from kgen.targets.cpu.schedule.core import core_of

T = TypeVar("T")

#: Up to this many rows, a large B is read once, as a stream, and the sums go to and fro in the
#: caches: packing it costs more than it saves.
STREAM_ROWS = 32
#: Rows of B side by side, by rows of A at most, for elements of 32 bits or more and of 16: for few
#: rows of A the streams bind, for more the sums' traffic (4096 x 4096 on Zen 4).
STREAM_K = {2: (8, 16), 4: (32, 32), 8: (16, 64), STREAM_ROWS: (32, 64)}
#: The same of bf16 that is widened for so few rows: 5 take 1.75 ms, 2.25 with 64 (Golden Cove).
WIDENED_FEW, WIDENED_K = 8, 32
#: And of 16 bits that are widened in vectors of half a line, by rows of A at most: two rows read
#: whole lines, more read each several times, which a few rows of B alone survive that meet in a
#: cache set. 2 x 4096 x 4096 in bf16 takes 1.30 ms with 32, 1.50 with 16; 8 x 4096 x 4096 in tiles
#: of 4 x 16 3.7 ms with 8, 4.4 with 16, 4.6 with 64; 8 x 4160 x 4096 3.8, 3.3 and 3.8 (Zen 4).
HALVES_K = {4: 32, 5: 64, STREAM_ROWS: 8}
#: Rows of A, elements and columns of an f32 B, at most, that a tile of all those rows takes panel
#: by panel, in blocks of so much K: 8 x 2304 x 768 takes 280 us instead of 405, 8 x 768 x 3072 375
#: instead of 430, but 8 x 4096 x 4096 twice as long (Golden Cove, AVX-512).
PANELS_ROWS, PANELS_B, PANELS_COLUMNS, PANELS_K = 8, 5 << 19, 2304, 128
#: Vectors of such a tile: the most that hold all rows (6 x 1024 x 1024: 173 us with 4, 205 with 2).
PANELS_VECTORS = 4
#: A of more rows than this is packed even if it need not be, lest its rows meet in a cache set.
STREAM_A_ROWS = 4
#: Vectors of a row of B, at most, that a tile of such a product has, by rows of A, or one whose B
#: comes packed: each is a stream of its own (one row by 4096 x 4096: eight are a fifth slower than
#: four, Zen 4).
STREAM_VECTORS, STREAM_VECTORS_FEW = 2, 4
STREAM_FEW = 2
#: Of vectors whose rows of B are interleaved within lanes, what such a tile has at most.
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
#: Rows of B that are multiplied at once, each in another part of OUTER_PART rows: four streams are
#: followed best; pairs for more than two rows of A, where sums take as long, eight.
OUTER_PARTS, OUTER_PARTS_PAIRS, OUTER_PAIRS_FEW, OUTER_PART = 4, 8, 2, 64
#: The same of B near in vectors of half a line, of which there are twice as many: rows side by side
#: (1 x 2304 x 768 in f32 on AVX2 takes 88 us, by four 64 rows apart 106, by eight 102; Zen 4).
OUTER_PARTS_NEAR, OUTER_PART_NEAR = 8, 1
#: Strips of a step, at most.
OUTER_STRIPS = 2
#: Bytes of a row of sums, by bytes of an element and rows of A at most: with what passes of B they
#: have room in the eight ways of the first-level cache (1 row by 4096 x 4096 in f32: 32 GB/s, 26
#: with twice as many). More rows of A, and more than one of s8, are multiplied by tiles.
OUTER_SUMS = {1: {1: 8192}, 2: {2: 4096, 4: 2048}, 4: {1: 4096, 4: 3072}}
#: Columns from which two tasks are better than one; but those of products of so few rows that are
#: no outer ones need more, being read in short pieces (12 x 768 x 3072 in f32 takes one core 629 us
#: in two tasks, 440 in one; Golden Cove).
PAIRED_COLUMNS, PAIRED_ROWS = 512, 16
#: Rows of B behind the current ones that are fetched: each twice, as prefetches are lost where many
#: are on their way (4 rows by 4096 x 4096 in f32: 28 GB/s instead of 24, Zen 4).
PREFETCH = 2
#: The parts of the last-level cache that B may have for none to be fetched, and for one: from there
#: the hardware is fast enough (Zen 4, f32: 1 x 768 x 3072 takes 108 us with none, 140 with one, 153
#: with two; 2 x 2048 x 2048 530, 334 and 348).
NEAR, HALF_NEAR = 3 / 8, 1 / 2
#: Rows of A from which such a B is multiplied by tiles instead: of all of K if they are wide, whose
#: sums stay in registers (4 x 2304 x 768 takes 128 us, 151 by rows of B), on AVX2 of a few rows
#: (160 us, 184 by rows of B); and of pairs of bf16, the same (2 rows 54 us instead of 67, 3 rows
#: 67 instead of 137).
TILES_FROM, PAIRS_FROM = 3, 2
#: Bytes of the sums of all rows on cores that find rows of B by themselves, which are best read
#: from end to end (1 x 4096 x 4096 in s8: 566 us, 720 in two blocks of columns; Golden Cove). Two
#: thirds of its first-level cache: 4 x 2048 x 2048 in f32 takes 588 us, with 18432 bytes 665.
FOUND_SUMS = 32768
#: Of f32 in vectors of half a line, which take longer for the rows of B than the sums do: 2 rows by
#: 4096 x 4096 on AVX2 read 23.1 GB/s with blocks of 2048 columns, 21.6 with 688 (Zen 4). 1 x 5120 x
#: 5120 in two of 2560 takes two threads 3.03 ms, 3.40 in three.
OUTER_SUMS_NARROW = {2: 10240, 4: 3072}
#: From so many blocks on, in vectors of a line, their number is even: 3 x 5120 x 2048 takes two
#: threads 643 us in eight, 730 in seven, 1 x 5120 x 2048 829 in six, 1001 in five. Not of fewer:
#: 4 x 2048 x 2048 takes one core 346 us in three, 502 in four (Zen 4).
PAIRED_BLOCKS = 5


def is_large(spec: Matmul, target: Target) -> bool:
    """B leaves the second-level cache."""
    return spec.k * spec.n * spec.b_type.itemsize > target.limits["l2_bytes"]


def streams(spec: Matmul, target: Target) -> bool:
    """B comes from memory, for so few rows that it is multiplied as it lies."""
    few = spec.m <= STREAM_ROWS and not spec.constant
    large = is_large(spec, target) and not spec.layout.b_transposed
    return few and large and not takes_strips(spec, target)


def is_near(spec: Matmul, target: Target, part: float = NEAR) -> bool:
    """B stays in the last-level cache from one call to the next, by all that is known, on a core
    that does not find rows by itself in any case."""
    size = spec.k * spec.n * spec.b_type.itemsize
    near = size <= part * target.limits["l3_bytes"]
    plain = spec.dtype is spec.b_type and spec.dtype in (DType.F32, DType.BF16)
    return near and plain and not core_of(target).finds_rows


def takes_strips(spec: Matmul, target: Target) -> bool:
    """A few rows of A times several lines of each row of B at once, along all of K."""
    few = TILES_FROM <= spec.m <= STREAM_A_ROWS and not spec.constant
    wide = target.limits["vector_bytes"] == LINE_BYTES and spec.dtype is DType.F32
    return few and wide and is_near(spec, target)


def takes_blocks(spec: Matmul, target: Target) -> bool:
    """The same where a tile has one line, for want of registers, so that only some rows of B at
    once are read as streams; and pairs, for which the sums' traffic is the more."""
    if spec.dtype is DType.BF16:
        few = spec.m >= PAIRS_FROM
    else:
        few = spec.m >= TILES_FROM and target.limits["vector_bytes"] == LINE_BYTES // 2
    return few and is_near(spec, target, HALF_NEAR)


def is_outer(spec: Matmul, target: Target) -> bool:
    """A few rows of B at once pass by all rows of A; pairs of bf16 do so for two rows where they
    gain nothing over f32 (4 x 4096 x 4096: 2.2 ms, widened by tiles 1.55 ms; Golden Cove)."""
    few = spec.m <= max(_outer_sums(spec, target)) and streams(spec, target)
    if not (few and has_outer(spec, target)) or takes_blocks(spec, target):
        return False
    pairs = spec.dtype is DType.BF16 and _group(spec, target) > 1
    if pairs and spec.m > OUTER_PAIRS_FEW and not gains_by_pairs(target):
        return False
    needed = outer_registers(spec, target, _group(spec, target), 1)
    return needed <= target.limits["vector_registers"]


def outer_matmul(spec: Matmul, target: Target) -> OuterMatmul:
    """As many rows of B at once, and as wide steps, as the registers allow."""
    registers, group = target.limits["vector_registers"], _group(spec, target)
    pairs = group == 2 and spec.m > OUTER_PAIRS_FEW
    near = is_near(spec, target)
    side_by_side = near and target.limits["vector_bytes"] < LINE_BYTES
    most_parts = OUTER_PARTS_PAIRS if pairs else OUTER_PARTS
    part = OUTER_PART_NEAR if side_by_side else OUTER_PART
    # A step takes a whole line of a narrow B.
    most_strips = max(OUTER_STRIPS, spec.dtype.itemsize // spec.b_type.itemsize)
    parts, strips = next(
        (parts, strips)
        for parts in range(OUTER_PARTS_NEAR if side_by_side else most_parts, 0, -group)
        for strips in range(most_strips, 0, -1)
        if outer_registers(spec, target, parts, strips) <= registers
    )
    nr = strips * group * sums_of_outer(spec, target).count
    finds_rows = core_of(target).finds_rows
    end_to_end = finds_rows or near
    is_narrow = _outer_sums(spec, target) is OUTER_SUMS_NARROW
    sums = FOUND_SUMS // spec.m if finds_rows else _for_rows(spec, _outer_sums(spec, target))
    if near:
        sums = target.limits["l1_bytes"] // 2 // spec.m
    elif is_narrow and not finds_rows:
        sums = min(sums, -(-spec.n // 2) * spec.accumulate.itemsize)  # A task for a second core.
    columns = sums // spec.accumulate.itemsize
    many = not is_narrow and spec.n > (PAIRED_BLOCKS - 1) * columns
    nc = (paired if end_to_end or many else balanced)(spec.n, columns, nr)
    once = is_near(spec, target, HALF_NEAR)
    return OuterMatmul(
        mr=spec.m,
        nr=nr,
        mc=spec.m,
        kc=parts * part,
        nc=nc,
        pack_a=False,
        pack_b=False,
        parts=parts,
        prefetch=0 if end_to_end else 1 if once else PREFETCH,
        together=max(columns // nc, 1) if end_to_end else 1,
    )


def _outer_sums(spec: Matmul, target: Target) -> Mapping[int, int]:
    if spec.dtype is DType.F32 and target.limits["vector_bytes"] == LINE_BYTES // 2:
        return OUTER_SUMS_NARROW
    return OUTER_SUMS[min(spec.dtype.itemsize, max(OUTER_SUMS))]


def _group(spec: Matmul, target: Target) -> int:
    """Rows of B that are multiplied together."""
    dot = dot_for(spec.dtype, target)
    return dot.group if dot else 1


def stream_matmul(spec: Matmul, target: Target, *, packs_a: bool) -> CpuMatmul:
    """A few rows of B at a time, over as many columns as the second-level cache holds sums."""
    vector = vector_for(target, spec.accumulate, spec.n).count
    dot = dot_for(spec.dtype, target)
    registers = target.limits["vector_registers"] - (dot.extra_registers if dot else 0)

    def rows(vectors: int) -> int:
        return balanced(spec.m, min((registers - 2) // vectors - 1, rows_in_cache(spec)), 1)

    widest = STREAM_VECTORS_FEW if spec.m <= STREAM_FEW else STREAM_VECTORS
    widths = range(1, min(widest, -(-spec.n // vector)) + 1)
    wide, narrow = _for_rows(spec, STREAM_K)
    kc = narrow if spec.b_type.itemsize < 4 else wide
    if spec.dtype is DType.BF16 and spec.m <= WIDENED_FEW and not gains_by_pairs(target):
        kc = min(kc, WIDENED_K)
    if dot is None and widens_halves(spec, target):
        kc = _for_rows(spec, HALVES_K)
        # One vector by all rows is less of a line: 8 x 4160 x 4096 takes 5.4 ms with 8 of K.
        widths = widths[1:] or widths
    if dot and (most := strip_vectors(spec, dot, vector, registers)):
        widths = range(most, most + 1)
        if spec.dtype is DType.S8 and spec.m <= STREAM_A_ROWS:
            kc = _for_rows(spec, LANES_K)
    vectors = max(widths, key=lambda v: (rows(v), v))
    if packs_a and rows(1) == spec.m and walks_panels(spec, target):
        nr = vector * max(v for v in range(1, PANELS_VECTORS + 1) if rows(v) == spec.m)
        nc = paired(spec.n, spec.n, nr)
        return CpuMatmul(mr=spec.m, nr=nr, mc=spec.m, kc=PANELS_K, nc=nc, pack_a=True, pack_b=True)
    mr, nr = rows(vectors), vectors * vector
    mc = rounded_up(spec.m, mr)
    if packs_a or (spec.dtype is DType.S8 and spec.k % kc):
        kc = rounded_up(kc, LINE_BYTES // spec.dtype.itemsize if dot else vector)
    itemsize = spec.accumulate.itemsize
    copies = rounded_up(mc, vector) * kc * itemsize + max(mc, kc) * ROW_PADDING
    room = target.limits["stack_bytes"] - packs_a * copies - mc * SUMS_PADDING
    sums = min(target.limits["l2_bytes"] // 8, room) // (mc * itemsize)
    wide = spec.n >= STREAM_COLUMNS or spec.m > PAIRED_ROWS
    nc = (paired if wide else balanced)(spec.n, min(sums, STREAM_COLUMNS), nr)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)


def packs_stream(spec: Matmul, target: Target) -> bool:
    """A stream of s8 is packed on the way; not on cores that find rows of B by themselves, where
    that is not measured."""
    width = target.limits["vector_bytes"]
    if spec.dtype is not DType.S8 or spec.m < PACKED_ROWS.get(width, spec.m + 1):
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
    copies = (packs_a * mc + nr) * (kc * 4 // dot.group + ROW_PADDING) + mc * SUMS_PADDING
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


def strip_vectors(spec: Matmul, dot: Dot, vector: int, registers: int) -> int:
    """Vectors of a tile of all rows of A whose rows of B are interleaved within lanes; 0 if there
    is none."""
    fits = (
        strips * dot.group
        for strips in range(LANES_STRIPS, 0, -1)
        if registers_needed(spec.m, strips * dot.group) <= registers
        and spec.m <= rows_in_cache(spec)
        and spec.n >= strips * dot.group * vector
    )
    return next(fits, 0)


def gains_by_pairs(target: Target) -> bool:
    """Products of bf16 are faster in pairs than widened to f32."""
    return core_of(target).gains_by_pairs


def paired(extent: int, most: int, unit: int) -> int:
    """As `balanced`, but an even number of blocks, so that two cores have as much to do: 16 x 2048
    x 2048 in f32 takes one core 4 to 10 % longer in two blocks than in one (Golden Cove)."""
    if extent < PAIRED_COLUMNS:
        return balanced(extent, most, unit)
    blocks = -(-extent // max(most // unit * unit, unit))
    return rounded_up(-(-extent // (blocks + blocks % 2)), unit)


def _for_rows(spec: Matmul, table: Mapping[int, T]) -> T:
    return next(found for most, found in table.items() if spec.m <= most)
