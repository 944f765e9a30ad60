"""Bugs in attention of e4m3: bytes in fragments, values widened on their way, scales."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = MmaAttention(block_m=32, block_n=16, num_warps=2, num_stages=2)


@cache
def of_bytes() -> Program:
    """Four blocks of keys of two heads that share them; scores of bytes."""
    options = "causal diagonal=bottom_right kv_length v_scale=0.375"
    return rendered(f"attention q=1x2x40x40,k=1x1x60x40 e4m3 {options}", "sm_89", SCHEDULE)


PROGRAMS = (of_bytes,)

MUTATIONS = (
    *bugs(
        of_bytes,
        "race",
        ("no-barrier-behind-a-block", r"(cp\.async\.wait_group 0;\n) *bar\.sync 0;", r"\1"),
        times=2,
        place=1,
    ),
    *bugs(
        of_bytes,
        "pending-copy",
        ("no-wait", r"cp\.async\.wait_group 0;", ""),
        times=2,
        place=1,
    ),
    *bugs(
        of_bytes,
        WRONG_RESULT,
        ("results-not-scaled", r"mul\.f32 %share, %share, .*", ""),
        ("halves-swapped", r"(cvt\.rn\.f16x2\.e4m3x2 %v_unit0_\d_low), %l;", r"\1, %h;"),
        ("swapped-fragment-of-keys", r"(ldmatrix\S+ {%k_\w+), (%k_\w+), (%k_\w+),", r"\1, \3, \2,"),
        ("swapped-weights", r"(cvt\.rn\.f16x2\.f32 %p_m\d_k\d+), (%s_\w+), (%s_\w+);",
         r"\1, \3, \2;"),
        ("other-step-of-queries", r"(e4m3\.f32 .*{%q_m0_k)0,", r"\g<1>32,"),
        ("mask-off-by-one", r"setp\.gt\.s32 (%attends, %stop,)", r"setp.ge.s32 \1"),
        times=None,
    ),
)  # fmt: skip
