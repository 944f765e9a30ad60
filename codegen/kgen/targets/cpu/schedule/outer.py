"""The schedule of outer products: a few rows of B at once pass by all rows of A.

For 1 to 4 rows of A, whose sums stay in the first-level cache while B is read once.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.schedule import OuterMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.gemv_strips import (
    has_outer,
    outer_registers,
    strip_vectors,
    sums_of_outer,
    takes_words,
)
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import CACHE_WAY_BYTES, balanced, paired
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows import (
    HALF_NEAR,
    for_rows,
    gains_by_pairs,
    is_near,
    streams,
    takes_blocks,
)

#: Rows of B that are multiplied at once, each in another part of OUTER_PART rows: four streams are
#: followed best; pairs for more than two rows of A, where sums take as long, eight.
OUTER_PARTS, OUTER_PARTS_PAIRS, OUTER_PAIRS_FEW, OUTER_PART = 4, 8, 2, 64
#: The same of pairs, and of vectors of half a line, on cores that do not find rows by themselves (1
#: and 4 rows by 4096 x 4096 of bf16 with AVX-512 take 894 and 1356 us, 1124 and 1425 with 64 in the
#: same blocks, of f32 on AVX2 4 rows 2.15 ms and 2.37; but of f32 with AVX-512 1 row 2.07 ms and
#: 1.87; Zen 4).
OUTER_PART_FAR = 128
#: Of words of bf16, two far apart, whether B is near or not (1 x 768 x 3072 takes 82 us, 115 side
#: by side; 1 x 4096 x 4096 0.87 of the time by four). Up to so many rows of A, as more keep what
#: is multiplied of A for too few rows of B (3 x 4096 x 4096 takes 1.38 ms, 1.58 by tiles, but 4 x
#: 2304 x 768 200 us and 157; AVX2, Zen 4).
OUTER_PARTS_WORDS, OUTER_PART_WORDS, OUTER_WORDS_ROWS = 2, 256, 3
#: The same of B near in vectors of half a line, of which there are twice as many: rows side by side
#: (1 x 2304 x 768 in f32 on AVX2 takes 88 us, by four 64 rows apart 106, by eight 102; Zen 4).
OUTER_PARTS_NEAR, OUTER_PART_NEAR = 8, 1
#: Strips of a step, at most; of half a line each where B is far: both halves then ask for its next
#: lines, of which some are lost (1 row by 4096 x 4096 in f32 on AVX2 takes 2.2 ms, 2.4 in steps of
#: a line, 2 rows 2.2 and 2.6; Zen 4).
OUTER_STRIPS, OUTER_STRIPS_FAR = 2, 1
#: Bytes of a row of sums, by bytes of an element and rows of A at most: with what passes of B they
#: have room in the eight ways of the first-level cache (1 row by 4096 x 4096 in f32: 32 GB/s, 26
#: with twice as many). More rows of A, and more than one of s8, are multiplied by tiles.
OUTER_SUMS = {1: {1: 8192}, 2: {1: 8192, 4: 4096}, 4: {1: 4096, 4: 3072}}
#: Rows of B behind the current ones that are fetched: each twice, as prefetches are lost where many
#: are on their way (4 rows by 4096 x 4096 in f32: 28 GB/s instead of 24, Zen 4).
PREFETCH = 2
#: Bytes of the sums of all rows on cores that find rows of B by themselves, which are best read
#: from end to end (1 x 4096 x 4096 in s8: 566 us, 720 in two blocks of columns; Golden Cove). Two
#: thirds of its first-level cache: 4 x 2048 x 2048 in f32 takes 588 us, with 18432 bytes 665.
FOUND_SUMS = 32768
#: Of f32 in vectors of half a line, which take longer for the rows of B than the sums do: 2 rows by
#: 4096 x 4096 on AVX2 take 2.23 ms with blocks of 2048 columns, 2.40 with 1024 (Zen 4). 1 x 5120 x
#: 5120 in two of 2560 takes two threads 3.03 ms, 3.40 in three.
OUTER_SUMS_NARROW = {2: 10240, 4: 4096}
#: Of words, which pass by the sums in half as many steps: 2 rows by 4096 x 4096 take 0.96 ms with
#: blocks of 2048 columns, 1.03 with 1056; 3 rows 1.34 with 1376, which are three tasks for two
#: threads, 1.38 with 1024 (AVX2, Zen 4).
OUTER_SUMS_WORDS = {2: 8192, 4: 4096}
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
    if not (fits_outer(spec, target) and streams(spec, target)):
        return False
    if takes_words(spec, target):
        return spec.m <= OUTER_WORDS_ROWS and not core_of(target).finds_rows
    if takes_blocks(spec, target):
        return False
    pairs = spec.dtype is DType.BF16 and _group(spec, target) > 1
    return not pairs or spec.m <= OUTER_PAIRS_FEW or gains_by_pairs(target)


def fits_outer(spec: Matmul, target: Target) -> bool:
    """There is such a kernel: what is multiplied of A, and the sums, have room."""
    if spec.m > max(_outer_sums(spec, target)) or not has_outer(spec, target):
        return False
    needed = outer_registers(spec, target, _group(spec, target), 1)
    return needed <= target.limits["vector_registers"]


def outer_matmul(spec: Matmul, target: Target) -> OuterMatmul:
    """As many rows of B at once, and as wide steps, as the registers allow."""
    registers, group = target.limits["vector_registers"], _group(spec, target)
    pairs = group == 2 and spec.m > OUTER_PAIRS_FEW
    near, once = is_near(spec, target), is_near(spec, target, HALF_NEAR)
    finds_rows = core_of(target).finds_rows
    halves = target.limits["vector_bytes"] < LINE_BYTES
    words = takes_words(spec, target)
    side_by_side = near and halves and not words
    most_parts = OUTER_PARTS_WORDS if words else OUTER_PARTS_PAIRS if pairs else OUTER_PARTS
    far = not finds_rows and (halves or group == 2)
    part = OUTER_PART_NEAR if side_by_side else OUTER_PART_FAR if far else OUTER_PART
    # A step takes a whole line of a narrow B.
    most_strips = max(OUTER_STRIPS, spec.dtype.itemsize // spec.b_type.itemsize)
    if words:
        part, most_strips = OUTER_PART_WORDS, LINE_BYTES // target.limits["vector_bytes"]
    if halves and spec.dtype is spec.b_type is DType.F32 and not (once or finds_rows):
        most_strips = OUTER_STRIPS_FAR
    parts, strips = next(
        (parts, strips)
        for parts in range(OUTER_PARTS_NEAR if side_by_side else most_parts, 0, -group)
        for strips in range(most_strips, 0, -1)
        if outer_registers(spec, target, parts, strips) <= registers
    )
    nr = strips * strip_vectors(spec, target) * sums_of_outer(spec, target).count
    end_to_end = finds_rows or near
    is_narrow = _outer_sums(spec, target) in (OUTER_SUMS_NARROW, OUTER_SUMS_WORDS)
    sums = FOUND_SUMS // spec.m if finds_rows else for_rows(spec, _outer_sums(spec, target))
    if near:
        sums = target.limits["l1_bytes"] // 2 // spec.m
    elif is_narrow and not finds_rows:
        sums = min(sums, -(-spec.n // 2) * spec.accumulate.itemsize)  # A task for a second core.
    columns = sums // spec.accumulate.itemsize
    many = not is_narrow and spec.n > (PAIRED_BLOCKS - 1) * columns
    nc = (paired if end_to_end or many else balanced)(spec.n, columns, nr)
    meets = spec.m > 1 and nc * spec.accumulate.itemsize % (CACHE_WAY_BYTES // 2) == 0
    if many and meets and not end_to_end:
        nc += nr
    return OuterMatmul(
        mr=spec.m,
        nr=nr,
        mc=spec.m,
        kc=parts * part,
        nc=nc,
        pack_a=False,
        pack_b=False,
        parts=parts,
        prefetch=0 if end_to_end else 1 if once and not words else PREFETCH,
        together=max(columns // nc, 1) if end_to_end else 1,
    )


def _outer_sums(spec: Matmul, target: Target) -> Mapping[int, int]:
    if takes_words(spec, target):
        return OUTER_SUMS_WORDS
    if spec.dtype is DType.F32 and target.limits["vector_bytes"] == LINE_BYTES // 2:
        return OUTER_SUMS_NARROW
    return OUTER_SUMS[min(spec.dtype.itemsize, max(OUTER_SUMS))]


def _group(spec: Matmul, target: Target) -> int:
    """Rows of B that are multiplied together."""
    dot = dot_for(spec.dtype, target)
    return dot.group if dot else 1
