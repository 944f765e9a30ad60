"""Bugs in kernels that share K, found although only a sample of the CTAs runs."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SplitMatmul, WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

CTAS = 3


@cache
def split_sample() -> Program:
    """Four split-k slices, and the launch that adds them."""
    schedule = SplitMatmul(
        block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16, split_k=4
    )
    return rendered("matmul 190x44x256 f16", "sm_80", schedule, data="every", workgroups=CTAS)


@cache
def stream_sample() -> Program:
    """Stream-k: twelve CTAs share four block tiles of eight tiles along k."""
    schedule = WgmmaMatmul(
        block_m=64,
        block_n=64,
        block_k=64,
        num_stages=3,
        consumers=1,
        num_workgroups=12,
        group_m=2,
        stream_k=True,
    )
    return rendered("matmul 120x128x512 f16", "sm_90a", schedule, data="every", workgroups=CTAS)


PROGRAMS = (split_sample, stream_sample)
SEEDS = (1,)

MUTATIONS = (
    *bugs(
        split_sample,
        WRONG_RESULT,
        ("part-left-out", r"^ *add\.f32 %acc_m0_n0, %acc_m0_n0, %part3_n0;\n", ""),
        ("half-parts", r"(mul\.lo\.u32 %k0, %k0, )64;", r"\g<1>32;"),
    ),
    *bugs(
        split_sample,
        "race",
        ("parts-in-one-place", r"(mad\.lo\.u64 %out_offset, %wide, )33440,", r"\g<1>0,"),
    ),
    *bugs(
        stream_sample,
        WRONG_RESULT,
        ("second-part-left-out", r"^ *@%more bra collect_part;\n", ""),
        ("every-part-from-0", r"(mul\.lo\.u32 %k, )%first_tile, 64;", r"\g<1>0, 64;"),
    ),
    *bugs(
        stream_sample,
        "race",
        ("flag-relaxed", r"st\.release\.gpu(\.global\.u32 \[%flag\])", r"st.relaxed.gpu\1"),
    ),
)
