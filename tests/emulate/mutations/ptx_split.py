"""Bugs in a product that the PTX templates cut along k: parts, then their sums."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SplitMatmul, WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def split_product() -> Program:
    """Four parts of k, two stages each; the second launch adds them in a fixed order."""
    schedule = SplitMatmul(
        block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16, split_k=4
    )
    return rendered("matmul 33x40x256 f16 +bias+relu", "sm_80", schedule)


@cache
def ring_product() -> Program:
    """Two products by wgmma, three parts of k each, of which the last ends early."""
    schedule = WgmmaMatmul(block_m=64, block_n=64, block_k=64, num_stages=2, consumers=1, split_k=3)
    return rendered("matmul 72x80x328 f16 batch=2", "sm_90a", schedule)


PROGRAMS = (split_product, ring_product)

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
        ("rows-of-the-sums-overlap", r"(mad\.lo\.u64 %out_offset, %wide, )80,", r"\g<1>40,"),
    ),
    *bugs(
        split_product,
        "out-of-bounds",
        ("one-part-too-many", r"(ld\.global\.v4\.f32 \{%part3.*%part\+)15840", r"\g<1>21120"),
        ("guard-of-the-sums", r"(setp\.ge\.u32 %outside, %col, )40;", r"\g<1>44;"),
        ("stride-of-the-parts", r"(mad\.lo\.u64 %out_offset, %wide, )5280,", r"\g<1>6400,"),
    ),
    *bugs(
        split_product,
        "misaligned",
        ("part-at-a-pair", r"(ld\.global\.v4\.f32 \{%part1.*%part\+)5280", r"\g<1>5288"),
    ),
    *bugs(
        split_product,
        WRONG_RESULT,
        ("part-twice", r"(ld\.global\.v4\.f32 \{%part2.*%part\+)10560", r"\g<1>5280"),
        ("part-left-out", r"^ *add\.f32 %acc_m0_n0, %acc_m0_n0, %part3_n0;\n", ""),
        ("depths-of-half-a-part", r"(mad\.lo\.u64 %b_from, %b_wide, )5120,", r"\g<1>2560,"),
        (
            "epilogue-in-every-part",
            r"(add\.f32 %acc_m0_n1, %acc_m0_n1, %)part2_n1;",
            r"\1part2_n2;",
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
