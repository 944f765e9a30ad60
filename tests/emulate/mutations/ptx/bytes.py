"""Bugs in products of bytes: transposition in registers, integer sums, promotion, conversions."""

from __future__ import annotations

from functools import cache

from kgen.schedule import PromotedMatmul, SplitMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def integer_product() -> Program:
    """s8: both operands are transposed, sums are scaled, and rounded to s8 again."""
    schedule = SplitMatmul(block_m=32, block_n=32, block_k=64, num_stages=3, warp_m=16, warp_n=16)
    text = "matmul 70x56x168 s8 out=s8 layout=tn scales=a,b,out +bias+relu"
    return rendered(text, "sm_80", schedule)


@cache
def promoted_product() -> Program:
    """e4m3: B is transposed, sums of 64 of k are added in f32."""
    schedule = PromotedMatmul(
        block_m=32, block_n=32, block_k=64, num_stages=3, warp_m=16, warp_n=16, promote_k=64
    )
    return rendered("matmul 70x56x168 e4m3", "sm_89", schedule)


PROGRAMS = (integer_product, promoted_product)

MUTATIONS = (
    *bugs(
        integer_product,
        WRONG_RESULT,
        ("bytes-in-one-order-for-all-lanes", r"(%even_bytes, 0x6420, )0x2064", r"\g<1>0x6420"),
        ("odd-bytes-are-even", r"(%odd_bytes, )0x7531, 0x3175", r"\g<1>0x6420, 0x2064"),
        (
            "one-fragment-not-parted",
            r"^ *prmt\.b32 %b_n0_k32, %both, %b_n1_k32, %even_bytes;\n",
            "",
        ),
        (
            "parted-from-what-is-parted",
            r"(prmt\.b32 %a_m1_k48, )%both(, %a_m1_k48,)",
            r"\1%a_m0_k48\2",
        ),
        (
            "columns-of-the-other-neighbour",
            r"(\{%acc_m0_n1, %acc_m0_n3, .*\{)%b_n1_k0, (%b_n1_k16\})",
            r"\g<1>%b_n0_k0, \2",
        ),
        ("sum-not-converted", r"^ *cvt\.rn\.f32\.s32 %acc_m1_n2, .*\n", ""),
        (
            "scale-of-b-left-out",
            r"mul\.f32 %factor, %scale_a, %scale_b;",
            "mov.f32 %factor, %scale_a;",
        ),
        ("output-not-scaled", r"mul(\.f32 %acc_m1_n3, %acc_m1_n3_relu), %scale_out;", r"mov\1;"),
        ("rounded-to-zero", r"cvt\.rni(\.s32\.f32 %high, %acc_m0_n3;)", r"cvt.rzi\1"),
        (
            "bytes-packed-in-the-wrong-order",
            r"(%word, )%high, %low(, %word;\n *\}\n *st\.shared\.b32 \[%run_at\+0\])",
            r"\1%low, %high\2",
        ),
    ),
    *bugs(
        integer_product,
        "misaligned",
        ("bias-as-bytes", r"(mad\.lo\.u64 %bias_ptr, %bias_offset, )4,", r"\g<1>1,"),
    ),
    *bugs(
        promoted_product,
        WRONG_RESULT,
        ("promotion-dropped", r"^ *add\.f32 %acc_m8_n2, %acc_m8_n2, %part_m8_n2;\n", ""),
        (
            "sums-never-begin-again",
            r"(\{)(%part_m0_n1, %part_m0_n3, .*?)(\}, .*\{)%zero, %zero, %zero, %zero(\};)",
            r"\1\2\3\2\4",
        ),
        (
            "sums-begin-in-every-step",
            r"(\{%part_m0_n0, .*\{%b_n0_k32, .*\}, \{).*(\};)",
            r"\1%zero, %zero, %zero, %zero\2",
        ),
        ("rows-of-k-of-four-lanes", r"(and\.b32 %bit, %lane, )6;", r"\g<1>2;"),
        ("bits-of-k-not-added", r"^ *xor\.b32 %bit, %bit, %lane;\n", ""),
        (
            "not-transposed",
            r"\.trans(\.shared\.b16 \{%b_n0_k32, )",
            r"\1",
        ),
    ),
)
