"""Bugs in skinny GEMMs, which stream B and add sums across lanes and warps."""

from __future__ import annotations

from functools import cache

from kgen.schedule import GemvMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def streamed_product() -> Program:
    """Two rows; a last tile that is not whole, along k and along n."""
    schedule = GemvMatmul(block_m=2, block_n=32, block_k=256, num_threads=128)
    return rendered("matmul 2x72x328 f16 +bias+relu", "sm_80", schedule)


PROGRAMS = (streamed_product,)

MUTATIONS = (
    *bugs(
        streamed_product,
        "race",
        ("barrier-dropped", r"^ *bar\.sync 0;\n", ""),
        ("warps-sums-overlap", r"(mad\.lo\.u32 %sums_at, %warp, )256,", r"\g<1>128,"),
        ("lanes-sums-overlap", r"(mad\.lo\.u32 %sums_at, %lane, )32,", r"\g<1>16,"),
    ),
    *bugs(
        streamed_product,
        "out-of-bounds",
        ("one-lane-too-many-stores", r"(setp\.lt\.u32 %stores, %lane, )4;", r"\g<1>5;"),
        ("columns-beyond-n", r"(setp\.lt\.u32 %inside, %col, )72;", r"\g<1>96;"),
        ("k-beyond-the-last", r"(setp\.lt\.u32 %more, %k, )328;(?!\n *@!)", r"\g<1>512;"),
        ("outputs-beyond-n", r"(setp\.ge\.u32 %outside, %col, )72;", r"\g<1>73;"),
    ),
    *bugs(
        streamed_product,
        WRONG_RESULT,
        (
            "one-step-of-a-sum-dropped",
            r"^ *shfl\.sync\.bfly\.b32 %other, %sum_m1_n5, 8, .*\n *add\.f32 .*\n",
            "",
        ),
        ("a-warp-left-out", r"^ *ld\.shared\.f32 %part, \[%sum_at\+512\];\n *add\.f32 .*\n", ""),
        ("a-of-the-row-before", r"(ld\.global\.v4\.b32 .*, \[%a_at\+)656\]", r"\g<1>640]"),
        ("k-stride-of-a", r"(add\.u64 %a_at, %a_at, )512;", r"\g<1>256;"),
    ),
)
