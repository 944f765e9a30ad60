"""Bugs in the products that the PTX templates render. Patterns name registers and the
instructions around them, so that they still match once if a template changes the order of
others."""

from __future__ import annotations

from functools import cache

from kgen.schedule import FmaMatmul, MmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def tensor_product() -> Program:
    """Tensor cores: cp.async, three stages, ldmatrix, outputs staged in shared memory."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=3, warp_m=16, warp_n=16)
    return rendered("matmul 70x56x168 f16 +bias+relu", "sm_80", schedule)


@cache
def staged_product() -> Program:
    """Tensor cores of sm_75: no asynchronous copies, a register-staged double buffer."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=16, num_stages=2, warp_m=16, warp_n=16)
    return rendered("matmul 33x37x72 f16", "sm_75", schedule)


@cache
def plain_product() -> Program:
    """FMA from shared memory, a register-staged double buffer, outputs stored one by one."""
    schedule = FmaMatmul(block_m=32, block_n=32, block_k=8, num_stages=2, thread_m=2, thread_n=4)
    return rendered("matmul 33x37x20 f32", "sm_80", schedule)


PROGRAMS = (tensor_product, staged_product, plain_product)

#: Where the barriers and waits of a product with stages are.
FIRST = r"(?=\s*add\.u32 %a_at,)"  # before the first fragments are loaded
LOOP = r"(?=\s*add\.u32 %read_stage,)"  # at the end of each step along k
BARRIER = r"^ *bar\.sync 0;\n"

