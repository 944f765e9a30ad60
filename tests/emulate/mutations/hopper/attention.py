"""Bugs in attention by wgmma: the ring of keys and values, fragments, weights, values beyond the
length."""

from __future__ import annotations

from functools import cache

from kgen.schedule import WgmmaAttention
from tests.emulate.mutations.hopper.wgmma import WAIT
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = WgmmaAttention(block_m=128, block_n=16, num_stages=2)


@cache
def warpgroups() -> Program:
    """Two consumers, the second with 6 queries, and four blocks of keys for each batch element."""
    options = "causal diagonal=bottom_right window=30 kv_length"
    return rendered(f"attention q=2x1x70x24,k=2x1x100x24 f16 {options}", "sm_90a", SCHEDULE)


@cache
def single_block() -> Program:
    """Two consumers that meet only before their outputs."""
    return rendered("attention q=1x1x70x16,k=1x1x16x16 f16", "sm_90a", SCHEDULE)


PROGRAMS = (warpgroups, single_block)

MUTATIONS = (
    *bugs(single_block, "race", ("outputs-over-queries", r"^ *bar\.sync 1, 256;\n", "")),
    *bugs(
        warpgroups,
        "race",
        ("queries-not-awaited", WAIT.format("wait_queries"), ""),
        ("values-not-awaited", WAIT.format("wait_values"), ""),
        ("zeros-not-awaited", r"^ *bar\.sync 1, 256;\n(?= *\}\nwhole_values:)", ""),
    ),
    *bugs(
        warpgroups,
        "pending-copy",
        ("values-not-transposed", r"(\}, %v, %scale_d, 1, 1), 1;", r"\1, 0;"),
        ("keys-not-awaited", WAIT.format("wait_keys"), ""),
        ("keys-of-the-next-stage", r"(mad\.lo\.u32 %k_at, )%stage,", r"\1 1,"),
    ),
    *bugs(
        warpgroups,
        "pending-wgmma",
        ("scores-not-awaited", r"^ *wgmma\.wait_group\.sync\.aligned 0;\n", ""),
        times=2,
        place=0,
    ),
    *bugs(
        warpgroups,
        "missing-wgmma-fence",
        ("fence-before-scores-dropped", r"^ *wgmma\.fence\.sync\.aligned;\n", ""),
        times=2,
        place=0,
    ),
    *bugs(
        warpgroups,
        "missing-wgmma-fence",
        ("fence-before-results-dropped", r"^ *wgmma\.fence\.sync\.aligned;\n", ""),
        times=2,
        place=1,
    ),
    *bugs(
        warpgroups,
        "missing-proxy-fence",
        ("zeros-in-the-other-proxy",
         r"^ *fence\.proxy\.async\.shared::cta;\n(?= *bar\.sync 1, 256)", ""),
    ),
    *bugs(
        warpgroups,
        "transaction-count",
        ("bytes-of-fewer-queries", r"(expect_tx\S+ _, \[%barriers\+48\], )16384;", r"\g<1>8192;"),
        ("stage-in-use-not-awaited", WAIT.format("wait_empty"), ""),
    ),
    *bugs(
        warpgroups,
        "deadlock",
        ("stage-awaited-in-the-other-phase", r"(xor\.b32 %parity, %phase, )1;", r"\g<1>0;"),
        ("stages-not-given-back", r"^ *@%arrives mbarrier\.arrive.*\n", ""),
        ("stage-of-values-given-back", r"(@%arrives mbarrier\S+ _, \[%full\+)32\]", r"\g<1>16]"),
    ),
    *bugs(
        warpgroups,
        WRONG_RESULT,
        ("sums-not-rescaled", r"mul\.f32 %sum_m\d, %sum_m\d, %factor;", ""),
        ("results-not-rescaled", r"mul\.f32 %acc_m\d_n\d+, %acc_m\d_n\d+, %factor;", ""),
        ("stale-maximum", r"max\.f32 (%new_m\d), %new_m\d, (%max_m\d);", r"mov.f32 \1, \2;"),
        ("mask-off-by-one", r"setp\.gt\.s32 (%attends, %stop,)", r"setp.ge.s32 \1"),
        ("window-off-by-one", r"setp\.le\.and\.s32 (%attends, %start,)", r"setp.lt.and.s32 \1"),
        ("rows-of-all-warps", r"sub\.u32 %warp, %warp, 4;", "mov.u32 %warp, %warp;"),
        ("queries-of-the-first-consumer",
         r"(mad\.lo\.u32 %q_at, %consumer, )512", r"\g<1>0"),
        ("swapped-weights", r"(cvt\.rn\.f16x2\.f32 %p_m\d_k\d+), (%s_\w+), (%s_\w+);",
         r"\1, \3, \2;"),
        ("swapped-fragment", r"\{(%p_m0_k\d+), (%p_m8_k\d+), ", r"{\2, \1, "),
        ("scores-added-to-the-last", r"!%scale_d", "%scale_d"),
        ("keys-of-the-first-block", r"add\.u32 %key, %key, 16;", ""),
        ("one-value-too-few", r"max\.s32 %first, %keys_left, 0;",
         "sub.s32 %first, %keys_left, 1;\\n    max.s32 %first, %first, 0;"),
        times=None,
    ),
)  # fmt: skip
