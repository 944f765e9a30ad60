"""Bugs in attention by mma.sync: the ring, fragments, the online softmax, masks."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = MmaAttention(block_m=32, block_n=16, num_warps=2, num_stages=2)


@cache
def masked() -> Program:
    """Six blocks of keys of two heads that share them, with every kind of mask."""
    options = "causal diagonal=bottom_right window=60 mask=40x90 mask_dtype=f32 kv_length"
    return rendered(f"attention q=2x2x40x24,k=2x1x90x24 f16 {options}", "sm_80", SCHEDULE)


@cache
def paged() -> Program:
    """Blocks of keys from a window on, which begins inside a page."""
    options = "causal diagonal=bottom_right window=40 page_size=48 pages=9"
    return rendered(f"attention q=2x2x17x16,k=2x1x144x16 f16 {options}", "sm_80", SCHEDULE)


PROGRAMS = (masked, paged)

MUTATIONS = (
    *bugs(
        paged,
        WRONG_RESULT,
        ("table-of-another-element", r"mad\.wide\.u32 %page_table_ptr.*\n", ""),
        ("page-of-the-block-before", r"(add\.u32 %column, %k_key, )16;", r"\g<1>0;"),
        ("page-not-left", r"setp\.eq\.u32 (%crosses, %v_in_page, )0;", r"setp.eq.u32 \g<1>99;"),
        ("bytes-of-a-page", r"(mad\.lo\.s64 %v_from, %distance, )\d+,", r"\g<1>0,"),
        ("first-key-of-the-page", r"add\.u32 %v_row, %v_row, %v_in_page;", ""),
        times=None,
    ),
    *bugs(
        masked,
        "race",
        ("no-barrier-behind-a-block", r"(cp\.async\.wait_group 0;\n) *bar\.sync 0;", r"\1"),
        times=2,
        place=1,
    ),
    *bugs(
        masked,
        "race",
        ("queries-overwritten", r"^ *bar\.sync 0;\n( *add\.u32 %k_at, )", r"\1"),
    ),
    *bugs(
        masked,
        "pending-copy",
        ("no-wait", r"cp\.async\.wait_group 0;", ""),
        times=2,
        place=1,
    ),
    *bugs(
        masked,
        WRONG_RESULT,
        ("sums-not-rescaled", r"mul\.f32 %sum_m\d, %sum_m\d, %factor;", ""),
        ("results-not-rescaled", r"mul\.f32 %acc_m\d_n\d+, %acc_m\d_n\d+, %factor;", ""),
        ("stale-maximum", r"max\.f32 (%new_m\d), %new_m\d, (%max_m\d);", r"mov.f32 \1, \2;"),
        ("maxima-of-one-lane", r"shfl\.sync\.bfly\.b32 (%other_m\d), (%new_m\d), .*;",
         r"mov.b32 \1, \2;"),
        ("sums-of-one-lane", r"shfl\.sync\.bfly\.b32 (%other_m\d), %sum_m\d, .*;",
         r"mov.b32 \1, 0;"),
        ("mask-off-by-one", r"setp\.gt\.s32 (%attends, %stop,)", r"setp.ge.s32 \1"),
        ("window-off-by-one", r"setp\.le\.and\.s32 (%attends, %start,)", r"setp.lt.and.s32 \1"),
        ("swapped-weights", r"(cvt\.rn\.f16x2\.f32 %p_m\d_k\d+), (%s_\w+), (%s_\w+);",
         r"\1, \3, \2;"),
        ("swapped-fragment-of-values", r"(\.trans\.\S+ {)(%v_\w+), (%v_\w+), ", r"\1\3, \2, "),
        ("length-of-another-element", r"mad\.wide\.u32 %kv_length_ptr.*\n", ""),
        ("mask-of-the-first-block", r"add\.u64 %mask_at, %mask_at, 64;", ""),
        ("large-exponents-rounded",
         r"(setp\.gt(?:\.or)?\.f32 %far, %\w+), 0f\w+", r"\1, 0f7F800000"),
        ("maximum-subtracted-twice", r"selp\.f32 (%other_m\d), 0f0+, %other_m\d, %far;", ""),
        ("results-not-divided", r"rcp\.approx\.ftz\.f32 %share, ", "mov.f32 %share, "),
        times=None,
    ),
)  # fmt: skip
