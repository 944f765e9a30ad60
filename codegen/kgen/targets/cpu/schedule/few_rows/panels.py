"""The schedule of products of several rows, but few, whose B comes from the last-level cache.

Panels of B are multiplied from top to bottom, each fetched while the one before it is multiplied.

So few rows hide a line of B behind few multiply-adds, but still behind enough: with all of a panel
on its way in time they are bound by arithmetic.
"""

from __future__ import annotations

import dataclasses

from kgen.schedule import AheadMatmul, CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import may_sum_in_out
from kgen.targets.cpu.schedule.block_sizes import (
    balanced,
    lines_in_cache,
    paired,
    rounded_up,
    rows_in_cache,
)
from kgen.targets.cpu.schedule.blocking import PACK_UNIT
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    HALF_NEAR,
    PAGE,
    STREAM_A_ROWS,
    STREAM_ROWS,
    WALKED_NEAR,
    is_large,
    is_near,
    walks_lines,
)
from kgen.targets.cpu.schedule.few_rows.slices import in_slices, slices_of
from kgen.targets.cpu.schedule.few_rows.walked import walks_stream

#: The part of the first-level cache that a panel of B may take.
PANEL_SHARE = 0.75
#: K of a block, at most, where B is multiplied in place: 16 x 2048 x 2048 takes 1.33 ms, with 64 of
#: K 1.57, with 256 as long (3 vectors of AVX-512, Zen 4); rows a power of two apart leave few sets
#: of the second-level cache for more. Packed ones are fetched there: 31 x 4096 x 1024 takes 3.3 ms
#: with 192 on AVX2, 3.0 with 128.
PANEL_K = 128
#: The same where the hardware walks rows by itself, if panels of three vectors have room: 16 x 2048
#: x 2048 takes 497 us so, 574 by four vectors and 128 of K, 31 x 4096 x 1024 1.01 and 1.16 ms. All
#: of K is one block for a tile of all rows: 8 x 2304 x 768 takes 106 us, 121 by 256 of K, 140 by
#: two tiles of 128 (AVX-512, Zen 5).
WALKED_K, WALKED_VECTORS = 256, 3
#: Rows of B that have room in a first-level cache, fewer than which push each other out; panels of
#: a tile of all rows have so much K then, which leaves room for the next one in the second-level
#: cache, and rows of a page are read whole: 6 x 1024 x 1024 takes 61 us, 81 by all of K and 68 by
#: 128 of it in two halves of the columns, 8 x 1024 x 2048 148 and 184, 9 x 3072 x 1024 242 us, 331
#: by 128 of K (AVX-512, Zen 5).
MEETING_ROWS, MEETING_K = 32, 64
#: The part of the second-level cache that a smaller B has at least, and rows of A, for which it is
#: taken by such panels, too; K of a block, at most, of several tiles, which fetch the next panel of
#: it. Called again and again on one B, 32 x 384 x 384 takes 38 us so and 39 in tiles of 5 rows, all
#: of K and in place, and 46 and 65 from memory (AVX-512, Zen 5).
SMALL_LEAST, SMALL_ROWS, SMALL_K = 1 / 5, 7, 192
#: Lines of a panel of B, in its next rows, that a tile of all rows fetches ahead of: from memory 8
#: x 2304 x 768 takes 225 us so, 354 by 8 rows, 12 x 768 x 3072 330 and 682, and both 110 and 217 us
#: called again and again on one B, as what has been fetched waits in the second-level cache. Rows
#: that meet in a set of the first-level cache are taken along all of K, too: 8 x 3072 x 768 156 and
#: 328 us, 179 and 574 by 64 of K. Only rows that share lines are fetched into the first (8 x 1000 x
#: 1500: 94 and 184 us, 109 and 194 into the second; AVX-512, Zen 5).
LINES_AHEAD = 144
#: Lines of the second-level cache for addresses that meet in one of its sets.
L2_WAYS = 16
#: The part of the stack that packed rows of A may take.
STACK_SHARE = 7 / 8
#: Rows for which panels pay where B leaves more than half of the last-level cache, two tiles of
#: three vectors: 16 x 3072 x 2048 takes 840 us so, 960 as a stream, but 16 x 4096 x 4096 2.9 ms and
#: 2.6 (AVX-512, Zen 5).
FAR_ROWS = range(16, 19)
#: Tiles above each other from which on panels of a single line pay for being packed, each by its
#: first tile, and fetched by those of the one before it: 31 x 4096 x 1024 takes 3.0 ms on AVX2 so,
#: 3.4 if fetched as it is packed, 4.2 in place, but 16 x 2048 x 2048 1.6 and 1.4 in place (Zen 4).
PACKED_TILES = 4
#: Columns of a task, at most, whose B comes packed: the last panel of one is not fetched ahead, and
#: 31 x 4096 x 1024 takes 2.45 ms with 96, 2.28 with 528 to 4096 (AVX-512, Zen 4).
PACKED_COLUMNS = 1056
#: Multiply-adds up to which columns are cut into four tasks, if those are even: of two, a thread
#: that is held up delays both. 12 x 768 x 3072 takes two threads 310 us so, 343 in two tasks, 32 x
#: 512 x 2048 343 and 355, 8 x 2304 x 768 153 and 162 (AVX-512; AVX2: 433 and 467, 437 and 446, 245
#: and 260), one thread as long either way; 16 x 2048 x 2048 and 16 x 1024 x 4096 gain none (Zen 4).
QUARTERED_WORK = 1 << 25


