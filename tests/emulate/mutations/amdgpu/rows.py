"""Bugs in the softmax and the relu that the AMDGPU templates render."""

from __future__ import annotations

from functools import cache

from kgen.schedule import GpuRows
from tests.emulate.mutations.amdgpu.products import RELEASE, SYNCHRONISE
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def softmax() -> Program:
    """A row for each workgroup of four waves: DPP, and the last lane for all, then LDS."""
    schedule = GpuRows(num_threads=256, rows_per_block=1, vector=4, resident=1)
    return rendered("softmax(x) 3x1100 f32", "gfx942", schedule)


@cache
def streamed_softmax() -> Program:
    """Softmax that reads the row again for each pass, in loops."""
    schedule = GpuRows(num_threads=64, rows_per_block=1, vector=4, resident=0)
    return rendered("softmax(x) 1x700 f32", "gfx1100", schedule)


@cache
def relu() -> Program:
    return rendered("relu 5003 f16", "gfx1100")


PROGRAMS = (softmax, streamed_softmax, relu)

SOFTMAX = (
    *bugs(
        softmax,
        "race",
        ("barrier-of-the-maximum-dropped", r"(?<=maxnum\.shared:\n)" + SYNCHRONISE, ""),
        ("barrier-of-the-sum-dropped", r"(?<=sum\.shared:\n)" + SYNCHRONISE, ""),
        ("release-of-the-sum-dropped", r"(?<=sum\.shared:\n)" + RELEASE, ""),
        (
            "sums-in-the-place-of-the-maxima",
            r"@sum_parts(, i32 0(?s:.*?))@sum_parts, i32 0",
            r"@maxnum_parts\1@maxnum_parts, i32 0",
        ),
        ("waves-of-128-lanes", r"(%wave_in_row = lshr i32 %thread, )6", r"\g<1>7"),
        ("all-waves-share-a-place", r"(%maxnum\.part = .*)%wave_in_row", r"\g<1>0"),
    ),
    *bugs(
        softmax,
        "uninitialised-read",
        (
            "lanes-without-elements-leave",
            r"^ *br i1 %is_first_lane, label %sum\.share, label %sum\.shared\n",
            "  br i1 %v1.exists, label %sum.stay, label %gone\ngone:\n  ret void\nsum.stay:\n"
            "  br i1 %is_first_lane, label %sum.share, label %sum.shared\n",
        ),
        ("only-the-first-wave-shares", r"(%is_first_lane = icmp eq i32 %)lane, 0", r"\1thread, 0"),
    ),
    *bugs(
        softmax,
        "out-of-bounds",
        ("index-not-clamped", r"%v1\.index = select .*", "%v1.index = add i32 %v1.number, 0"),
        ("place-by-lane", r"(%sum\.part = .*)%wave_in_row", r"\1%thread"),
    ),
    *bugs(
        softmax,
        "misaligned",
        (
            "parts-by-bytes",
            r"(%maxnum\.parts\.at = getelementptr )\[1 x \[4 x float\]\](, .*), i32 0, .*",
            r"\1float\2, i32 %wave_in_row",
        ),
    ),
    *bugs(
        softmax,
        "divergent-warp-instruction",
        (
            "barrier-by-the-first-lane",
            r"(^ *br label %maxnum\.shared\nmaxnum\.shared:\n)(" + SYNCHRONISE + ")",
            r"\2\1",
        ),
    ),
    *bugs(
        softmax,
        WRONG_RESULT,
        ("lane-before-the-last", r"(%sum\.wave = .*readlane.*, i32 )63", r"\g<1>31"),
        ("half-mirror-of-a-row", r"(%sum\.by8\.other = .*, i32 )320", r"\g<1>321"),
        ("broadcast-of-another-step", r"(%sum\.by16\.other = .*, i32 )322", r"\g<1>323"),
        ("mirror-for-the-last-step", r"(%sum\.by32\.other = .*, i32 )323", r"\g<1>320"),
        (
            "tail-counted",
            r"(%sum\.chosen = select i1 %v1\.exists, <4 x float> (%\S+), .*> )splat \(.*\)",
            r"\1\2",
        ),
    ),
)

STREAMED_SOFTMAX = (
    *bugs(
        streamed_softmax,
        "deadlock",
        (
            "index-not-advanced",
            r"(%maxnum\.index\.next = add )nuw nsw i32 %maxnum\.index, 64",
            r"\1i32 %maxnum.index, 0",
        ),
        (
            "output-not-advanced",
            r"(%out\.index = phi .*, \[ )%out\.index\.next,",
            r"\1%thread,",
        ),
        (
            "step-multiplied",
            r"(%sum\.index\.next = )add nuw nsw i32 %sum\.index, 64",
            r"\1mul i32 %sum.index, 1",
        ),
        (
            "loop-from-the-start-again",
            r"(%sum\.index = phi .*, \[ )%sum\.index\.next,",
            r"\1%thread,",
        ),
    ),
    *bugs(
        streamed_softmax,
        "out-of-bounds",
        (
            "bound-compared-with-the-first-vector",
            r"(%sum\.more = icmp ult i32 )%sum\.index\.next,",
            r"\1%thread,",
        ),
        ("one-step-too-many", r"(%out\.more = icmp ult i32 %out\.index\.next, )175", r"\g<1>239"),
    ),
    *bugs(
        streamed_softmax,
        WRONG_RESULT,
        (
            "condition-of-another-loop",
            r"br i1 %sum\.more, label %sum\.loop",
            "br i1 %maxnum.more, label %sum.loop",
        ),
        ("sum-begun-again", r"(%sum\.lane = fadd .*> )%sum\.before", r"\1zeroinitializer"),
    ),
)

RELU = (
    *bugs(
        relu,
        "out-of-bounds",
        ("guard-off-by-one", r"(%v0\.exists = icmp )ult( i64 %v0\.index, 625)", r"\1ule\2"),
        ("rest-guard-off-by-one", r"(%has_element = icmp ult i32 %thread, )3", r"\g<1>4"),
    ),
    *bugs(
        relu,
        "race",
        ("blocks-overlap", r"(%block\.first = mul nuw nsw i64 %block\.wide, )256", r"\g<1>128"),
        ("rest-by-every-block", r"(%is_last = icmp )eq( i32 %block, )2", r"\1ule\g<2>2"),
        ("vectors-overlap", r"(%v0\.offset = mul nuw nsw i64 %v0\.index, )8", r"\g<1>4"),
    ),
    *bugs(
        relu,
        "misaligned",
        (
            "offset-by-bytes",
            r"(%rest\.to = getelementptr )half(, .*, i64 )%rest\.offset",
            r"\1i8\g<2>%rest.offset",
        ),
    ),
    *bugs(
        relu,
        WRONG_RESULT,
        ("rest-not-written", r"(%has_element = icmp ult i32 %thread, )3", r"\g<1>2"),
        ("sign-of-the-comparison", r"(%rest\.out_less_equal = fcmp )ole", r"\1ogt"),
    ),
)

MUTATIONS = (*SOFTMAX, *STREAMED_SOFTMAX, *RELU)