TENSOR_PRODUCT = (
    *bugs(
        tensor_product,
        "race",
        ("output-barrier-dropped", BARRIER + r"(?=\s*\.reg \.u32 %strip)", ""),
        ("warp-barrier-dropped", r"^ *bar\.warp\.sync 0xffffffff;\n", ""),
        (
            "warp-barrier-moved",
            r"( *bar\.warp\.sync 0xffffffff;\n)((?s:.*?ld\.shared\S+ .*?;\n))",
            r"\2\1",
        ),
        (
            "loop-barrier-before-wait",
            r"(cp\.async\.wait_group 1;)\n( *bar\.sync 0;)" + LOOP,
            r"\2\1",
        ),
        ("first-barrier-dropped", BARRIER + FIRST, ""),
        ("loop-barrier-dropped", BARRIER + LOOP, ""),
        ("stage-copied-over-in-flight", r"(mov\.u32 %write_stage, )8192;", r"\g<1>4096;"),
        ("tiles-overlap", r"(mul\.lo\.u32 %n0, %n0, )32;", r"\g<1>16;"),
        (
            "line-of-another-warp",
            r"mad\.lo\.u32 %strip, %warp, 512,",
            "mad.lo.u32 %strip, %warp, 256,",
        ),
        ("stage-copied-over-in-use", r"(mov\.u32 %write_stage, )8192;", r"\g<1>0;"),
    ),
    *bugs(
        tensor_product,
        "pending-copy",
        (
            "first-wait-dropped",
            r"^ *cp\.async\.wait_group 1;\n(?=\s*bar\.sync 0;" + FIRST + ")",
            "",
        ),
        ("first-wait-weakened", r"wait_group 1;(?=\s*bar\.sync 0;" + FIRST + ")", "wait_group 2;"),
        ("loop-wait-dropped", r"^ *cp\.async\.wait_group 1;\n(?=\s*bar\.sync 0;" + LOOP + ")", ""),
        ("loop-wait-weakened", r"wait_group 1;(?=\s*bar\.sync 0;" + LOOP + ")", "wait_group 2;"),
        ("commit-dropped", r"cp\.async\.commit_group;(?=\s*cp\.async\.wait_group)", ""),
    ),
    *bugs(
        tensor_product,
        "uninitialised-read",
        (
            "copy-dropped",
            r"^ *cp\.async\S* \[%b_put\+2048\], .*, %b_col0_bytes;\n",
            "",
        ),
        (
            "copy-of-half-a-unit",
            r"(cp\.async\.)cg(\S* \[%a_put\+0\], \[%a_from\+0\], )16, %bytes;",
            r"min.s32 %bytes, %bytes, 8; \1ca\g<2>8, %bytes;",
        ),
        ("starts-at-the-last-stage", r"(mov\.u32 %read_stage, )0;", r"\g<1>8192;"),
    ),
    *bugs(
        tensor_product,
        "out-of-bounds",
        ("ring-one-stage-too-long", r"(%wrap, %read_stage, )12288;", r"\g<1>16384;"),
        ("ring-written-one-stage-too-long", r"(%wrap, %write_stage, )12288;", r"\g<1>16384;"),
        ("row-guard-off-by-one", r"(sub\.s32 %rows_left, )70,", r"\g<1>71,"),
        ("rows-read-without-guard", r"(selp\.b32 %a_row0_bytes, 16, )0,", r"\g<1>16,"),
        ("column-guard-dropped", r"setp\.gt\.and\.s32 %inside, %cols_left, 0, %inside;", ""),
        (
            "stage-of-the-step-before",
            r"add\.u32 (%read_stage, %read_stage, )4096;",
            r"sub.u32 \g<1>4096;",
        ),
        ("k-stride-of-b", r"(add\.u64 %b_from, %b_from, )896;", r"\g<1>912;"),
        ("bias-without-guard", r"@%inside (ld\.global\.b32 %word0, \[%bias_ptr\+16\];)", r"\1"),
        ("row-stride-of-the-output", r"(%out_offset, %wide, )112,", r"\g<1>128,"),
        ("one-copy-ahead-too-many", r"(setp\.lt\.u32 %more, %tile, )4;", r"\g<1>5;"),
    ),
    *bugs(
        tensor_product,
        "misaligned",
        ("copy-to-half-a-unit", r"(\[%a_put\+)0(\], \[%a_from\+0\], 16, %bytes;)", r"\g<1>8\2"),
        ("copy-from-half-a-unit", r"(add\.u64 %a_from, %a_from, )16;", r"\g<1>8;"),
        ("ldmatrix-row-at-half-a-unit", r"(\{%a_m0_k16, .*\[%a_at_xor32\+)0\]", r"\g<1>8]"),
        ("row-stride-not-of-units", r"(%out_offset, %wide, )112,", r"\g<1>110,"),
    ),
    *bugs(
        tensor_product,
        "deadlock",
        ("barrier-of-too-many-threads", r"bar\.sync 0;" + LOOP, "bar.sync 0, 160;"),
        ("barrier-of-its-own-warp", r"bar\.sync 0;" + FIRST, "bar.sync %warp, 128;"),
    ),
    *bugs(
        tensor_product,
        "divergent-warp-instruction",
        (
            "lanes-leave-before-the-mainloop",
            r"(mov\.u32 %read_stage, 0;)",
            r"\1 { .reg .pred %gone; setp.le.s32 %gone, %b_cols_left, 0; @%gone ret; }",
        ),
        (
            "ldmatrix-under-a-lane-guard",
            r"(mainloop:)((?s:.*?))(ldmatrix)",
            r"\1\2.reg .pred %some; setp.lt.u32 %some, %lane, 16; @%some \3",
        ),
        (
            "warp-barrier-of-half-the-lanes",
            r"bar\.warp\.sync 0xffffffff;",
            "bar.warp.sync 0x0000ffff;",
        ),
        (
            "barrier-by-lanes",
            r"(bar\.sync 0;)(?=\s*\.reg \.u32 %strip)",
            "{ .reg .pred %even; .reg .u32 %odd; and.b32 %odd, %lane, 1;"
            " setp.eq.u32 %even, %odd, 0; @%even bra half; bar.sync 0; bra other;"
            r" half: \1 other: }",
        ),
    ),
    *bugs(
        tensor_product,
        WRONG_RESULT,
        (
            "a-fragments-swapped",
            r"(mma\S+ \{%acc_m0_n0,.*\}, )\{%a_m0_k0, %a_m8_k0,",
            r"\1{%a_m8_k0, %a_m0_k0,",
        ),
        ("b-fragments-swapped", r"\{%b_n0_k16, %b_n0_k24\}", "{%b_n0_k24, %b_n0_k16}"),
        ("pairs-of-half-a-tile", r"(st\.shared\.b32 \[%(?:pair|run)_at_xor16\+256\], %word;)", ""),
        (
            "accumulators-swapped",
            r"(st\.shared|cvt\.rn\.f16x2\.f32) (%word, )(%acc_m0_n1), (%acc_m0_n0)",
            r"\1 \2\4, \3",
        ),
        ("swizzle-not-where-written", r"xor\.b32 %a_to, %a_to, %moved;", ""),
        ("swizzle-not-where-read", r"xor\.b32 %b_lane, %b_lane, %moved;", ""),
        ("swizzle-of-other-rows", r"(shr\.u32 %moved, %a_lane, )3;", r"\g<1>4;"),
        ("not-transposed", r"\.x4\.trans(\S+ \{%b_n0_k16)", r".x4\1"),
        ("one-step-of-k-too-few", r"(setp\.lt\.u32 %again, %tile, )6;", r"\g<1>5;"),
        ("column-guard-too-strict", r"(sub\.s32 %cols_left, )56,", r"\g<1>48,"),
    ),
)

