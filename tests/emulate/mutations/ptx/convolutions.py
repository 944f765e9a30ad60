"""Bugs in convolutions by mma.sync: guards, masks of filter positions, the table of K-tiles."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SplitMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = SplitMatmul(block_m=32, block_n=32, block_k=32, num_stages=3, warp_m=16, warp_n=16)


@cache
def convolution() -> Program:
    """Nine K-tiles, one for each filter position, by cp.async; two rows of a tile are past M."""
    return rendered("conv2d 2x32x3x5,24x32x3x3 f16 padding=1", "sm_80", SCHEDULE)


@cache
def odd_channels() -> Program:
    """K-tiles of several filter positions through registers, an element each."""
    return rendered("conv2d 1x7x5x6,8x7x3x3 f16 padding=1", "sm_80", SCHEDULE)


@cache
def channels_first() -> Program:
    """Images as operand B, along the rows of its tiles; a K-tile spans filter positions."""
    return rendered("conv2d 2x7x5x6,8x7x3x3 f16 padding=1 layout=nchw", "sm_80", SCHEDULE)


PROGRAMS = (convolution, odd_channels, channels_first)

MUTATIONS = (
    *bugs(
        convolution,
        "out-of-bounds",
        ("no-guard", r"selp\.b32 %bytes, 16, 0, %exists;", "mov.b32 %bytes, 16;"),
        ("rows-past-the-end-exist", r"(setp\.lt\.u32 %inside, %index, )30;", r"\g<1>32;"),
        times=None,
    ),
    *bugs(
        convolution,
        "out-of-bounds",
        (
            "mask-of-a-line-too-long",
            r"(setp\.lt\.and\.u32 %exists, %sum, )3, %inside;",
            r"\g<1>4, %inside;",
        ),
        times=3,
    ),
    *bugs(
        convolution,
        WRONG_RESULT,
        ("mask-off-by-one", r"(setp\.lt\.u32 %exists, %sum, )5;", r"\g<1>4;"),
        times=3,
    ),
    *bugs(
        convolution,
        WRONG_RESULT,
        ("offset-of-another-position", r"^( +0, 1, 4, 2, 8, 4, )20, 8", r"\g<1>24, 8"),
    ),
    *bugs(
        convolution,
        WRONG_RESULT,
        ("stale-table", r"^ *add\.u64 %a_steps, %a_steps, 8;\n", ""),
        times=3,
        place=2,
    ),
    *bugs(
        convolution,
        "out-of-bounds",
        ("mask-begins-late", r"(mov\.s32 %value0, -)1;", r"\g<1>2;"),
        ("bit-of-another-position", r"^( +0, 1, 4, 2, 8, 4, 20, )8", r"\g<1>16"),
        ("line-of-positions-not-moved", r"(shl\.b32 %moved, %moved, )3;", r"\g<1>0;"),
        ("begins-before-its-padding", r"(add\.s64 %a_ptr, %a_ptr, -)384;", r"\g<1>448;"),
    ),
    *bugs(
        odd_channels,
        "out-of-bounds",
        ("no-guard", r"@%exists (ld\.global)", r"\1"),
        ("past-k", r"setp\.ne\.b32 %exists, %found, 0;", "setp.ge.u32 %exists, %found, 0;"),
        times=None,
    ),
    *bugs(
        odd_channels,
        WRONG_RESULT,
        ("entry-of-the-first-column", r"(mad\.wide\.u32 %a_steps, %column, )8,", r"\g<1>0,"),
    ),
    *bugs(
        channels_first,
        "out-of-bounds",
        ("no-guard", r"@%exists (ld\.global)", r"\1"),
        times=None,
    ),
    *bugs(
        channels_first,
        WRONG_RESULT,
        ("entry-of-the-first-k", r"(mad\.wide\.u32 %b_steps, %column, )8,", r"\g<1>0,"),
        ("images-one-behind-the-other", r"(mad\.lo\.u64 %b_ptr, %b_wide, )420,", r"\g<1>0,"),
    ),
)
