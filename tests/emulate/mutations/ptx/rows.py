"""Bugs in the softmax and the relu that the PTX templates render."""

from __future__ import annotations

from functools import cache

from kgen.schedule import ClusterRows, GpuRows
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def softmax() -> Program:
    """A row for each CTA of four warps: shuffles, then shared memory, then shuffles."""
    schedule = GpuRows(num_threads=128, rows_per_block=1, vector=4, resident=1)
    return rendered("softmax 3x600 f32", "sm_80", schedule)


@cache
def cluster_softmax() -> Program:
    """A row for each cluster of four CTAs, which tell one another their parts."""
    schedule = ClusterRows(num_threads=64, vector=4, cluster=4)
    return rendered("softmax 3x600 f32", "sm_90a", schedule)


@cache
def relu() -> Program:
    return rendered("relu 5003 f16", "sm_80")


PROGRAMS = (softmax, cluster_softmax, relu)

MEET = r"barrier\.cluster\.arrive\.release;\n *barrier\.cluster\.wait\.acquire;\n"
CLUSTER = (
    *bugs(
        cluster_softmax,
        "race",
        ("cluster-does-not-meet-for-the-maximum", rf"(%maxnum;\n) *{MEET}", r"\1"),
        ("cluster-does-not-meet-for-the-sum", rf"(%sum;\n) *{MEET}", r"\1"),
        (
            "meeting-releases-nothing",
            r"(%maxnum;\n *barrier\.cluster\.arrive\.)release",
            r"\1relaxed",
        ),
    ),
    *bugs(
        cluster_softmax,
        "uninitialised-read",
        (
            "one-cta-is-not-told",
            r"(setp\.lt\.u32 %tells, %thread, )4;(?=(?s:[^}]*)%maxnum;)",
            r"\g<1>3;",
        ),
    ),
)

SHUFFLE = r"shfl\.sync\.bfly\.b32 %other, "
SOFTMAX = (
    *bugs(
        softmax,
        "race",
        ("barrier-of-the-maximum-dropped", r"(%partials;\n.*%maxnum;\n) *bar\.sync 0;\n", r"\1"),
        ("barrier-of-the-sum-dropped", r"(%partials;\n.*%sum;\n) *bar\.sync 0;\n", r"\1"),
        (
            "sum-in-the-place-of-the-maximum",
            r"(%place\+)16(\], %sum;(?s:.*?)%sum, \[%place\+)16",
            r"\g<1>0\g<2>0",
        ),
        (
            "barrier-before-the-store",
            r"(@%first_lane st\.shared\S+ \S+ %maxnum;)\n *(bar\.sync 0;)",
            r"\2\1",
        ),
    ),
    *bugs(
        softmax,
        "uninitialised-read",
        (
            "last-warp-does-not-share",
            r"(setp\.eq\.u32 %first_lane, %)lane, 0;(?=(?s:[^}]*)%maxnum;)",
            r"\1thread, 0;",
        ),
        ("lanes-without-elements-leave", r"^(?= *mov\.f32 %sum, 0f00000000;)", "@!%has_last ret;"),
        ("place-of-too-many-warps", r"(%first_lane st\.shared\.f32 \[%place\+)0\]", r"\g<1>4]"),
    ),
    *bugs(
        softmax,
        "out-of-bounds",
        ("tail-guard-dropped", r"(setp\.lt\.u32 %has_last, %first, )22;", r"\g<1>23;"),
        (
            "place-by-lane",
            r"(mad\.lo\.u32 %place, )%warp(, 4, %partials;)(?=(?s:[^}]*)%sum;)",
            r"\1%thread\2",
        ),
    ),
    *bugs(
        softmax,
        "misaligned",
        ("row-pitch-of-scalars", r"(mad\.wide\.u32 %x_ptr, %row_0, )2400,", r"\g<1>2396,"),
        ("vectors-of-two", r"(mad\.wide\.u32 %out_first, %first, )16,", r"\g<1>8,"),
    ),
    *bugs(
        softmax,
        "deadlock",
        (
            "barriers-in-another-order",
            r"bar\.sync 0;(?=(?s:.{0,200})%maxnum, \[%place)",
            "{ .reg .u32 %which; and.b32 %which, %warp, 1; bar.sync %which, 128; }",
        ),
    ),
    *bugs(
        softmax,
        "divergent-warp-instruction",
        (
            "mask-of-half-the-warp",
            SHUFFLE + r"(%maxnum, 16, 31), 0xFFFFFFFF;",
            r"shfl.sync.bfly.b32 %other, \1, 0x0000FFFF;",
        ),
        ("shuffle-under-a-guard", SHUFFLE + r"%sum, 16", r"@%has_last \g<0>"),
    ),
    *bugs(
        softmax,
        WRONG_RESULT,
        (
            "offset-of-the-step-before",
            SHUFFLE + r"%sum, 8,",
            r"shfl.sync.bfly.b32 %other, %sum, 16,",
        ),
        ("step-left-out", SHUFFLE + r"%sum, 16,.*\n.*\n", ""),
        (
            "segments-of-sixteen",
            SHUFFLE + r"%sum, 16, 31,",
            r"shfl.sync.bfly.b32 %other, %sum, 16, 4127,",
        ),
        ("clamped-to-half", SHUFFLE + r"%sum, 4, 31,", r"shfl.sync.bfly.b32 %other, %sum, 4, 3,"),
        (
            "up-for-butterfly",
            r"shfl\.sync\.bfly(\.b32 %other, %sum, 16, )31",
            r"shfl.sync.up\g<1>0",
        ),
        (
            "sum-of-what-is-not-there",
            r"@%has_last (add\.f32 %sum, %sum, %sum_v1_3_exp2;)",
            r"\g<1>",
        ),
    ),
)

RELU = (
    *bugs(
        relu,
        "out-of-bounds",
        ("vector-guard-off-by-one", r"(setp\.gt\.s64 %inside0, %vectors_left, )0;", r"\g<1>-1;"),
        ("tail-guard-off-by-one", r"(setp\.lt\.and\.u32 %mine, %thread, )3,", r"\g<1>4,"),
    ),
    *bugs(
        relu,
        "misaligned",
        ("tail-by-bytes", r"(mad\.lo\.u64 %place, %index, )2(, %x_ptr;)", r"\g<1>1\2"),
        ("vectors-overlap", r"(mad\.wide\.u32 %by_16, %thread, )16", r"\g<1>8"),
    ),
    *bugs(
        relu,
        "race",
        ("blocks-overlap", r"(mul\.wide\.u32 %by_16, %block, )4096;", r"\g<1>2048;"),
    ),
    *bugs(
        relu,
        WRONG_RESULT,
        (
            "tail-of-one-element",
            r"cvt\.u64\.u32 %index, %thread;",
            "cvt.u64.u32 %index, %block;",
        ),
        ("tail-not-written", r"(setp\.lt\.and\.u32 %mine, %thread, )3,", r"\g<1>2,"),
        ("word-of-the-vector-missed", r"max\.NaN\.f16x2 %out0_2, .*;", "mov.b32 %out0_2, %x0_2;"),
    ),
)

MUTATIONS = (*SOFTMAX, *CLUSTER, *RELU)
