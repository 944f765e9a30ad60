"""Cycles that the cost model adds to a blocked product's arithmetic, as they were measured.

A cache is 0 the first-level one, 1 the second, 2 the last. A line is one of a cache.
"""

from __future__ import annotations

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
    #: A line of B read again: of a packed panel, by the cache that holds it; more of one that came
    #: packed and leaves the first-level cache; of rows far apart in the second-level cache, and
    #: where B leaves that.
    b_again: tuple[float, float, float]
    b_prepacked: float
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
    #: A line that is packed, of B by the tile that reads it, of A by itself.
    pack_b: float
    pack_a: float
    #: A line of sums that is loaded and stored, by the cache that holds a task's.
    sum_lines: tuple[float, float, float]
    #: A task.
    task: float
    #: The part of a cache that one operand of several has to itself.
    share: float


#: By 1800 schedules of 58 products with AVX-512 and AVX2 (f32, one thread, 2026-11-22).
ZEN_4 = Cycles(
    step=0.1,
    tile=25.0,
    sum=0.5,
    a_lines=(0.0, 0.8, 1.5),
    a_alias=0.8,
    b_again=(0.0, 0.5, 1.5),
    b_prepacked=0.0,
    b_strided=0.4,
    b_strided_far=0.8,
    b_alias=0.0,
    b_page=0.0,
    b_crosses=0.0,
    near=0.5,
    near_run=0.5,
    far=3.0,
    far_run=13.0,
    ahead=1.5,
    ahead_run=300.0,
    next_panel=3.0,
    spill=1.0,
    once_more=2.0,
    pack_b=3.0,
    pack_a=3.0,
    sum_lines=(0.5, 2.5, 14.0),
    task=800.0,
    share=0.6,
)
#: Fitted to 1100 schedules of 25 products with AVX-512, and to 700 of 21 with AVX2, on Emerald
#: Rapids (f32, one thread, 2026-11-23): the schedule that they rank first takes 2 to 4 % longer
#: than the fastest, in the geometric mean of products that a fit had not seen.
GOLDEN_COVE_WIDE = Cycles(
    step=0.33,
    tile=0.0,
    sum=0.73,
    a_lines=(0.14, 0.3, 3.2),
    a_alias=0.027,
    b_again=(0.066, 0.18, 0.91),
    b_prepacked=0.15,
    b_strided=0.0,
    b_strided_far=0.099,
    b_alias=0.18,
    b_page=0.19,
    b_crosses=0.15,
    near=0.0,
    near_run=0.0,
    far=2.5,
    far_run=0.0,
    ahead=1.1,
    ahead_run=3.0,
    next_panel=1.3,
    spill=3.8,
    once_more=1.6,
    pack_b=0.0,
    pack_a=2.2,
    sum_lines=(0.16, 0.47, 3.3),
    task=0.0,
    share=0.8,
)
GOLDEN_COVE_NARROW = Cycles(
    step=0.51,
    tile=0.05,
    sum=0.31,
    a_lines=(0.14, 0.17, 1.9),
    a_alias=0.042,
    b_again=(0.053, 0.078, 0.91),
    b_prepacked=0.15,
    b_strided=0.018,
    b_strided_far=0.05,
    b_alias=0.22,
    b_page=0.042,
    b_crosses=0.05,
    near=0.048,
    near_run=0.048,
    far=4.1,
    far_run=2.3,
    ahead=4.8,
    ahead_run=1.4,
    next_panel=1.8,
    spill=5.0,
    once_more=2.3,
    pack_b=0.79,
    pack_a=1.7,
    sum_lines=(0.47, 0.05, 13.0),
    task=170.0,
    share=0.8,
)
#: By the bytes of a vector.
ZEN: Mapping[int, Cycles] = dict.fromkeys((16, 32, 64), ZEN_4)
GOLDEN_COVE: Mapping[int, Cycles] = {32: GOLDEN_COVE_NARROW, 64: GOLDEN_COVE_WIDE}
