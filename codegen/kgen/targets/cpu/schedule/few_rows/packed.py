"""Products of few rows by a large B that comes packed.

Its panels are read from top to bottom, once; what differs is what tiles fetch of them meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.schedule import AheadMatmul, BlockedMatmul, DotMatmul
from kgen.schedule.matmul import PANELS_AHEAD
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.schedule.blocking import Packing, blocks, enough_tasks
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    HALF_NEAR,
    NEAR,
    Place,
    for_rows,
    is_near,
    place_of_b,
    takes_part,
    walks_lines,
)

#: Rows of A from which the panels of an f32 B that comes packed are fetched ahead of a tile of all
#: rows, if it is larger than NEAR: as many as are multiplied by a line while the last-level cache
#: or memory gives the next one. From half of that cache 3 rows take 387 us without and 334 with it
#: (AVX-512) or 585 and 375 (AVX2; 2048 x 2048); from memory 3 x 5120 x 2048 1.2 and 1.6 ms, 4 x
#: 4096 x 4096 2.1 and 2.6, but 8 rows 3.9 and 3.1 (AVX-512). In vectors of half a line 3 rows gain
#: there, too (2.07 and 1.67 ms; Zen 4).
AHEAD_ROWS, AHEAD_ROWS_FAR = 3, 5
#: Vectors of a tile by its rows at most, where a B that stays in the last-level cache is read where
#: the hardware walks rows, and its next lines are fetched to the first-level cache: 2 x 512 x 2048
#: takes 36 us so, 42 by four vectors with none fetched, 1 x 768 x 768 20 and 22, 4 x 768 x 3072 85
#: and 94; to the second-level cache it is slower than none (49 us; Zen 5).
NEXT_VECTORS: Mapping[int, int] = {3: 2, 4: 4}
#: The same of a B of bf16 beside an A of f32, of which memory is the limit sooner. One row takes
#: one panel at a time that the first-level cache holds: 1 x 1536 x 576 takes 51 us from memory, 63
#: by two panels at once with lines fetched ahead, 69 by four with none, but called again and again
#: on one B 27, 18 and 23 us. 1 x 2048 x 2048 takes 257 and 86 us by two, 2 x 1536 x 576 68 and 21
#: (63 and 27 by four); 4 rows gain nothing.
PAIRS_VECTORS, PAIRS_ROWS = 2, 3
#: The part of the second-level cache that such a B has at least.
PAIRS_LEAST = 1 / 4
#: Bytes ahead that tiles fetch of such a B, by what is multiplied, the bytes of a vector and rows
#: of A at most: called again and again on one B it makes no difference, on several in turn, which
#: no cache keeps, 8 x 2304 x 768 takes 216 us so, 244 with none fetched, 12 x 2048 x 2048 502 and
#: 703; in bf16 8 rows gain a quarter, in s8 0.3, on AVX2 6 rows 0.6. More for more rows, of which
#: each line lasts longer, but 4 KiB cost 1 row a tenth. Two tiles of rows or more gain nothing in
#: f32, as the second finds what the first has read (Zen 5).
NEXT_BYTES: Mapping[tuple[DType, int], Mapping[int, int]] = {
    (DType.F32, 32): {1: 1024, 3: 2048, 6: 4096},
    (DType.F32, 64): {9: 2048, 14: 4096},
    (DType.BF16, 64): {2: 0, 128: 2048},
    (DType.S8, 64): {2: 0, 6: 1024, 128: 2048},
    (DType.S8, 32): {2: 0, 64: 2048},
}
#: Second-level caches that such a B takes at least: two cores, of which each has some of a smaller
#: one there, lose by it (2 x 768 x 768 takes two threads 11 us without it, 12.5 with it).
NEXT_LEAST = 3
#: From so many rows on as many first-level caches are enough: 6 x 384 x 384 takes 22 us so, 24 with
#: none fetched, 8 x 384 x 384 in bf16 13 and 18, in s8 8 and 11, 32 x 768 x 768 in bf16 108 and 114
#: (on several B in turn; again and again on one it makes no difference, but costs 3 rows a tenth).
NEXT_ROWS = 5
#: Rows for which tiles fetch into the first-level cache, from a B that takes more than half of the
#: last-level one, where the hardware walks rows (Zen 5): in f32 5 x 5120 x 2048 takes 720 us so,
#: 885 into the second-level cache, 16 x 5120 x 2048 1.9 and 2.2 ms with none, 64 x 5120 x 2048 5.46
#: and 5.67; in bf16 8 x 4096 x 4096 633 and 801 us, 64 rows 4.56 and 4.64 ms; in s8 5 x 8192 x 4096
#: 530 and 731 us; on AVX2 3 x 4096 x 4096 1.37 ms, 1.51 into the second-level cache.
WALKED_ROWS = {
    (DType.F32, 32): range(2, 4),
    (DType.F32, 64): range(4, 65),
    (DType.BF16, 64): range(3, 65),
    (DType.S8, 64): range(3, 65),
}

#: Multiply-adds, and bytes of a panel in parts of the first-level cache, from which and up to which
#: tiles fetch a B into the second-level cache that is no larger than that, where the hardware walks
#: rows: each line that a tile of a panel reads is multiplied so often at least. On several B in
#: turn, which no cache keeps, 6 x 384 x 384 takes 21 us so on AVX2, 46 with none fetched, 32 rows
#: 87 and 113, 128 rows 305 and 328, 6 x 768 x 768 73 and 175; on AVX-512 8 x 384 x 384 22 and 27,
#: 12 x 768 x 768 77 and 109; again and again on one B there is a hundredth between them. In bf16 on
#: AVX2, of which a line has four vectors, 2 x 384 x 384 takes 11 us so and 21 with none, 6 x 768 x
#: 3072 287 and 636. Fewer multiply-adds lose by it (2 x 384 x 384 takes 6.9 us instead of 5.1 on
#: AVX2, 4 rows 5.8 instead of 4.9 on AVX-512), longer panels gain nothing (196 x 256 x 1024,
#: AVX-512; Zen 5).
LINE_MULTIPLIES, PANEL_PART = 8, 2
#: Enough where several tiles of rows use a line: 24 x 384 x 384 takes 36 us so, 44 with none, in
#: tiles of 6 rows and four vectors (AVX-512, Zen 5).
LINE_MULTIPLIES_AGAIN = 6


def level_ahead(spec: Matmul, target: Target, schedule: BlockedMatmul) -> int:
    """The cache into which tiles fetch the panels of a B that comes packed, ahead of what they
    read; 0 if they fetch none. A tile of all rows does where memory or the last-level cache is slow
    to follow, but on cores that find panels by themselves, where that is not measured."""
    if not spec.constant or spec.dtype is not spec.b_type:
        return 0
    width = target.limits["vector_bytes"]
    if fetches_small(spec, target, schedule):
        return 2
    if next_bytes(spec, target):
        return 1
    if core_of(target).walks_rows and spec.m in WALKED_ROWS.get((spec.dtype, width), ()):
        return 0 if takes_part(spec, target, HALF_NEAR) else 1
    place, is_plain = place_of_b(spec, target), spec.dtype is DType.F32 and 2 * width >= LINE_BYTES
    if not is_plain or place in (Place.FOUND, Place.NEAR) or schedule.mc > schedule.mr:
        return 0
    if place is Place.HALF_NEAR and walks_lines(target):
        return 0
    is_far = width == LINE_BYTES and place is Place.FAR
    return 2 if spec.m >= (AHEAD_ROWS_FAR if is_far else AHEAD_ROWS) else 0


def bytes_ahead(spec: Matmul, target: Target) -> int:
    """How far, where they do."""
    return next_bytes(spec, target) or PANELS_AHEAD


def next_bytes(spec: Matmul, target: Target) -> int:
    """The same of a B that comes packed and may stay in the last-level cache; 0 for one that does
    not, or that two cores hold in theirs."""
    if not spec.constant or spec.dtype is not spec.b_type or not core_of(target).walks_rows:
        return 0
    nbytes = spec.k * spec.n * spec.b_type.itemsize
    # 1 x 2048 x 2048, which is half of that cache, takes 158 us so and 137 with none fetched.
    part = NEAR if spec.m == 1 else HALF_NEAR
    least = "l1_bytes" if spec.m >= NEXT_ROWS else "l2_bytes"
    if nbytes < NEXT_LEAST * target.limits[least] or not takes_part(spec, target, part):
        return 0
    ahead = NEXT_BYTES.get((spec.dtype, target.limits["vector_bytes"]), {})
    return for_rows(spec, ahead) if spec.m <= max(ahead, default=0) else 0


def fetches_small(spec: Matmul, target: Target, schedule: BlockedMatmul) -> bool:
    """Such a B is smaller than that, and leaves time to fetch it. In more than one tile of rows
    those of a larger one share what they fetch, but not of pairs of bf16."""
    is_plain = spec.dtype in (DType.F32, DType.BF16) and not isinstance(schedule, DotMatmul)
    if not is_plain or not core_of(target).walks_rows:
        return False
    limits, itemsize = target.limits, spec.b_type.itemsize
    nbytes, panel = spec.k * spec.n * itemsize, schedule.nr * min(schedule.kc, spec.k) * itemsize
    once = min(spec.m, schedule.mc) <= schedule.mr
    fits = nbytes <= (NEXT_LEAST if once else 1) * limits["l2_bytes"]
    if spec.dtype is DType.BF16:
        fits = takes_part(spec, target, HALF_NEAR)
    vectors = LINE_BYTES // itemsize / (limits["vector_bytes"] // spec.accumulate.itemsize)
    often = schedule.mr * vectors >= (LINE_MULTIPLIES if once else LINE_MULTIPLIES_AGAIN)
    return (
        often and panel <= PANEL_PART * limits["l1_bytes"] and limits["l1_bytes"] < nbytes and fits
    )


def reads_next_lines(spec: Matmul, target: Target) -> bool:
    """One tile has all rows of A and a few vectors, and fetches what it reads next."""
    if spec.dtype is not DType.F32 or not spec.constant or not walks_lines(target):
        return False
    if spec.b_type is DType.BF16:
        nbytes = spec.k * spec.n * spec.b_type.itemsize
        return spec.m <= PAIRS_ROWS and nbytes >= PAIRS_LEAST * target.limits["l2_bytes"]
    few = spec.m <= max(NEXT_VECTORS)
    return few and bool(next_bytes(spec, target)) and is_near(spec, target)


def next_vectors(spec: Matmul, target: Target) -> int:
    """How many that tile has."""
    if spec.b_type is not DType.BF16:
        return for_rows(spec, NEXT_VECTORS)
    panel = spec.k * spec.b_type.itemsize * vector_for(target, spec.accumulate, spec.n).count
    return 1 if spec.m == 1 and panel <= target.limits["l1_bytes"] else PAIRS_VECTORS


def next_lines_matmul(spec: Matmul, target: Target) -> AheadMatmul:
    """A tile of all rows, along all of K."""
    vector = vector_for(target, spec.accumulate, spec.n).count
    packing = Packing(a=False, b=False, itemsize=spec.accumulate.itemsize)
    whole = blocks(spec, target, spec.m, next_vectors(spec, target) * vector, packing)
    tasks = enough_tasks(spec, whole, spec.m)
    return AheadMatmul(
        mr=spec.m,
        nr=tasks.nr,
        mc=spec.m,
        kc=spec.k,
        nc=tasks.nc,
        pack_a=False,
        pack_b=False,
        ahead=bytes_ahead(spec, target),
        level=1,
    )
