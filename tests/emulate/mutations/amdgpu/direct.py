"""Bugs in the AMDGPU templates' ping-pong main loop with copies straight to LDS."""

from __future__ import annotations

from functools import cache

from kgen.schedule import DirectMatmul
from tests.emulate.mutations.amdgpu.pingpong import without_barrier
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SMALL = DirectMatmul(block_m=128, block_n=128, block_k=64, warp_m=64, warp_n=32)
#: Lines of 256 rows where rows lie side by side.
BYTES = DirectMatmul(block_m=64, block_n=256, block_k=128, warp_m=32, warp_n=64)
#: Two MMA tiles of 8-bit floats, which are multiplied in a phase each.
FLOATS = DirectMatmul(block_m=128, block_n=256, block_k=128, warp_m=64, warp_n=64)


@cache
def f16_copies() -> Program:
    """Loop of one trip, a step and the last tile."""
    return rendered("matmul 128x128x320 f16", "gfx950", SMALL)


@cache
def s8_copies() -> Program:
    return rendered("matmul 64x256x512 s8", "gfx950", BYTES)


@cache
def e4m3_copies() -> Program:
    return rendered("matmul 128x256x512 e4m3", "gfx950", FLOATS)


PROGRAMS = (f16_copies, s8_copies, e4m3_copies)
SEEDS = (1,)

#: The last tile stays as it is.
HERE = r"(?=(?s:.*)^behind:$)"
FENCED = (
    r'^  fence syncscope\("workgroup"\) release, !mmra !1\n'
    r"(  call void @llvm\.amdgcn\.s\.barrier\(\)\n)"
    r'  fence syncscope\("workgroup"\) acquire, !mmra !1\n'
)

MUTATIONS = (
    # Without one of the others, the halves only stop alternating: test_amdgpu_direct.py.
    *(
        mutation
        for program in (f16_copies, s8_copies, e4m3_copies)
        for mutation in bugs(
            program, "race", *(without_barrier(number) for number in (6, 7, 14, 15))
        )
    ),
    *bugs(
        f16_copies,
        "race",
        ("handed-over-without-fences", FENCED + HERE, r"\1"),
        (
            "copied-to-the-stage-in-use",
            r"(%a\.even\.c0\.to = getelementptr .*, i32 0, i32 )1" + HERE,
            r"\g<1>0",
        ),
        (
            "loaded-from-the-stage-that-fills",
            r"(%a\.odd\.0\.g1\.at = getelementptr .*, i32 0, i32 )1" + HERE,
            r"\g<1>0",
        ),
        times=None,
    ),
    *bugs(
        f16_copies,
        WRONG_RESULT,
        ("chunks-of-half-a-line", r"(%b\.place = urem i32 %thread, )16" + HERE, r"\g<1>8"),
        ("swizzle-of-one-copy", r"(%a\.c1\.turn = and i32 \S+, )7" + HERE, r"\g<1>3"),
        (
            "swizzle-of-the-blocks",
            r"(%b\.fragment\.turn\.scaled = shl i32 \S+, )2" + HERE,
            r"\g<1>1",
        ),
        ("depths-of-a-block", r"(%block\.depth = udiv i32 %block\.lane, )4" + HERE, r"\g<1>8"),
        ("tile-twice", r"(%a\.odd\.ahead = add .*, )128" + HERE, r"\g<1>64"),
        times=None,
    ),
    *(
        mutation
        for program in (s8_copies, e4m3_copies)
        for mutation in bugs(
            program,
            WRONG_RESULT,
            ("depths-of-a-block", r"(%block\.depth = udiv i32 %block\.lane, )2" + HERE, r"\g<1>4"),
            ("rows-of-a-lane", r"(%block\.first = mul .*, )8" + HERE, r"\g<1>0"),
            (
                "swizzle-of-the-blocks",
                r"(%b\.fragment\.turn\.scaled = shl i32 \S+, )1" + HERE,
                r"\g<1>2",
            ),
            (
                "depths-of-a-group",
                r"(%b\.odd\.0\.g1\S*\.k\d+\.line = add .*, )(\d+)(\n)" + HERE,
                r"\g<1>0\3",
            ),
            times=None,
        )
    ),
)