STAGED_PRODUCT = (
    *bugs(
        staged_product,
        "race",
        ("loop-barrier-dropped", BARRIER + LOOP, ""),
        (
            "stores-behind-the-barrier",
            r"(@%more st\.shared\.v2\.b32 \[%a_put\+0\].*;\n)((?s:.*?bar\.sync 0;\n))",
            r"\2\1",
        ),
        ("one-stage-instead-of-two", r"(mov\.u32 %write_stage, )2048;", r"\g<1>0;"),
    ),
    *bugs(
        staged_product,
        "uninitialised-read",
        ("first-tile-not-stored", r"(?<!more )st\.shared\.v2\.b32 \[%a_put\+0\], .*;", ""),
        (
            "store-of-a-quarter-dropped",
            r"(?<!more )st\.shared\.b16 \[%b_put_xor32\+1792\], .*;",
            "",
        ),
    ),
    *bugs(
        staged_product,
        "out-of-bounds",
        (
            "row-guard-dropped",
            r"setp\.gt\.and\.s32 %inside, %a_rows_left, 0, %more;",
            "mov.pred %inside, %more;",
        ),
        ("output-rows-guard-off-by-one", r"(setp\.gt\.s32 %inside, %rows_left, )14;", r"\g<1>-3;"),
    ),
    *bugs(
        staged_product,
        "misaligned",
        ("pair-at-an-odd-column", r"(mad\.lo\.u32 %(?:pair|run)_at, %column, )4,", r"\g<1>2,"),
    ),
    *bugs(
        staged_product,
        WRONG_RESULT,
        (
            "stale-registers-stored",
            r"(mainloop:(?s:.*?)@%inside ld\.global\S+ )%b_unit3_0",
            r"\1%b_unit2_0",
        ),
        ("staging-swizzled-only-where-read", r"xor\.b32 (%(?:pair|run)_at), \1, %moved;", ""),
        (
            "half-of-k-twice",
            r"\{%a_m0_k8, %a_m8_k8\}, (\{%b_n0)_k8\}",
            r"{%a_m0_k0, %a_m8_k0}, \1_k0}",
        ),
    ),
)

PLAIN_PRODUCT = (
    *bugs(
        plain_product,
        "race",
        ("barrier-dropped", BARRIER, ""),
        ("barrier-hoisted", r"^mainloop:\n((?s:.*?)) *bar\.sync 0;", r"bar.sync 0;\nmainloop:\n\1"),
        (
            "barrier-at-the-end-of-the-step",
            r"( *bar\.sync 0;\n)((?s:.*?);\n *@%more st\.shared\.f32.*\n)",
            r"\2\1",
        ),
    ),
    *bugs(
        plain_product,
        "deadlock",
        ("barrier-of-too-many-threads", r"bar\.sync 0;", "bar.sync 0, 256;"),
    ),
    *bugs(
        plain_product,
        "out-of-bounds",
        (
            "stride-of-the-tile-in-shared-memory",
            r"(mul\.lo\.u32 %a_to, %a_col, )144;",
            r"\g<1>1152;",
        ),
        ("output-row-guard-dropped", r"(sub\.s32 %rows_left, )33,", r"\g<1>40,"),
    ),
    *bugs(
        plain_product,
        "misaligned",
        ("vector-of-b-at-a-scalar", r"(mad\.lo\.u32 %b_lane, %thread_b, )16,", r"\g<1>4,"),
        ("row-of-a-padded-by-a-scalar", r"(\[%a_at\+)144\]", r"\g<1>132]"),
    ),
    *bugs(
        plain_product,
        "uninitialised-read",
        (
            "second-row-of-a-not-stored",
            r"(?<!more )st\.shared\.f32 \[%a_put\+144\], %element1;",
            "",
        ),
        ("padding-of-a-not-where-read", r"(\[%a_at\+)288\]", r"\g<1>256]"),
        ("half-of-b-not-stored", r"@%more st\.shared\.f32 \[%b_put\+1664\], %element0;", ""),
    ),
    *bugs(
        plain_product,
        WRONG_RESULT,
        ("one-k-twice", r"(\[%a_at\+)288\]", r"\g<1>432]"),
        (
            "accumulator-of-the-next-column",
            r"(fma\.rn\.f32 %acc_m1_n2, )%a_m1, %b_n2, %acc_m1_n2;(?!(?s:.*)%acc_m1_n2, %a_m1)",
            r"\1%a_m1, %b_n3, %acc_m1_n2;",
        ),
    ),
)

MUTATIONS = (*TENSOR_PRODUCT, *STAGED_PRODUCT, *PLAIN_PRODUCT)
