"""Cycles that the cost model adds to a blocked product's arithmetic, as they were measured.

A cache is 0 the first-level one, 1 the second, 2 the last. A line is one of a cache.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kgen_runtime.values import frozen


@frozen
class Cycles:
    """All of one core, for vectors of one width."""

    #: A step of K besides its instructions; a call of a register tile; a vector of sums that is
    #: loaded or stored.
    step: float
    tile: float
    sum: float
    #: A line of A, by the cache that holds a task's, and more where its rows meet in a cache set.
    a_lines: tuple[float, float, float]
    a_alias: float
    #: A line of A that another pass over its rows reads from beyond the second-level cache.
    a_again: float
    #: A line of B read again: of a packed panel, by the cache that holds it; of one that came
    #: packed and leaves the first- or the second-level cache, panel behind panel; of rows far
    #: apart in the second-level cache, and where B leaves that.
    b_again: tuple[float, float, float]
    b_prepacked: tuple[float, float]
    b_strided: float
    b_strided_far: float
    #: Of a B in place: more of a line where its rows meet in a cache set; of a row that lies in a
    #: page of its own, where a panel has more pages than the first-level TLB.
    b_alias: float
    b_page: float
    #: A vector of such a B that lies in two lines.
    b_crosses: float
    #: A line of B that is read first, and the beginning of a run of them: in the second-level
    #: cache, beyond it, beyond it but fetched into it a block of K ahead.
    near: float
    near_run: float
    far: float
    far_run: float
    ahead: float
    ahead_run: float
    #: A line of the next panel that is fetched beside the multiply-adds of this one.
    next_panel: float
    #: More of a line that is fetched ahead where the block has no room in half of that cache.
    spill: float
    #: A line that another task reads after the first one, which finds it in the last-level cache.
    once_more: float
    #: The same of one that is packed again, from rows far apart.
    pack_again: float
    #: A line that is packed, of B by the tile that reads it, of A by itself.
    pack_b: float
    pack_a: float
    #: A line of sums that is loaded and stored, by the cache that holds a task's.
    sum_lines: tuple[float, float, float]
    #: A task.
    task: float
    #: The parts of the first- and the second-level cache that one operand of several has to itself.
    share: tuple[float, float]


#: Fitted to 1500 schedules of 36 products with AVX-512, and to 1240 of 36 with AVX2 (f32, one
#: thread, B packed inside the call and before, 2026-11-23); what they hardly tell stays near a
#: guess. The schedule that they rank first takes 2 and 3 % longer than the fastest of some 40, in
#: the geometric mean of products that a fit had not seen. Set by themselves: a row of B cut short
#: (AVX2: 128 x 768 x 3072 takes 140 to 380 us more in passes of 384 columns), rows far apart
#: (AVX2: 256 x 256 x 256 takes 300 us in place or packed, 450 and 390 beside a busy core), and what
#: is packed again (AVX-512: 256 x 3072 x 768 takes 13.3 ms packed by three blocks of rows, 11.7 by
#: one or in place); and with AVX-512, by 500 schedules of 23 products, a B that came packed, whose
#: panels cost next to nothing to read again (49 x 512 x 4608 up to 9 % beside busy neighbours, by
#: panels larger than the second-level cache), and A beyond that cache (128 x 2048 x 2048
#: takes 10.1 to 10.4 ms in blocks of 704 of K with A packed, 9.6 by all of K and rows in place; by
#: weights as they lie 10.7 with A packed, 10.0 in place); there also what a further pass over B
#: costs (128 x 2048 x 2048 takes 10.5 ms by blocks of 72 and 56 rows, 9.8 by one; 128 x 3072 x 768
#: 6.1 and 5.9); and with AVX2 A read again (2048 x 2048 x 2048 takes 162 ms in passes of 512
#: columns, 158 in one).
ZEN_4_WIDE = Cycles(
    step=0.16,
    tile=9.2,
    sum=0.48,
    a_lines=(0.1, 0.48, 0.6),
    a_alias=0.19,
    a_again=5.2,
    b_again=(0.21, 0.28, 0.68),
    b_prepacked=(0.02, 0.1),
    b_strided=0.11,
    b_strided_far=0.15,
    b_alias=0.097,
    b_page=0.31,
    b_crosses=0.098,
    near=0.19,
    near_run=0.49,
    far=1.5,
    far_run=1.6,
    ahead=1.2,
    ahead_run=2.9,
    next_panel=0.0,
    spill=0.81,
    once_more=3.0,
    pack_again=8.0,
    pack_b=0.26,
    pack_a=4.0,
    sum_lines=(0.3, 1.2, 2.8),
    task=450.0,
    share=(0.8, 0.8),
)
ZEN_4_NARROW = Cycles(
    step=0.091,
    tile=5.9,
    sum=0.33,
    a_lines=(0.1, 0.32, 1.2),
    a_alias=0.38,
    a_again=10.0,
    b_again=(0.21, 0.22, 0.8),
    b_prepacked=(0.27, 0.27),
    b_strided=0.35,
    b_strided_far=0.21,
    b_alias=0.24,
    b_page=0.74,
    b_crosses=0.091,
    near=0.18,
    near_run=0.4,
    far=2.4,
    far_run=2.4,
    ahead=1.4,
    ahead_run=300.0,
    next_panel=1.3,
    spill=1.2,
    once_more=2.2,
    pack_again=5.0,
    pack_b=0.26,
    pack_a=1.4,
    sum_lines=(0.3, 0.99, 9.1),
    task=260.0,
    share=(0.6, 0.8),
)
#: Fitted to 2200 schedules of 33 products with AVX-512, and to 1300 of 26 with AVX2, on Sapphire
#: Rapids (f32, one thread, B packed inside the call and before, 2026-11-23): the schedule that they
#: rank first takes 4 and 6 % longer than the fastest of some 30, which is a lucky one, in the
#: geometric mean of products that a fit had not seen. A line of A or B that is read again was
#: measured by itself.
GOLDEN_COVE_WIDE = Cycles(
    step=0.35,
    tile=0.0,
    sum=2.0,
    a_lines=(0.14, 2.0, 3.1),
    a_alias=0.24,
    a_again=30.0,
    b_again=(0.26, 0.6, 0.91),
    b_prepacked=(0.62, 0.62),
    b_strided=0.37,
    b_strided_far=0.35,
    b_alias=0.29,
    b_page=0.55,
    b_crosses=0.19,
    near=0.18,
    near_run=0.047,
    far=6.6,
    far_run=0.0038,
    ahead=2.2,
    ahead_run=2.8,
    next_panel=4.5,
    spill=4.4,
    once_more=0.51,
    pack_again=8.0,
    pack_b=0.026,
    pack_a=3.7,
    sum_lines=(0.16, 0.61, 7.0),
    task=0.0,
    share=(0.8, 0.8),
)
GOLDEN_COVE_NARROW = Cycles(
    step=0.35,
    tile=0.052,
    sum=0.56,
    a_lines=(0.14, 0.41, 1.9),
    a_alias=0.063,
    a_again=30.0,
    b_again=(0.075, 0.13, 0.91),
    b_prepacked=(0.27, 0.27),
    b_strided=0.1,
    b_strided_far=0.24,
    b_alias=0.45,
    b_page=0.23,
    b_crosses=0.05,
    near=0.057,
    near_run=0.059,
    far=6.8,
    far_run=3.2,
    ahead=9.3,
    ahead_run=1.4,
    next_panel=5.1,
    spill=5.1,
    once_more=2.5,
    pack_again=8.0,
    pack_b=1.0,
    pack_a=2.0,
    sum_lines=(0.46, 0.06, 15.0),
    task=170.0,
    share=(0.8, 0.65),
)
#: Zen 4's, until Zen 5's are fitted, but for packed panels of B, which it reads again at twice the
#: rate of its multiply-adds (128 x 768 x 3072 takes 2.46 ms by all of K and four vectors, 2.37 by
#: three, 2.24 by 384 of K; 197 x 768 x 3072 3.65, 3.53 and 3.35).
ZEN_5_WIDE = dataclasses.replace(ZEN_4_WIDE, b_prepacked=(0.3, 0.5))
#: By the bytes of a vector.
ZEN_5: Mapping[int, Cycles] = {32: ZEN_4_NARROW, 64: ZEN_5_WIDE}
ZEN: Mapping[int, Cycles] = {16: ZEN_4_NARROW, 32: ZEN_4_NARROW, 64: ZEN_4_WIDE}
GOLDEN_COVE: Mapping[int, Cycles] = {32: GOLDEN_COVE_NARROW, 64: GOLDEN_COVE_WIDE}
