"""Bugs in a product that the PTX templates cut along k: parts, then their sums."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SplitFmaMatmul, SplitMatmul, WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def split_product() -> Program:
    """Four split-k slices, two stages each; the second launch adds them in a fixed order."""
    schedule = SplitMatmul(
        block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16, split_k=4
    )
    return rendered("matmul 33x40x256 f16 +bias+relu", "sm_80", schedule)


@cache
def ring_product() -> Program:
    """Two products by wgmma, three split-k slices each, of which the last ends early."""
    schedule = WgmmaMatmul(block_m=64, block_n=64, block_k=64, num_stages=2, consumers=1, split_k=3)
    return rendered("matmul 72x80x328 f16 batch=2", "sm_90a", schedule)


@cache
def scalar_product() -> Program:
    """Two products in f32, three split-k slices each, of which the last ends early."""
    schedule = SplitFmaMatmul(
        block_m=16, block_n=16, block_k=8, num_stages=2, thread_m=2, thread_n=4, split_k=3
    )
    return rendered("matmul 20x24x44 f32 batch=2", "sm_80", schedule)


PROGRAMS = (split_product, ring_product, scalar_product)

MUTATIONS = (
    *bugs(
        split_product,
        "race",
        ("parts-overlap", r"(mad\.lo\.u64 %out_offset, %wide, )5280,", r"\g<1>2640,"),
        ("parts-in-one-place", r"(mad\.lo\.u64 %out_offset, %wide, )5280,", r"\g<1>0,"),
        (
            "barrier-of-the-parts-dropped",
            r"^ *bar\.sync 0;\n(?=\s*add\.u32 %a_at,)",
            "",
        ),
        ("sums-of-another-row", r"(div\.u32 %row, %thread, )40;", r"\g<1>44;"),
        ("rows-of-the-sums-overlap", r"(mad\.lo\.u64 %out_offset, %wide, )80,", r"\g<1>40,"),
    ),
    *bugs(
        split_product,
        "out-of-bounds",
        ("one-part-too-many", r"(ld\.global\.f32 %part3_n0, \[%part\+)15840", r"\g<1>21120"),
        ("guard-of-the-sums", r"(setp\.gt\.u32 %outside, %thread, )1319;", r"\g<1>1327;"),
        ("stride-of-the-parts", r"(mad\.lo\.u64 %out_offset, %wide, )5280,", r"\g<1>6400,"),
        (
            "first-k-of-more-parts",
            r"(rem\.u32 %k0, %batch, 4;\n *mul\.lo\.u32 %k0, %k0, )64",
            r"\g<1>80",
        ),
    ),
    *bugs(
        split_product,
        "misaligned",
        ("part-at-half-a-word", r"(ld\.global\.f32 %part1_n0, \[%part\+)5280", r"\g<1>5282"),
    ),
    *bugs(
        split_product,
        WRONG_RESULT,
        ("part-twice", r"(ld\.global\.f32 %part2_n0, \[%part\+)10560", r"\g<1>5280"),
        ("part-left-out", r"^ *add\.f32 %acc_m0_n0, %acc_m0_n0, %part3_n0;\n", ""),
        ("depths-of-half-a-part", r"(mul\.lo\.u32 %k0, %k0, )64;", r"\g<1>32;"),
        ("one-of-b-s-parts", r"^ *add\.u32 %b_row, %b_row, %k0;\n", ""),
    ),
    *bugs(
        scalar_product,
        WRONG_RESULT,
        ("parts-of-k-overlap", r"(mul\.lo\.u32 %k0, %k0, )16;", r"\g<1>8;"),
        ("last-part-is-the-first", r"(rem\.u32 %k0, %batch, )3;", r"\g<1>2;"),
        ("sums-of-one-product", r"(mad\.lo\.u64 %part, %offset, )5760,", r"\g<1>0,"),
    ),
    *bugs(
        scalar_product,
        "out-of-bounds",
        ("part-of-the-other-product", r"(div\.u32 %product, %batch, )3;", r"\g<1>2;"),
        ("part-runs-past-k", r"(sub\.s32 %a_cols_left, )44,", r"\g<1>48,"),
        ("next-sums-too-far", r"(mad\.lo\.u64 %part, %offset, )5760,", r"\g<1>7680,"),
    ),
    *bugs(
        scalar_product,
        "race",
        (
            "scalar-parts-overlap",
            r"(mad\.lo\.u64 %out_offset, %wide, )1920,(?=(?s:.*)\.entry)",
            r"\g<1>960,",
        ),
    ),
    *bugs(
        ring_product,
        WRONG_RESULT,
        ("parts-of-k-overlap", r"(mul\.lo\.u32 %k, %k, )128;", r"\g<1>64;"),
        ("last-part-is-the-first", r"(rem\.u32 %k, %batch, )3;", r"\g<1>2;"),
        ("parts-of-the-other-product", r"(div\.u32 %batch, %batch, )3;", r"\g<1>2;"),
        ("sums-of-one-product", r"(mad\.lo\.u64 %part, %offset, )69120,", r"\g<1>0,"),
    ),
    *bugs(
        ring_product,
        "deadlock",
        ("part-ends-a-tile-early", r"(add\.u32 %k_end, %k, )128;", r"\g<1>64;"),
    ),
    *bugs(
        ring_product,
        "race",
        ("parts-of-a-ring-overlap", r"(mad\.lo\.u64 %out_offset, %wide, )23040,", r"\g<1>11520,"),
    ),
    *bugs(
        ring_product,
        "out-of-bounds",
        ("next-product-too-far", r"(mad\.lo\.u64 %part, %offset, )69120,", r"\g<1>92160,"),
    ),
)
