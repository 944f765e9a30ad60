"""How products of few rows take B: by how many rows there are, and where B comes from.

A B that leaves the second-level cache is read once, where it lies. What pays besides differs by
whether it comes from the last-level cache or from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeVar

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.schedule.block_sizes import CACHE_WAY_BYTES
from kgen.targets.cpu.schedule.core import core_of

T = TypeVar("T")

#: Up to this many rows, a large B is read once, as a stream, and the sums go to and fro in the
#: caches: packing it costs more than it saves.
STREAM_ROWS = 32
#: A of more rows than this is packed even if it need not be, lest its rows meet in a cache set.
STREAM_A_ROWS = 4
#: The parts of the last-level cache that B may have for none to be fetched, and for one: from there
#: the hardware is fast enough (Zen 4, f32: 1 x 768 x 3072 takes 108 us with none, 140 with one, 153
#: with two; 2 x 2048 x 2048 530, 334 and 348).
NEAR, HALF_NEAR = 3 / 8, 1 / 2
#: The part of a B that stays there whatever else passes.
SMALL = 1 / 8
#: The part that an f32 B may have for some of it to stay where the hardware walks rows: 4 x 2560 x
#: 2048 takes 453 us as if it stayed, 510 by pages, 3072 columns 642 both.
WALKED_NEAR = 3 / 4
#: The parts up to which most of a B that is multiplied again and again still comes from there, and
#: some of it.
PARTLY, TWICE = 5 / 4, 2
#: The part of the second-level cache that the sums of rows may take that are read whole: 24 x 2304
#: x 4096 takes one and two threads 2.20 and 1.10 ms by whole rows, 2.23 and 1.34 by pages (AVX-512,
#: Zen 5).
WHOLE_SUMS = 4
#: Columns of f32 that are a page, of which the hardware fetches what lies behind a piece of a row.
PAGE = 1024
#: Rows of A from which such a B is multiplied by tiles instead: of all of K if they are wide, whose
#: sums stay in registers (4 x 2304 x 768 takes 128 us, 151 by rows of B), on AVX2 of a few rows
#: (160 us, 184 by rows of B); and of pairs of bf16, the same (2 rows 54 us instead of 67, 3 rows
#: 67 instead of 137).
TILES_FROM, PAIRS_FROM = 3, 2
#: Bytes of a row of B up to which such a B is multiplied by rows of it where the hardware walks
#: them: 4 x 768 x 768 takes 24 us so, 29 by tiles, 4 x 1024 x 1024, whose rows meet in a cache set,
#: 47 and 67, but 4 x 1152 x 1152 60 and 55 (AVX-512, Zen 5).
SHORT_ROW = 3072


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
    plain = spec.dtype is spec.b_type and spec.dtype in (DType.F32, DType.BF16)
    return takes_part(spec, target, part) and plain and not core_of(target).finds_rows


def takes_part(spec: Matmul, target: Target, part: float) -> bool:
    """B takes such a part of the last-level cache at most."""
    return spec.k * spec.n * spec.b_type.itemsize <= part * target.limits["l3_bytes"]


class Place(Enum):
    """Where B lies from one call to the next: in the last-level cache, of which it leaves as much
    that none of it need be fetched, or less; or in memory. That makes no difference on a core that
    finds rows by itself."""

    FOUND = auto()
    NEAR = auto()
    HALF_NEAR = auto()
    FAR = auto()


def place_of_b(spec: Matmul, target: Target) -> Place:
    if core_of(target).finds_rows:
        return Place.FOUND
    if is_near(spec, target):
        return Place.NEAR
    return Place.HALF_NEAR if is_near(spec, target, HALF_NEAR) else Place.FAR


def takes_strips(spec: Matmul, target: Target) -> bool:
    """A few rows of A times several lines of each row of B at once, along all of K; where the
    hardware walks rows by itself, of long rows that do not meet in a cache set."""
    few = TILES_FROM <= spec.m <= STREAM_A_ROWS and not spec.constant
    wide = target.limits["vector_bytes"] == LINE_BYTES and spec.dtype is DType.F32
    row = spec.b_strides[1] * spec.b_type.itemsize
    if core_of(target).walks_rows and (row <= SHORT_ROW or row % CACHE_WAY_BYTES == 0):
        return False
    return few and wide and is_near(spec, target)


def takes_blocks(spec: Matmul, target: Target) -> bool:
    """The same where a tile has one line, for want of registers, so that only some rows of B at
    once are read as streams, but not where the hardware walks rows by itself (3 x 2048 x 2048 takes
    538 us, 232 by rows of B; AVX2, Zen 5); and pairs, for which the sums' traffic is the more."""
    if spec.dtype is DType.BF16:
        few = spec.m >= PAIRS_FROM
    else:
        few = spec.m >= TILES_FROM and target.limits["vector_bytes"] == LINE_BYTES // 2
        few &= not core_of(target).walks_rows
    return few and is_near(spec, target, HALF_NEAR)


def walks_lines(target: Target) -> bool:
    """The hardware walks rows by itself, in vectors of a line."""
    return core_of(target).walks_rows and target.limits["vector_bytes"] == LINE_BYTES


def gains_by_pairs(target: Target) -> bool:
    """Products of bf16 are faster in pairs than widened to f32."""
    return core_of(target).gains_by_pairs


def for_rows(spec: Matmul, table: Mapping[int, T]) -> T:
    return next(found for most, found in table.items() if spec.m <= most)
