"""The schedule of products of few rows by tiles, where the hardware walks rows of B by itself.

So few rows of B at once that all of them stay in the first-level cache, from the first tile of rows
of A to the last, however far apart they lie; and pieces of them so long that memory follows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import field

from kgen.schedule import CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import (
    CACHE_WAY_BYTES,
    balanced,
    paired,
    room_for_sums,
    rounded_up,
    rows_in_cache,
)
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    NEAR,
    PAGE,
    STREAM_A_ROWS,
    WALKED_NEAR,
    WHOLE_SUMS,
    for_rows,
    gains_by_pairs,
    takes_part,
)
from kgen.targets.cpu.schedule.few_rows.slices import slices_of
from kgen_runtime.values import frozen


@frozen
class Stream:
    """Of a register tile: `vectors`, and `depth`, the rows of B that are multiplied at once;
    `columns` of a task at most; and whether A is packed if it need not be."""

    vectors: int
    depth: int
    columns: int
    packs_a: bool


@frozen
class Streams:
    """Of one kind of product on one core, from `least` rows of A on, as many as were measured:
    `near` by rows of A at most, and `far` where B takes more than the part `far_from` of the
    last-level cache, so that it comes from memory. `three`: of rows of three pages that stay there.

    Rows of less than `whole` columns, which end in the part `ends` of their last page or before,
    are read whole, a part of K for each core; from memory alone unless `whole_near`. `in_groups`:
    with instructions that multiply pairs or fours of them."""

    least: int
    near: Mapping[int, Stream]
    far: Mapping[int, Stream] = field(default_factory=dict)
    far_from: float = WALKED_NEAR
    three: Stream | None = None
    whole: float = 0
    whole_near: bool = False
    ends: float = 3 / 4
    in_groups: bool = False


#: Pieces of rows that end within a page, or half of one, leave what the hardware fetches behind
#: them unused: 6 x 3000 x 5000 in f32 takes 1.7 ms, 3.1 in two tasks of 1504 columns, 12 x 3000 x
#: 5000 in bf16 0.97 and 2.4 in four of 768 (AVX-512, Zen 5).
HALF_PAGE = PAGE // 2
_TILE = Stream(vectors=2, depth=32, columns=PAGE, packs_a=True)
_LOW_TILE = Stream(vectors=2, depth=16, columns=PAGE, packs_a=True)
_IN_PLACE = Stream(vectors=2, depth=16, columns=HALF_PAGE, packs_a=False)
_HALF_PAGE = Stream(vectors=2, depth=16, columns=HALF_PAGE, packs_a=True)
_TWO_PAGES = Stream(vectors=2, depth=8, columns=2 * PAGE, packs_a=True)
_WHOLE_ROWS = Streams(least=4, near={24: _TWO_PAGES}, whole=math.inf, whole_near=True, ends=1)
#: By what is multiplied and the bytes of a vector; on Zen 5, pairs of bf16 and fours of s8 with
#: AVX-512 alone.
#:
#: F32: 16 x 2048 x 2048 takes 1.08 ms, 1.5 by panels, 5 x 5120 x 5120 3.0 ms, 5.5 by tiles of one
#: vector with A packed (AVX2); 12 x 2048 x 2048 takes 440 us, 700 by panels of 128 rows (AVX-512).
#: Bf16: 8 x 2560 x 4096 takes 416 us, 555 by 32 rows of B and 1024 columns, 9 x 4096 x 4096 0.82
#: ms, 0.92 by 16 rows with A in place. S8: 8 x 2304 x 768 takes 50 us, 62 by 8 rows of B; but 2
#: rows no less than by outer products.
#:
#: Where B comes from memory, what asks for lines faster than memory gives them loses what it
#: fetches, so the fewer rows, the less is done at once, and the more sums come and go. 5 x 4096 x
#: 4096 takes 1.56 ms so, 1.9 by 3 or 5 rows of B, 2.0 by two vectors, 8 rows 1.87 and 2.1, 9 rows
#: 1.9 and 2.0 by one vector; in s8 8 rows 0.59 and 0.75 by 16 rows of B.
#:
#: Two cores would have one page and two of three: 14 x 3072 x 2048 in f32 takes one and two threads
#: 832 and 417 us, 786 and 524 by pages, 9 x 3072 x 2048 in bf16 289 and 147, 282 and 188.
#:
#: Rows that leave a quarter of their last page or more: 12 x 1280 x 8192 in f32 takes one and two
#: threads 1.4 and 0.66 ms whole, 3.9 and 1.5 in two tasks of 640 columns, 12 x 2560 x 2048 646 and
#: 304 us, 709 and 452 by pages; but 6 x 2048 x 2304 422 and 200 us, 334 and 176 by pages. In
#: vectors of half a line from memory alone: 5 x 1152 x 14336 takes 1.84 and 1.22 ms, 3.4 and 1.8 in
#: halves, but 8 x 2304 x 5120 1.80 and 1.15 ms, 1.65 and 0.94.
#:
#: On Zen 3 whole rows are always faster: 8 x 2304 x 768 takes one and two threads 612 and 391 us
#: from memory, 767 and 526 in halves, 786 and 497 by 128 rows of B; 12 x 2048 x 2048 2.12 and 1.14
#: ms, 2.32 and 1.19 by 16 rows of B, 2.53 and 1.48 by 128; 8 x 5120 x 5120 10.2 and 5.8, 14.5 and
#: 6.7 by 16 rows of B and one vector; 4 x 2048 x 2048 629 us called again and again, 812 by outer
#: products. 32 x 1024 x 1024 is no faster than packed.
STREAMS: Mapping[str, Mapping[tuple[DType, int], Streams]] = {
    "Zen 3": {
        (DType.F32, 32): _WHOLE_ROWS,
        (DType.BF16, 32): dataclasses.replace(_WHOLE_ROWS, least=3, near={16: _TWO_PAGES}),
        (DType.F16, 32): dataclasses.replace(_WHOLE_ROWS, least=1, near={12: _TWO_PAGES}),
    },
    "Zen 5": {
        (DType.F32, 32): Streams(
            least=5,
            near={
                6: Stream(vectors=2, depth=8, columns=2 * PAGE, packs_a=False),
                32: _TWO_PAGES,
            },
            far={6: Stream(vectors=2, depth=8, columns=PAGE, packs_a=False)},
            whole=2 * PAGE,
        ),
        (DType.F32, 64): Streams(
            least=5,
            near={14: _TILE, 18: _LOW_TILE, 28: _TILE, 32: _HALF_PAGE},
            far={
                6: Stream(vectors=1, depth=4, columns=PAGE, packs_a=False),
                8: Stream(vectors=1, depth=8, columns=PAGE, packs_a=False),
                9: Stream(vectors=2, depth=16, columns=PAGE, packs_a=False),
            },
            three=_HALF_PAGE,
            whole=3 * PAGE,
            whole_near=True,
        ),
        (DType.BF16, 64): Streams(
            least=3,
            near={
                8: _IN_PLACE,
                20: _TILE,
                32: Stream(vectors=2, depth=32, columns=2 * PAGE, packs_a=True),
            },
            three=_IN_PLACE,
            in_groups=True,
        ),
        (DType.S8, 64): Streams(
            least=3,
            near={12: Stream(vectors=4, depth=16, columns=HALF_PAGE, packs_a=False)},
            far={12: Stream(vectors=4, depth=8, columns=HALF_PAGE, packs_a=False)},
            far_from=NEAR,
            in_groups=True,
        ),
    },
}
#: Rows of B at once of rows that are read whole, at most: 20 x 2560 x 8192 takes 4.1 and 2.5 ms,
#: 4.7 and 2.4 by 32.
WHOLE_DEPTH = 16
#: Rows from which a tile has not all of them, and bytes of a row of B at most, where that pays: 16
#: x 4096 x 1024 in bf16 takes 387 us packed and 589 as a stream, 32 x 4096 x 4096 3.3 and 4.3 ms,
#: but 16 x 8192 x 2048 2.7 and 2.6, 14 x 4096 x 4096 2.2 and 1.3 (AVX-512, Zen 5).
MEETING_ROWS, MEETING_ROW = 15, 2 * CACHE_WAY_BYTES


def walks_stream(spec: Matmul, target: Target) -> bool:
    """Such a stream was measured, of what is multiplied and for so many rows."""
    streams = _streams(spec, target)
    if streams is None or not streams.least <= spec.m <= max(streams.near):
        return False
    if not streams.in_groups:
        return True
    pays = spec.dtype is not DType.BF16 or gains_by_pairs(target)
    return pays and bool(dot_for(spec.dtype, target))


def packs_rows_that_meet(spec: Matmul, target: Target) -> bool:
    """Pairs of bf16 in several tiles of rows, which would read each row of B again: it is packed
    where rows meet in a cache set."""
    row = spec.b_strides[1] * spec.b_type.itemsize
    meets = row % CACHE_WAY_BYTES == 0 and row <= MEETING_ROW
    pairs = spec.dtype is DType.BF16 and spec.m >= MEETING_ROWS
    return meets and pairs and walks_stream(spec, target)


def packs_rows_of_a(spec: Matmul, target: Target) -> bool:
    """A stream packs A even if it need not."""
    if walks_stream(spec, target):
        return _stream(spec, target).packs_a
    return spec.m > STREAM_A_ROWS


def walked_stream(spec: Matmul, target: Target, *, packs_a: bool) -> CpuMatmul:
    """Tiles as high as the registers allow, by a few rows of B, a page's width of them."""
    stream, dot = _stream(spec, target), dot_for(spec.dtype, target)
    vector = vector_for(target, spec.accumulate, spec.n).count
    vectors = min(stream.vectors, -(-spec.n // vector))
    registers = target.limits["vector_registers"] - (dot.extra_registers if dot else 0)
    most = (registers - 2) // vectors - 1
    if not packs_a and stream.packs_a:
        # Rows of an A that is not packed may meet in a cache set.
        most = min(most, rows_in_cache(spec))
    mr, nr, kc = balanced(spec.m, most, 1), vectors * vector, stream.depth
    if packs_a or (spec.dtype is DType.S8 and spec.k % kc):
        kc = rounded_up(kc, LINE_BYTES // spec.dtype.itemsize if dot else vector)
    mc = rounded_up(spec.m, mr)
    sums = target.limits["l2_bytes"] // WHOLE_SUMS
    room = min(sums, room_for_sums(spec, target, mc, kc, packs_a=packs_a))
    most = room // (mc * spec.accumulate.itemsize)
    if rounded_up(spec.n, nr) <= most and _is_whole(spec, target):
        kc, nc = min(kc, WHOLE_DEPTH), rounded_up(spec.n, nr)
    elif stream.columns > min(most, PAGE) or 2 * spec.n < 3 * stream.columns:
        nc = paired(spec.n, min(most, stream.columns), nr)
    else:
        nc = stream.columns
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)


def _is_whole(spec: Matmul, target: Target) -> bool:
    """Rows that are cut along K and end far from the end of a page."""
    streams = _streams(spec, target)
    assert streams
    if spec.n >= streams.whole or slices_of(spec, WHOLE_DEPTH) < 2:
        return False
    if not streams.whole_near and not _is_far(spec, target, streams):
        return False
    last = (spec.n - 1) % PAGE + 1
    return spec.n <= PAGE or last <= streams.ends * PAGE


def _is_far(spec: Matmul, target: Target, streams: Streams) -> bool:
    """B comes from memory."""
    return not takes_part(spec, target, streams.far_from)


def _streams(spec: Matmul, target: Target) -> Streams | None:
    if spec.dtype is not spec.b_type:
        return None
    kinds = STREAMS.get(core_of(target).name, {})
    return kinds.get((spec.dtype, target.limits["vector_bytes"]))


def _stream(spec: Matmul, target: Target) -> Stream:
    streams = _streams(spec, target)
    assert streams
    is_far = _is_far(spec, target, streams)
    if spec.m <= max(streams.far, default=0) and is_far:
        return for_rows(spec, streams.far)
    stream = for_rows(spec, streams.near)
    # Three pages, the last of which is half full at least.
    three = 2 * PAGE + HALF_PAGE < spec.n <= 3 * PAGE and stream.columns == PAGE
    half = streams.three or stream
    fits = half.packs_a or spec.m <= rows_in_cache(spec)
    return half if three and fits and not is_far else stream
