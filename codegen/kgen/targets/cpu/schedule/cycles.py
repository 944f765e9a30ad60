"""Cycles that the cost model adds to a blocked product's arithmetic, as they were measured.

A cache is 0 the first-level one, 1 the second, 2 the last. A line is one of a cache.
"""

from __future__ import annotations

from kgen_runtime.values import frozen


@frozen
class Cycles:
    """All of one core."""

    #: A step of K besides its instructions; a call of a register tile; a vector of sums that is
    #: loaded or stored.
    step: float
    tile: float
    sum: float
    #: A line of A, by the cache that holds a task's, and more where its rows meet in a cache set.
    a_lines: tuple[float, float, float]
    a_alias: float
    #: A line of B read again: of a packed panel, by the cache that holds it; of rows far apart in
    #: the second-level cache, and where B leaves that.
    b_again: tuple[float, float, float]
    b_strided: float
    b_strided_far: float
    #: Of a B in place: more of a line where its rows meet in a cache set; of a row that lies in a
    #: page of its own, where a panel has more pages than the first-level TLB.
    b_alias: float
    b_page: float
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
    b_strided=0.4,
    b_strided_far=0.8,
    b_alias=0.0,
    b_page=0.0,
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
#: Fitted to schedules of model products and squares on Emerald Rapids, with AVX-512 and AVX2 (f32,
#: one thread, 2026-11-23), over a wider grid of blocks than the one that is compared now.
GOLDEN_COVE = Cycles(
    step=0.15,
    tile=31.0,
    sum=0.31,
    a_lines=(0.14, 0.67, 1.9),
    a_alias=0.02,
    b_again=(0.048, 0.2, 0.91),
    b_strided=0.018,
    b_strided_far=0.063,
    b_alias=0.11,
    b_page=0.61,
    near=0.28,
    near_run=0.086,
    far=5.1,
    far_run=2.5,
    ahead=0.6,
    ahead_run=31.0,
    next_panel=2.9,
    spill=3.8,
    once_more=0.23,
    pack_b=0.48,
    pack_a=2.4,
    sum_lines=(0.1, 2.0, 7.1),
    task=170.0,
    share=1.0,
)