def uses_panels(spec: Matmul, target: Target) -> bool:
    """Where B stays in the last-level cache, on cores that do not follow its rows by themselves;
    of a larger one, from memory, rows are read whole: 8 x 4096 x 4096 takes 2.8 ms so, 4.1 by
    panels (Zen 4). A single tile in panels of a single line is not as fast (6 x 1024 x 1024: 168
    us, 150 as a stream; AVX2, Zen 4), nor are several where the hardware walks rows (16 x 2048 x
    2048: 1.5 ms, 1.08 as a stream; AVX2, Zen 5)."""
    few = STREAM_A_ROWS < spec.m <= STREAM_ROWS
    few &= is_large(spec, target) or is_small(spec, target)
    lines = 2 * target.limits["vector_bytes"] >= LINE_BYTES
    near = is_near(spec, target, HALF_NEAR)
    if walks_lines(target) and not spec.constant:
        if spec.m in FAR_ROWS:
            near = is_near(spec, target, WALKED_NEAR)
        elif rows_meet(spec, target):
            near = is_near(spec, target)
    if not (few and lines and spec.dtype is spec.b_type is DType.F32 and near):
        return False
    if spec.layout.a_transposed or (spec.layout.b_transposed and not spec.constant):
        return False
    if spec.constant:
        return True
    if walks_stream(spec, target) and not walks_lines(target):
        return False
    _, vectors = _tile(spec, target)
    single_line = vectors * target.limits["vector_bytes"] <= LINE_BYTES
    one_tile = spec.m <= _rows_most(target, vectors)
    return may_sum_in_out(spec) and not (single_line and one_tile)


def is_small(spec: Matmul, target: Target) -> bool:
    """Where the hardware walks rows, B is taken by the same panels if it stays in the second-level
    cache, which finds it in memory at first."""
    nbytes = spec.k * spec.n * spec.b_type.itemsize
    fits = SMALL_LEAST * target.limits["l2_bytes"] <= nbytes and not is_large(spec, target)
    return fits and spec.m >= SMALL_ROWS and walks_lines(target) and not spec.constant


