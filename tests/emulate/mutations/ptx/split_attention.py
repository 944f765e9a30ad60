"""Bugs in attention for decoding: rows of several heads, parts of the keys, their combination."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = MmaAttention(
    block_m=32, block_n=16, num_warps=2, num_stages=2, packs_heads=True, split_k=3
)


@cache
def divided() -> Program:
    """Three parts of up to three blocks of keys, and four heads of five queries as rows."""
    options = "causal diagonal=bottom_right mask=2x1x5x100 mask_dtype=f32 kv_length lse"
    return rendered(f"attention q=2x8x5x24,k=2x2x100x24 f16 {options}", "sm_80", SCHEDULE)


PROGRAMS = (divided,)

MUTATIONS = (
    *bugs(
        divided,
        WRONG_RESULT,
        ("results-of-a-part-dropped", r"fma\.rn\.f32 %acc_m0_n0, %weight, %part2_n0, .*;", ""),
        ("state-of-another-part", r"(%weight}, \[%states_ptr\+)320", r"\g<1>160"),
        ("rest-of-the-blocks-dropped", r"(add\.s32 %each, %stop, )2;", r"\g<1>0;"),
        ("part-of-another-head", r"(mul\.lo\.u32 %start, )%batch2, %each;", r"\1%batch1, %each;"),
        ("row-of-a-head-off-by-one", r"(mad\.wide\.u32 %parts_ptr, %batch2, )480", r"\g<1>384"),
        ("state-of-a-head-off-by-one", r"(mad\.wide\.u32 %states_ptr, %batch2, )40", r"\g<1>32"),
    ),
    *bugs(
        divided,
        WRONG_RESULT,
        ("weights-not-added", r"add\.f32 %total, %total, %weight;", "mov.f32 %total, %weight;"),
        ("parts-not-rescaled", r"mul\.f32 %weight, %weight, %maximum;", ""),
        ("stale-maximum", r"max\.f32 %most, %most, %maximum;", "mov.f32 %most, %maximum;"),
        ("query-of-a-longer-head", r"(rem\.u32 %query_m\d, %query_m\d, )5;", r"\g<1>6;"),
        ("maximum-of-another-row", r"{%max_m8, %state_sum}", "{%max_m0, %state_sum}"),
        ("empty-part-with-weight", r"mov\.f32 %none, 0f00000000;", "mov.f32 %none, 0f3F800000;"),
        times=None,
    ),
    *bugs(
        divided,
        "race",
        ("states-overlap", r"(mad\.wide\.u32 %offset, %batch, )20", r"\g<1>19"),
        ("parts-in-one-place", r"(%batch2;\n *mad\.lo\.u64 %out_offset, %wide, )1920,", r"\g<1>0,"),
        times=None,
    ),
    *bugs(
        divided,
        "out-of-bounds",
        ("mask-of-a-longer-head", r"(rem\.u32 %query, %query, )5;", r"\g<1>6;"),
        times=None,
    ),
)  # fmt: skip
