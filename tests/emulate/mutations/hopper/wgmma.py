"""Bugs in the Hopper product that the PTX templates render: TMA, a ring of mbarriers, wgmma."""

from __future__ import annotations

from functools import cache

from kgen.schedule import WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def wgmma_product() -> Program:
    """A producer and a consumer warpgroup, two stages, four tiles of k, the last one partial."""
    schedule = WgmmaMatmul(block_m=64, block_n=64, block_k=64, num_stages=2, consumers=1)
    return rendered("matmul 72x72x200 f16 +bias", "sm_90a", schedule)


PROGRAMS = (wgmma_product,)

#: A loop that waits for an mbarrier, by its label.
WAIT = r"^{0}:\n(?:.*\n){{2}} *mbarrier\.try_wait.*\n *@!%complete bra {0};\n *\}}\n"
MAINLOOP = r"(^mainloop:\n(?s:.*?))"
WAIT_GROUP = r"^ *wgmma\.wait_group\.sync\.aligned {};\n"

MUTATIONS = (
    *bugs(
        wgmma_product,
        "race",
        (
            "stage-given-back-too-early",
            r"(wgmma\.wait_group\.sync\.aligned )1;",
            r"\g<1>2;",
        ),
        ("barrier-behind-init-dropped", r"^ *bar\.sync 0;\n", ""),
        ("tiles-overlap", r"(mul\.lo\.u32 %m0, %m0, )64;", r"\g<1>32;"),
    ),
    *bugs(
        wgmma_product,
        "pending-wgmma",
        ("last-products-not-awaited", WAIT_GROUP.format(0), ""),
    ),
    *bugs(
        wgmma_product,
        "pending-copy",
        ("first-tile-not-awaited", WAIT.format("wait_first_full"), ""),
        ("tiles-not-awaited", WAIT.format("wait_full"), ""),
    ),
    *bugs(
        wgmma_product,
        "missing-wgmma-fence",
        (
            "fence-of-the-first-tile-dropped",
            r"^ *wgmma\.fence\.sync\.aligned;\n(?=(?s:.*)^mainloop:)",
            "",
        ),
    ),
    *bugs(
        wgmma_product,
        "transaction-count",
        ("bytes-of-a-only", r"(expect_tx\S+ _, \[%full\], )16384;", r"\g<1>8192;"),
        ("stage-in-use-not-awaited", WAIT.format("wait_empty"), ""),
    ),
    *bugs(
        wgmma_product,
        "deadlock",
        ("stage-awaited-in-the-other-phase", r"(xor\.b32 %parity, %phase, )1;", r"\g<1>0;"),
        (
            "next-stage-given-back",
            MAINLOOP + r"(mad\.lo\.u32 %before, %stage, 8, %empties;\n)((?s:.*?\}\n))",
            r"\1\3\2",
        ),
        ("stages-not-given-back", r"^ *@%arrives mbarrier\.arrive.*\n", ""),
        ("one-tile-too-many", r"(setp\S+ %again, %tile, )4;", r"\g<1>5;"),
    ),
    *bugs(
        wgmma_product,
        "misaligned",
        ("stages-of-half-a-swizzle", r"(mad\.lo\.u32 %stage_at, %stage, )16384,", r"\g<1>16448,"),
    ),
    *bugs(
        wgmma_product,
        "out-of-bounds",
        ("ring-of-four", MAINLOOP + r"(setp\S+ %wraps, %stage, )2;", r"\1\g<2>4;"),
        ("row-guard-off-by-one", r"(sub\.s32 %rows_left, )72,", r"\g<1>73,"),
    ),
    *bugs(
        wgmma_product,
        WRONG_RESULT,
        ("rows-and-columns-swapped", r"\[%b_map, \{%from, %k\}\]", "[%b_map, {%k, %from}]"),
        ("one-tile-too-few", r"(setp\S+ %again, %tile, )4;", r"\g<1>3;"),
        ("b-as-if-not-transposed", MAINLOOP + r"(%scale_d, 1, 1, 0, )1;", r"\1\g<2>0;"),
        ("step-of-k-of-a", MAINLOOP + r"(add\.u32 %low, %a_at, )2;", r"\1\g<2>4;"),
        ("swizzle-of-the-descriptor", r"(mov\.b32 %a_high, )1073741888;", r"\g<1>-2147483584;"),
        ("sums-of-the-first-tile-forgotten", MAINLOOP + r"%b, %scale_d,", r"\1%b, !%scale_d,"),
    ),
)