def panels_matmul(spec: Matmul, target: Target) -> CpuMatmul:
    """In two or four tasks of columns, or more where B comes packed; then in blocks of K so short
    that the second-level cache has room for the next panel, too: 12 x 768 x 3072 takes 512 us in
    one, 501 in two, 16 x 1024 x 4096 as long while the machine is quiet, else 1.55 ms in one and
    1.32 in two (AVX-512, Zen 4)."""
    mr, vectors = (_walked_tile if walks_lines(target) else _tile)(spec, target)
    is_ahead = reads_ahead(spec, target, mr, vectors)
    nr = vectors * vector_for(target, spec.accumulate, spec.n).count
    mc = rounded_up(spec.m, mr)
    if rows_meet(spec, target) and not is_ahead:
        kc, nc = min(MEETING_K, spec.k), _meeting_columns(spec, target, nr)
        way = CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=True, pack_b=False)
        return in_slices(spec, way)
    if walks_lines(target):
        kc, nc = _walked_k(spec, target, mr), _task_columns(spec, target, nr)
        packs_a = not spec.constant and not is_small(spec, target)
        way = CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)
        return _fetching_rows(spec, way, vectors) if is_ahead else way
    if spec.constant:
        nc = paired(spec.n, PACKED_COLUMNS, nr)
        kc = spec.k
        if mc > mr and may_sum_in_out(spec):
            two = 2 * nr * spec.b_type.itemsize
            kc = balanced(spec.k, target.limits["l2_bytes"] // two, PACK_UNIT)
        return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=min(kc, spec.k), nc=nc, pack_a=False, pack_b=False)
    row = nr * spec.accumulate.itemsize
    most = int(PANEL_SHARE * target.limits["l1_bytes"]) // row
    kc = balanced(spec.k, min(most, PANEL_K), PACK_UNIT)
    nc = _task_columns(spec, target, nr)
    packs = row <= LINE_BYTES and mc >= PACKED_TILES * mr
    kind = AheadMatmul if packs else CpuMatmul
    return kind(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=True, pack_b=packs)


def reads_panels_ahead(spec: Matmul, target: Target) -> bool:
    """Such panels of a B in place, by a tile that fetches rows of them far ahead."""
    if not walks_lines(target) or not uses_panels(spec, target):
        return False
    return reads_ahead(spec, target, *_walked_tile(spec, target))


def reads_ahead(spec: Matmul, target: Target, mr: int, vectors: int) -> bool:
    """A tile has all rows of A and takes all of K, far ahead of which it fetches rows of B that
    have room in the second-level cache, but not those of a page that is cut along K."""
    if spec.constant or not walks_lines(target) or _walked_k(spec, target, mr) < spec.k:
        return False
    if rows_meet(spec, target) and spec.n <= PAGE and slices_of(spec, MEETING_K) > 1:
        return False
    row, way_bytes = spec.b_strides[1] * spec.b_type.itemsize, target.limits["l2_bytes"] // L2_WAYS
    return spec.m <= mr and _rows_ahead(vectors) <= lines_in_cache(row, L2_WAYS, way_bytes)


