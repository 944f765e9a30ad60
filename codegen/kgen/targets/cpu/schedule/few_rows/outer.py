"""The schedule of outer products: a few rows of B at once pass by all rows of A.

For 1 to 4 rows of A, whose sums stay in the first-level cache while B is read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto

from kgen.schedule import OuterMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.gemv_strips import RowsOfB, Taken, rows_of_b
from kgen.targets.cpu.schedule.block_sizes import CACHE_WAY_BYTES, balanced, paired
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    WALKED_NEAR,
    Place,
    for_rows,
    gains_by_pairs,
    is_near,
    place_of_b,
    streams,
    takes_blocks,
)
from kgen_runtime.values import frozen


class Rows(Enum):
    """What vectors of rows of B are (`Taken`): elements, a line of B or less, groups or words."""

    LINES = auto()
    HALVES = auto()
    GROUPS = auto()
    WORDS = auto()


@frozen
class Walk:
    """How rows of B are read: `parts` at once at most, by rows of A, each with another `part` of
    rows (1: side by side), in steps of so many `strips` at most; so many rows behind the current
    ones are fetched, `apart` rows from one to the next. `sums`: bytes of a row of sums, at most, if
    fewer than there is room for."""

    parts: Mapping[int, int] = field(default_factory=lambda: {4: 4})
    part: int = 64
    strips: int = 2
    prefetch: int = 0
    apart: int = 1
    sums: int = 0


def _pairs(prefetch: int = 0) -> Walk:
    return Walk(parts={2: 4, 4: 8}, part=128, prefetch=prefetch)


def _words(prefetch: int = 0) -> Walk:
    return Walk(parts={4: 2}, part=256, prefetch=prefetch)


#: By what a row of B is made of and where it lies, on Zen 4 but for `FOUND` (Golden Cove).
#:
#: Four streams are followed best, far enough apart: on cores that do not find rows by themselves,
#: 128 rows of groups, or of vectors of half a line (1 and 4 rows by 4096 x 4096 of bf16 with
#: AVX-512 take 894 and 1356 us, 1124 and 1425 by 64 in the same blocks, of f32 on AVX2 4 rows 2.15
#: ms and 2.37; but of f32 with AVX-512 1 row 2.07 ms and 1.87). Pairs for more than two rows of A,
#: where sums take as long, take eight rows at once.
#:
#: Near rows in vectors of half a line, of which there are twice as many, are read side by side (1 x
#: 2304 x 768 in f32 on AVX2 takes 88 us, by four 64 rows apart 106, by eight 102).
#:
#: Rows that are fetched come twice where B is far, as prefetches are lost where many are on their
#: way (4 rows by 4096 x 4096 in f32: 28 GB/s instead of 24); of half a line, each half a step of
#: its own, so that both ask for the next lines (1 row by 4096 x 4096 in f32 on AVX2 takes 2.2 ms,
#: 2.4 in steps of a line, 2 rows 2.2 and 2.6).
#:
#: Two rows of words far apart (1 x 768 x 3072 takes 82 us, 115 side by side; 1 x 4096 x 4096 0.87
#: of the time by four; AVX2).
WALKS: Mapping[Rows, Mapping[Place, Walk]] = {
    Rows.LINES: {
        Place.FOUND: Walk(),
        Place.NEAR: Walk(),
        Place.HALF_NEAR: Walk(prefetch=1),
        Place.FAR: Walk(prefetch=2),
    },
    Rows.HALVES: {
        Place.FOUND: Walk(),
        Place.NEAR: Walk(parts={4: 8}, part=1),
        Place.HALF_NEAR: Walk(part=128, prefetch=1),
        Place.FAR: Walk(part=128, prefetch=2, strips=1),
    },
    Rows.GROUPS: {
        Place.FOUND: Walk(parts={2: 4, 4: 8}),
        Place.NEAR: _pairs(),
        Place.HALF_NEAR: _pairs(prefetch=1),
        Place.FAR: _pairs(prefetch=2),
    },
    Rows.WORDS: {
        Place.FOUND: _words(),
        Place.NEAR: _words(),
        Place.HALF_NEAR: _words(prefetch=2),
        Place.FAR: _words(prefetch=2),
    },
}
#: One row of B at once, a page's width of it, which is slow enough for prefetches not to be lost:
#: each page is asked for from end to end.
PAGES = Walk(parts={4: 1}, strips=1, prefetch=2, apart=6, sums=4096)
#: The same of bf16 from memory, one row of words or two far apart, and pairs: 1, 2 and 3 x 4096 x
#: 4096 take 544, 597 and 793 us by words, 851, 799 and 1005 with none or the next two rows fetched
#: (AVX2); 3 x 4096 x 4096 takes 613 us by pairs, 798 widened by tiles, 2 x 5120 x 5120 1.70 ms and
#: 2.33, 4 rows 1.28 and 1.58 (AVX-512, Zen 5).
ONE_WORD = Walk(parts={4: 1}, strips=1, prefetch=1, apart=8, sums=16384)
FEW_WORDS = Walk(parts={4: 2}, part=256, prefetch=1, apart=4, sums=8192)
FEW_PAIRS = Walk(parts={4: 2}, part=256, strips=1, prefetch=1, apart=4, sums=8192)
#: The same on cores that walk rows by themselves, by rows of A at most: a B that is fetched besides
#: comes later (Zen 5; of AVX-512 unless said).
#:
#: Near: 2 x 2304 x 768 takes 62 us by two rows of B, 70 by four; on AVX2 1 row 61 us by one, 82 by
#: eight side by side (1 x 768 x 3072 80 us in steps of two lines, 95 of one), 2 rows 61 us by four
#: far apart in passes of 1152 columns, 71 of 2304, 75 by six, and 3 rows 101 us by two, 180 by
#: tiles (3 x 2048 x 2048: 232 us, 538 by tiles).
#:
#: From memory 2 x 4096 x 4096 takes 1.6 ms, 2.3 with what is fetched besides, and 2.6 by pages; but
#: 4 rows by pages 1.60 ms, 2.30 by four rows of B unfetched, 3 x 5120 x 2048 0.98 and 1.48; of four
#: Bs in turn, which no cache keeps, 1.70 and 2.52, 1.18 and 1.66. On AVX2 2 x 4096 x 4096 takes
#: 1.41 ms by pages and 1.79, 3 rows 1.72 and 1.89, but 4 rows 1.9 and 1.5.
WALKED: Mapping[tuple[Rows, Place], Mapping[int, Walk]] = {
    (Rows.LINES, Place.NEAR): {1: Walk(), 2: Walk(parts={4: 2}), 4: Walk()},
    (Rows.LINES, Place.HALF_NEAR): {4: Walk()},
    (Rows.LINES, Place.FAR): {2: Walk(), 4: PAGES},
    (Rows.HALVES, Place.NEAR): {
        1: Walk(parts={4: 1}, strips=4),
        2: Walk(sums=8192),
        4: Walk(parts={4: 2}),
    },
    (Rows.HALVES, Place.HALF_NEAR): {
        2: Walk(),
        3: Walk(parts={4: 2}),
        4: Walk(parts={4: 2}, prefetch=1, apart=2, sums=4096),
    },
    (Rows.HALVES, Place.FAR): {1: Walk(), 3: PAGES},
    (Rows.GROUPS, Place.HALF_NEAR): {1: _pairs()},
    (Rows.GROUPS, Place.FAR): {1: _pairs(), 4: FEW_PAIRS},
    (Rows.WORDS, Place.HALF_NEAR): {1: ONE_WORD, 3: FEW_WORDS},
    (Rows.WORDS, Place.FAR): {1: ONE_WORD, 3: FEW_WORDS},
}
#: Up to so many rows of A by words, as more keep what is multiplied of A for too few rows of B (3 x
#: 4096 x 4096 takes 1.38 ms, 1.58 by tiles, but 4 x 2304 x 768 200 us and 157; AVX2, Zen 4).
WORDS_ROWS = 3
#: Up to so many rows of A by groups, where pairs gain nothing over f32.
PAIRS_ROWS = 2
#: Bytes of a row of sums, by rows of A at most: with what passes of B they have room in the eight
#: ways of the first-level cache (1 row by 4096 x 4096 in f32: 32 GB/s, 26 with twice as many). More
#: rows of A are multiplied by tiles. Vectors of half a line take longer for the rows of B than the
#: sums do: 2 rows by 4096 x 4096 on AVX2 take 2.23 ms with blocks of 2048 columns, 2.40 with 1024.
#: Words pass by the sums in half as many steps: 2 rows by 4096 x 4096 take 0.96 ms with blocks of
#: 2048 columns, 1.03 with 1056 (Zen 4).
SUMS: Mapping[Rows, Mapping[int, int]] = {
    Rows.LINES: {1: 4096, 4: 3072},
    Rows.HALVES: {2: 10240, 4: 4096},
    Rows.GROUPS: {1: 8192, 4: 4096},
    Rows.WORDS: {2: 8192, 4: 4096},
}
#: Of bytes, of which more than one row of A is multiplied by tiles.
SUMS_OF_BYTES = {1: 8192}
#: Those whose columns are two tasks at least, and as few as there is room for: 1 x 5120 x 5120 in
#: two of 2560 takes two threads 3.03 ms, 3.40 in three (AVX2); 3 rows by 4096 x 4096 of words 1.34
#: with 1376, which are three tasks for two threads, 1.38 with 1024 (AVX2, Zen 4).
HALVED = (Rows.HALVES, Rows.WORDS)
#: Bytes of the sums of all rows on cores that find rows of B by themselves, which are best read
#: from end to end (1 x 4096 x 4096 in s8: 566 us, 720 in two blocks of columns; Golden Cove). Two
#: thirds of its first-level cache: 4 x 2048 x 2048 in f32 takes 588 us, with 18432 bytes 665.
FOUND_SUMS = 32768
#: From so many blocks on, in vectors of a line, their number is even: 3 x 5120 x 2048 takes two
#: threads 643 us in eight, 730 in seven, 1 x 5120 x 2048 829 in six, 1001 in five, and 4 x 2304 x
#: 2304 245 in four, 341 in three (one thread 469 and 530). Rows of sums that are half a cache way
#: apart are moved out of step: 4 x 2048 x 2048 takes one thread 346 us in four blocks of 544, 453
#: of 512, and 323 in three; two threads 190, 245 and 215 (Zen 4).
PAIRED_BLOCKS = 3


def is_outer(spec: Matmul, target: Target) -> bool:
    """A few rows of B at once pass by all rows of A; pairs of bf16 do so for two rows where they
    gain nothing over f32 (4 x 4096 x 4096: 2.2 ms, widened by tiles 1.55 ms; Golden Cove). Words
    of bf16 do on cores that do not find rows by themselves, where alone that is measured."""
    rows = rows_of_b(spec, target)
    if not (rows and fits_outer(spec, target) and streams(spec, target)):
        return False
    if rows.taken is Taken.WORDS:
        return spec.m <= WORDS_ROWS and not core_of(target).finds_rows
    if takes_blocks(spec, target):
        return False
    pairs = rows.taken is Taken.GROUPS and spec.dtype is DType.BF16
    return not pairs or spec.m <= PAIRS_ROWS or gains_by_pairs(target)


def fits_outer(spec: Matmul, target: Target) -> bool:
    """There is such a kernel: what is multiplied of A, and the sums, have room."""
    rows = rows_of_b(spec, target)
    if rows is None or spec.m > max(_sums(spec, _made_of(rows, target))):
        return False
    return rows.registers(spec.m, rows.group, 1) <= target.limits["vector_registers"]


def outer_matmul(spec: Matmul, target: Target) -> OuterMatmul:
    """As many rows of B at once, and as wide steps, as the registers allow."""
    rows = rows_of_b(spec, target)
    assert rows
    made_of = _made_of(rows, target)
    walk, place = _walk(spec, target, made_of)
    # A step takes a whole line of a narrow B.
    most_strips = max(walk.strips, spec.dtype.itemsize // spec.b_type.itemsize)
    parts, strips = next(
        (parts, strips)
        for parts in range(for_rows(spec, walk.parts), 0, -rows.group)
        for strips in range(most_strips, 0, -1)
        if rows.registers(spec.m, parts, strips) <= target.limits["vector_registers"]
    )
    nr = strips * rows.strip
    nc, together = _columns(spec, target, made_of, place, nr, walk)
    return OuterMatmul(
        mr=spec.m,
        nr=nr,
        mc=spec.m,
        kc=parts * walk.part,
        nc=nc,
        pack_a=False,
        pack_b=False,
        parts=parts,
        prefetch=walk.prefetch,
        apart=walk.apart,
        together=together,
    )


def _walk(spec: Matmul, target: Target, made_of: Rows) -> tuple[Walk, Place]:
    """How rows of B are read, and from where as far as passes over them go."""
    place = place_of_b(spec, target)
    if core_of(target).walks_rows:
        stays = spec.dtype is spec.b_type is DType.F32 and is_near(spec, target, WALKED_NEAR)
        if place is Place.FAR and stays:
            place = Place.HALF_NEAR
        walked = WALKED.get((made_of, place), {})
        if walk := next((walk for most, walk in walked.items() if spec.m <= most), None):
            return walk, Place.NEAR if place is Place.NEAR else Place.FOUND
    return WALKS[made_of][place], place


def _columns(
    spec: Matmul, target: Target, made_of: Rows, place: Place, nr: int, walk: Walk
) -> tuple[int, int]:
    """Columns of a task, and how many tasks are one pass: rows that are not fetched are read from
    end to end, others as far as their sums have room."""
    itemsize = spec.accumulate.itemsize
    if place in (Place.FOUND, Place.NEAR):
        room = FOUND_SUMS if place is Place.FOUND else target.limits["l1_bytes"] // 2
        columns = min(room // spec.m, walk.sums or room) // itemsize
        nc = paired(spec.n, columns, nr)
        return nc, max(columns // nc, 1)
    columns = for_rows(spec, _sums(spec, made_of)) // itemsize
    if made_of in HALVED:
        return balanced(spec.n, min(columns, -(-spec.n // 2)), nr), 1
    if spec.n <= (PAIRED_BLOCKS - 1) * columns:
        return balanced(spec.n, columns, nr), 1
    nc = paired(spec.n, columns, nr)
    meets = spec.m > 1 and nc * itemsize % (CACHE_WAY_BYTES // 2) == 0
    return nc + nr * meets, 1


def _made_of(rows: RowsOfB, target: Target) -> Rows:
    if rows.taken is Taken.ELEMENTS:
        return Rows.HALVES if target.limits["vector_bytes"] < LINE_BYTES else Rows.LINES
    return Rows.WORDS if rows.taken is Taken.WORDS else Rows.GROUPS


def _sums(spec: Matmul, made_of: Rows) -> Mapping[int, int]:
    return SUMS_OF_BYTES if spec.dtype is DType.S8 else SUMS[made_of]
