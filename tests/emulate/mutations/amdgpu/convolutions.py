"""Bugs in convolutions by matrix cores: guards, masks of filter positions, the table of K-tiles."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16)


@cache
def mfma_convolution() -> Program:
    """Nine K-tiles, one for each filter position; two rows of a tile are past M."""
    return rendered("conv2d 2x32x3x5,24x32x3x3 f16 padding=1", "gfx942", SCHEDULE)


@cache
def wmma_convolution() -> Program:
    """K-tiles of several filter positions, the last one partial."""
    return rendered("conv2d 1x7x5x6,8x7x3x3 f16 padding=1", "gfx1100", SCHEDULE)


@cache
def channels_first() -> Program:
    """Images as operand B, along the rows of its tiles; a K-tile spans filter positions."""
    return rendered("conv2d 2x7x5x6,8x7x3x3 f16 padding=1 layout=nchw", "gfx942", SCHEDULE)


PROGRAMS = (mfma_convolution, wmma_convolution, channels_first)

MUTATIONS = (
    *bugs(
        mfma_convolution,
        "out-of-bounds",
        (
            "no-guard",
            r"(%a\.loop\.c0\.l0\.missing0 = and i32 %\S+, )%\S+",
            r"\g<1>0",
        ),
        ("rows-past-the-end-exist", r"(%a\.c0\.row0\.inside = icmp ult i32 \S+, )30", r"\g<1>32"),
        ("begins-behind-its-padding", r"(%a\.origin\.behind = sub i32 -)384", r"\g<1>320"),
        ("mask-begins-late", r"(%a\.c0\.row0\.value0 = add i32 \S+, -)1", r"\g<1>2"),
        ("buffer-of-half-a-tile", r"(%a\.origin, i16 0, i64 )4096", r"\g<1>1024"),
        ("line-of-positions-not-moved", r"(line1\.0\.bits = shl i32 \S+, )15", r"\g<1>12"),
    ),
    *bugs(
        mfma_convolution,
        WRONG_RESULT,
        ("mask-off-by-one", r"(%a\.c0\.row0\.bit2\.exists = icmp ult i32 \S+, )5", r"\g<1>4"),
        ("bit-of-another-position", r"i32 320, i32 32768", "i32 320, i32 16384"),
        ("offset-of-another-position", r"i32 320, i32 32768", "i32 384, i32 32768"),
        (
            "stale-table",
            r"(%a\.entry\.loop\.at = getelementptr i32, ptr addrspace\(4\) %a\.tile\.loop, i32 )2",
            r"\g<1>0",
        ),
    ),
    *bugs(
        wmma_convolution,
        WRONG_RESULT,
        ("entry-of-the-first-column", r"(%a\.c0\.entry = mul nuw nsw i32 %\S+, )2", r"\g<1>0"),
    ),
    *bugs(
        channels_first,
        WRONG_RESULT,
        ("entry-of-the-first-k", r"(%b\.c0\.entry = mul nuw nsw i32 %\S+, )2", r"\g<1>0"),
        (
            "images-one-behind-the-other",
            r"(%b\.batch_offset = mul nuw nsw i64 %batch, )210",
            r"\g<1>0",
        ),
    ),
)
