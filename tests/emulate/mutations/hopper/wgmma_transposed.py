"""Bugs in Hopper products whose left operand is transposed on its way to registers."""

from __future__ import annotations

from functools import cache

from kgen.schedule import PromotedWgmmaMatmul, WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def swapped_product() -> Program:
    """Bytes: two warpgroups with 64 columns each, B in registers; four tiles of k, two stages."""
    schedule = WgmmaMatmul(
        block_m=16, block_n=128, block_k=128, num_stages=2, consumers=2, swap=True
    )
    return rendered("matmul 24x112x400 s8", "sm_90a", schedule)


@cache
def gathered_product() -> Program:
    """tf32: a warpgroup with 64 rows, A in registers, word by word; four tiles of k, two stages."""
    schedule = WgmmaMatmul(block_m=64, block_n=16, block_k=32, num_stages=2, consumers=1)
    return rendered("matmul 60x24x104 f32 math=tf32 layout=tt", "sm_90a", schedule)


@cache
def stored_product() -> Program:
    """fp8: promoted, and stored in strips by words."""
    schedule = PromotedWgmmaMatmul(
        block_m=64, block_n=128, block_k=128, num_stages=2, consumers=2, swap=True, tma_store=True
    )
    return rendered("matmul 72x112x272 e4m3 out=bf16", "sm_90a", schedule)


PROGRAMS = (swapped_product, gathered_product, stored_product)

MAINLOOP = r"(^mainloop:\n(?s:.*?))"
WAIT = r"^ *wgmma\.wait_group\.sync\.aligned 3;\n"
FENCE = r"^ *wgmma\.fence\.sync\.aligned;\n"
LET_GO = r"^ *@%arrives mbarrier\.arrive.*\n"

MUTATIONS = (
    *bugs(
        swapped_product,
        "pending-wgmma",
        ("fragments-loaded-while-in-use", MAINLOOP + WAIT, r"\1"),
        ("one-group-too-many-under-way", MAINLOOP + r"(aligned )3;", r"\1\g<2>4;"),
    ),
    *bugs(
        swapped_product,
        "missing-wgmma-fence",
        ("fragments-multiplied-unfenced", MAINLOOP + FENCE, r"\1"),
    ),
    *bugs(
        swapped_product,
        "race",
        (
            "stage-given-back-before-the-last-step",
            MAINLOOP + "((?:" + WAIT + r"(?s:.*?)){3})(" + WAIT + r".*\n)(" + LET_GO + ")",
            r"\1\4\2\3",
        ),
    ),
    *bugs(
        swapped_product,
        WRONG_RESULT,
        ("selector-of-even-bytes", r"(%even_bytes, )0x6420,", r"\g<1>0x6240,"),
        ("selectors-exchanged", r"0x2064, %first_is_lower", "0x6420, %first_is_lower"),
        ("selector-of-odd-bytes", r"0x7531, 0x3175,", "0x3175, 0x7531,"),
        ("rows-of-k-in-their-order", r"(bfe\.u32 %bit, %bit, )3, 1;", r"\g<1>4, 1;"),
        ("not-transposed", MAINLOOP + r"x4\.trans\.shared", r"\1x4.shared"),
        ("step-of-k-of-the-fragments", MAINLOOP + r"\[%b_at\+4096\]", r"\1[%b_at+8192]"),
        ("columns-of-the-other-warpgroup", r"^ *mad\.lo\.u32 %b_lane, %consumer, 64.*\n", ""),
        ("not-swizzled", r"^ *xor\.b32 %b_lane, %b_lane, %moved;\n", ""),
    ),
    *bugs(
        swapped_product,
        "warning: proxy-read-overwritten",
        (
            "copy-engine-not-fenced-off",
            MAINLOOP + r"^ *fence\.proxy\.async\.shared::cta;\n",
            r"\1",
        ),
    ),
    *bugs(
        gathered_product,
        "race",
        ("rows-of-outputs-as-elsewhere", r"(mad\.lo\.u32 %row, %bit, )16, %row;", r"\g<1>8, %row;"),
    ),
    *bugs(
        gathered_product,
        WRONG_RESULT,
        ("half-of-k-in-the-other-chunk", MAINLOOP + r"\[%a_at_xor64\+512\]", r"\1[%a_at+512]"),
    ),
    *bugs(
        stored_product,
        WRONG_RESULT,
        ("words-of-the-next-row", r"\[%put_xor16\+128\]", "[%put+128]"),
        ("strip-of-the-next-block", r"(mad\.lo\.u32 %box_n, %consumer, )64,", r"\g<1>128,"),
    ),
)  # fmt: skip
