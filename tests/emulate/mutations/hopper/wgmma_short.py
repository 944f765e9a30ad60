"""Bugs in the fp8 parts of the Hopper product: sums of reduced precision in two pieces."""

from __future__ import annotations

from functools import cache

from kgen.schedule import PromotedWgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def short_product() -> Program:
    """Two warpgroups that multiply, two halves of 32 columns, three tiles of k, two stages."""
    schedule = PromotedWgmmaMatmul(block_m=128, block_n=64, block_k=128, num_stages=2, consumers=2)
    spec = "matmul 136x72x320 e4m3 layout=nt scales=a out=bf16"
    return rendered(spec, "sm_90a", schedule)


PROGRAMS = (short_product,)

MAINLOOP = r"(^mainloop:\n(?s:.*?))"
WAIT = r"^ *wgmma\.wait_group\.sync\.aligned {};\n"
FENCE = r"^ *wgmma\.fence\.sync\.aligned;\n"
LET_GO = r"^ *@%arrives mbarrier\.arrive.*\n"

MUTATIONS = (
    *bugs(
        short_product,
        "pending-wgmma",
        ("first-piece-not-awaited", WAIT.format(1), ""),
        ("first-piece-awaited-too-little", r"(wgmma\.wait_group\.sync\.aligned )1;", r"\g<1>2;"),
        ("last-piece-not-awaited", WAIT.format(0), ""),
    ),
    *bugs(
        short_product,
        "missing-wgmma-fence",
        ("fence-dropped", FENCE, ""),
    ),
    *bugs(
        short_product,
        "race",
        (
            "stage-given-back-before-the-last-piece",
            "(" + WAIT.format(0) + r")((?s:.*?)" + LET_GO + ")",
            r"\2\1",
        ),
    ),
    *bugs(
        short_product,
        "deadlock",
        ("stages-not-given-back", LET_GO, ""),
    ),
    *bugs(
        short_product,
        WRONG_RESULT,
        ("sums-begin-with-the-tile-before", MAINLOOP + r"%b, !%scale_d,", r"\1%b, %scale_d,"),
        ("steps-forgotten", MAINLOOP + r"%b, %scale_d,", r"\1%b, !%scale_d,"),
        ("columns-of-the-other-half", r"(add\.u32 %low, %b_at, )256;", r"\g<1>0;"),
        ("step-of-k", r"(add\.u32 %low, %b_at, )258;", r"\g<1>260;"),
        ("not-promoted", r"^ *add\.f32 %acc_m8_n32, %acc_m8_n32, %part_m8_n32;\n", ""),
        (
            "promoted-elsewhere",
            r"(add\.f32 %acc_m0_n0, %acc_m0_n0, )%part_m0_n0;",
            r"\1%part_m0_n1;",
        ),
        ("scale-forgotten", r"^ *mul\.f32 %acc_m8_n32, %acc_m8_n32, %scale_a;\n", ""),
    ),
)
