"""The schedule of outer products: a few rows of B at once pass by all rows of A.

For 1 to 4 rows of A, whose sums stay in the first-level cache while B is read once.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.schedule import OuterMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.gemv_strips import Taken, rows_of_b
from kgen.targets.cpu.schedule.block_sizes import CACHE_WAY_BYTES, balanced, paired
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.panels import reads_panels_ahead
from kgen.targets.cpu.schedule.few_rows.place import (
    WHOLE_SUMS,
    Place,
    for_rows,
    gains_by_pairs,
    streams,
    takes_blocks,
)
from kgen.targets.cpu.schedule.few_rows.walked import walks_stream
from kgen.targets.cpu.schedule.few_rows.walks import Rows, Walk, made_of, walk_of, walked

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
    # More than one row of A is multiplied by tiles.
    Rows.BYTES: {1: 8192},
    Rows.WORDS: {2: 8192, 4: 4096},
}
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
    if walked(spec, target, made_of(rows, spec, target)):
        return not reads_panels_ahead(spec, target)
    if walks_stream(spec, target):
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
    if rows is None:
        return False
    kind = made_of(rows, spec, target)
    if spec.m > max(SUMS[kind]) and not walked(spec, target, kind):
        return False
    return rows.registers(spec.m, rows.group, 1) <= target.limits["vector_registers"]


def outer_matmul(spec: Matmul, target: Target) -> OuterMatmul:
    """As many rows of B at once, and as wide steps, as the registers allow."""
    rows = rows_of_b(spec, target)
    assert rows
    kind = made_of(rows, spec, target)
    walk, place = walk_of(spec, target, kind)
    rows = rows_of_b(spec, target, words=walk.words)
    assert rows
    halves = walk.halves and rows.sums.bytes == LINE_BYTES
    rows = rows.halved if halves else rows
    # A step takes a whole line of a narrow B.
    most_strips = max(walk.strips, spec.dtype.itemsize // spec.b_type.itemsize)
    parts, strips = next(
        (parts, strips)
        for parts in range(for_rows(spec, walk.parts), 0, -rows.group)
        for strips in range(most_strips, 0, -1)
        if rows.registers(spec.m, parts, strips) <= target.limits["vector_registers"]
    )
    nr = strips * rows.strip
    nc, together = _columns(spec, target, kind, place, nr, walk)
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
        level=walk.level,
        tasks_per_pass=together,
        halves=halves,
        words=walk.words,
    )


def _columns(
    spec: Matmul, target: Target, kind: Rows, place: Place, nr: int, walk: Walk
) -> tuple[int, int]:
    """Columns of a task, and how many tasks are one pass: rows that are not fetched are read from
    end to end, others as far as their sums have room."""
    itemsize = spec.accumulate.itemsize
    if place in (Place.FOUND, Place.NEAR):
        room = FOUND_SUMS if place is Place.FOUND else target.limits["l1_bytes"] // 2
        if walk.whole:
            room = target.limits["l2_bytes"] // WHOLE_SUMS
        columns = min(room // spec.m, walk.sums or room) // itemsize
        nc = paired(spec.n, columns, nr)
        return nc, max(columns // nc, 1)
    columns = for_rows(spec, SUMS[kind]) // itemsize
    if kind in HALVED:
        return balanced(spec.n, min(columns, -(-spec.n // 2)), nr), 1
    if spec.n <= (PAIRED_BLOCKS - 1) * columns:
        return balanced(spec.n, columns, nr), 1
    nc = paired(spec.n, columns, nr)
    meets = spec.m > 1 and nc * itemsize % (CACHE_WAY_BYTES // 2) == 0
    return nc + nr * meets, 1
