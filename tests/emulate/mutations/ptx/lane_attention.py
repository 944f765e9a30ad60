"""Bugs in attention by multiply-adds: elements that lanes read, and weights that they exchange."""

from __future__ import annotations

from functools import cache

from kgen.schedule import FmaAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = FmaAttention(block_m=32, block_n=16, num_warps=2, num_stages=2)


@cache
def by_lanes() -> Program:
    """Four blocks of keys of two heads that share them."""
    options = "causal diagonal=bottom_right kv_length scale=2"
    return rendered(f"attention q=1x2x40x24,k=1x1x60x24 f32 {options}", "sm_80", SCHEDULE)


PROGRAMS = (by_lanes,)

MUTATIONS = (
    *bugs(
        by_lanes,
        "race",
        ("no-barrier-behind-a-block", r"(cp\.async\.wait_group 0;\n) *bar\.sync 0;", r"\1"),
        times=2,
        place=1,
    ),
    *bugs(
        by_lanes,
        "pending-copy",
        ("no-wait", r"cp\.async\.wait_group 0;", ""),
        times=2,
        place=1,
    ),
    *bugs(
        by_lanes,
        WRONG_RESULT,
        ("weights-of-all-rows", r"0x1C1F", "0x1F"),
        ("weights-of-one-lane", r"(shfl\.sync\.idx\.b32 \S+ \S+) \d,", r"\1 0,"),
        ("weight-of-the-neighbour", r"(%p_m0, %s_m0_n)1,", r"\g<1>0,"),
        ("stale-maximum", r"max\.f32 (%new_m\d), %new_m\d, (%max_m\d);", r"mov.f32 \1, \2;"),
        ("results-not-rescaled", r"mul\.f32 %acc_m\d_n\d+, %acc_m\d_n\d+, %factor;", ""),
        ("swapped-elements", r"{%k_n1_k0, %k_n1_k1,", "{%k_n1_k1, %k_n1_k0,"),
        ("keys-of-lanes", r"(mul\.lo\.u32 %k_lane, %k_lane,) 256;", r"\1 128;"),
        ("queries-of-the-first-warp", r"mad\.lo\.u32 %q_lane, %warp_q, .*\n", ""),
        ("mask-off-by-one", r"setp\.gt\.s32 (%attends, %stop,)", r"setp.ge.s32 \1"),
        times=None,
    ),
)  # fmt: skip