def _rows_ahead(vectors: int) -> int:
    return -(-LINES_AHEAD // vectors)


def _fetching_rows(spec: Matmul, way: CpuMatmul, vectors: int) -> AheadMatmul:
    row = spec.b_strides[1] * spec.b_type.itemsize
    fields = {field.name: getattr(way, field.name) for field in dataclasses.fields(way)}
    level = 1 if row % LINE_BYTES else 2
    return AheadMatmul(**fields, ahead=_rows_ahead(vectors) * row, level=level)


def rows_meet(spec: Matmul, target: Target) -> bool:
    """A tile has all rows of A, and rows of B meet in a cache set, where the hardware walks them by
    itself."""
    if spec.constant or not walks_lines(target) or spec.m > _walked_tile(spec, target)[0]:
        return False
    return lines_in_cache(spec.b_strides[1] * spec.b_type.itemsize) < MEETING_ROWS


def _meeting_columns(spec: Matmul, target: Target, nr: int) -> int:
    """A page, which is cut along K, or half of longer rows."""
    if spec.n > PAGE:
        return paired(spec.n, spec.n, nr)
    is_cut = slices_of(spec, MEETING_K) > 1
    return rounded_up(spec.n, nr) if is_cut else _task_columns(spec, target, nr)


def _walked_k(spec: Matmul, target: Target, mr: int) -> int:
    """All of K, unless several tiles share a panel, or there is no room for packed rows of A."""
    if spec.m > mr and may_sum_in_out(spec):
        most = SMALL_K if is_small(spec, target) else WALKED_K
        return balanced(spec.k, most, PACK_UNIT)
    if spec.constant:
        return spec.k
    room = int(STACK_SHARE * target.limits["stack_bytes"])
    most = room // (rounded_up(spec.m, mr) * spec.accumulate.itemsize)
    return spec.k if spec.k <= most else balanced(spec.k, most, PACK_UNIT)


def _task_columns(spec: Matmul, target: Target, nr: int) -> int:
    """Half of them, or a quarter of a short product's."""
    if is_small(spec, target):
        return rounded_up(-(-spec.n // 2), nr)
    half, quarter = paired(spec.n, spec.n, nr), rounded_up(-(-spec.n // 4), nr)
    is_short = half < spec.n and spec.m * spec.n * spec.k <= QUARTERED_WORK
    return quarter if is_short and 2 * quarter <= core_of(target).grid.even * spec.n else half


def _tile(spec: Matmul, target: Target) -> tuple[int, int]:
    """Rows and vectors: the widest tile if it has all rows, else one whose panel stays in the
    first-level cache for the next tile. Of a B in place there are two of those at least, which
    share the fetching of the next panel: 8 x 2304 x 768 takes 258 us in two tiles of 4 rows, 286
    to 303 in one (AVX-512, Zen 4)."""
    width = target.limits["vector_bytes"]
    room = PANEL_SHARE * target.limits["l1_bytes"]
    widest = _widest(spec, target)

    def rows(vectors: int) -> int:
        most = _rows_most(target, vectors)
        if spec.constant:
            most = min(most, rows_in_cache(spec))
        elif vectors < widest:
            most = min(most, -(-spec.m // 2))
        return balanced(spec.m, most, 1)

    def fits(vectors: int) -> bool:
        return rows(vectors) == spec.m or vectors == 1 or PANEL_K * vectors * width <= room

    fitting = [vectors for vectors in range(widest, 0, -1) if fits(vectors)]
    even = () if spec.constant else (v for v in fitting if _has_even_halves(spec, target, v))
    vectors = next((v for v in even if v > 1), fitting[0])
    return rows(vectors), vectors


def _walked_tile(spec: Matmul, target: Target) -> tuple[int, int]:
    """Rows and vectors where the hardware walks rows by itself: all rows by as many vectors as the
    registers allow, two at least, else what has panels of WALKED_VECTORS at most (12 x 768 x 3072
    takes 209 us in one tile of two vectors, 226 in two of three; AVX-512, Zen 5)."""

    def rows(vectors: int) -> int:
        return balanced(spec.m, _rows_most(target, vectors), 1)

    widths = range(_widest(spec, target), 0, -1)
    whole = [vectors for vectors in widths if vectors > 1 and rows(vectors) == spec.m]
    found = whole + [v for v in widths if v <= WALKED_VECTORS and v not in whole]
    even = (v for v in found if v > 1 and _has_even_halves(spec, target, v))
    vectors = next(even, found[0])
    return rows(vectors), vectors


def _widest(spec: Matmul, target: Target) -> int:
    """Vectors of the widest tile."""
    available = -(-spec.n // vector_for(target, spec.accumulate, spec.n).count)
    return min(target.limits["vector_registers"] // 8, available)


def _has_even_halves(spec: Matmul, target: Target, vectors: int) -> bool:
    """Two cores have as much to do with panels of so many vectors: 32 x 512 x 2048 takes two
    threads 333 us in 6 and 5 panels of three vectors, 306 in 8 and 8 of two, and one thread 591 and
    589 (AVX-512, Zen 4). Not asked of prepacked ones, where that was not measured."""
    nr = vectors * vector_for(target, spec.accumulate, spec.n).count
    return paired(spec.n, spec.n, nr) <= core_of(target).grid.even * spec.n


def _rows_most(target: Target, vectors: int) -> int:
    """Rows that the registers hold the sums of."""
    return (target.limits["vector_registers"] - 2) // vectors - 1
