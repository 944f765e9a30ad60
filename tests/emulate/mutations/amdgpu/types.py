"""Bugs in products of types that only some of AMD's processors have."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def dot_product() -> Program:
    """V_DOT2_F32_F16 in every lane, two stages in LDS."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16)
    return rendered("matmul 40x32x96 f16", "gfx1030", schedule)


@cache
def f32_product() -> Program:
    """MFMA on f32, four products of a slot."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=16, num_stages=2, warp_m=32, warp_n=32)
    return rendered("matmul 32x40x48 f32 layout=nt", "gfx90a", schedule)


@cache
def xf32_product() -> Program:
    """MFMA on xf32, two products of a slot."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=16, num_stages=2, warp_m=16, warp_n=16)
    return rendered("matmul 32x32x48 f32 layout=nt math=tf32", "gfx942", schedule)


@cache
def float8_product() -> Program:
    """FNUZ, with outputs of the same type, many of which saturate."""
    schedule = MmaMatmul(block_m=32, block_n=64, block_k=64, num_stages=2, warp_m=16, warp_n=64)
    return rendered("matmul 32x64x192 e4m3fnuz out=e4m3fnuz layout=nt alpha=4", "gfx942", schedule)


@cache
def transposing_product() -> Program:
    """WMMA of gfx12: B by loads that transpose, split barriers, a partial tile of K at the end."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16)
    return rendered("matmul 33x40x136 f16", "gfx1201", schedule)


PROGRAMS = (dot_product, f32_product, xf32_product, float8_product, transposing_product)

DOTS = (
    *bugs(
        dot_product,
        WRONG_RESULT,
        ("line-before", r"(%a\.loop\.0\.g0\.first = .*, i32 )%loop\.line,", r"\g<1>0,"),
        ("last-line-left-out", r"(icmp ult i32 %last\.line\.next, )4", r"\g<1>3"),
        ("half-of-a-slot-twice", r"(%b\.loop\.1\.g0\.p3 = .*)<i32 6, i32 7>", r"\1<i32 4, i32 5>"),
        ("lanes-of-four-columns", r"(%lane_row = and i32 %lane, )7", r"\g<1>3"),
    ),
    *bugs(
        dot_product,
        "uninitialised-read",
        (
            "row-of-the-column",
            r"(%a\.fragment = add nuw nsw i32 %warp_row, )%lane_group",
            r"\1%lane_row",
        ),
    ),
    *bugs(
        dot_product,
        "out-of-bounds",
        ("lines-of-another-tile", r"(icmp ult i32 %last\.line\.next, )4", r"\g<1>16"),
    ),
)
F32 = bugs(
    f32_product,
    WRONG_RESULT,
    ("depth-of-the-neighbour", r"(%a\.loop\.0\.g0\.p1\.words = .*)<i32 1>", r"\1<i32 2>"),
)
XF32 = bugs(
    xf32_product,
    WRONG_RESULT,
    ("depths-of-the-neighbours", r"(%b\.loop\.0\.g0\.p0 = .*)<i32 0, i32 1>", r"\1<i32 2, i32 3>"),
)
FLOATS_8 = bugs(
    float8_product,
    WRONG_RESULT,
    (
        "fragment-of-the-next-part",
        r"(%a\.loop\.0\.g0\.p1\.words = .*)<i32 2, i32 3>",
        r"\1<i32 0, i32 1>",
    ),
    ("other-half-of-the-word", r"(cvt\.pk\.fp8\.f32\(.*%m0\.c0\.r0\.w0, i1 )true", r"\1false"),
    (
        "two-of-a-pair-swapped",
        r"(float )(%m0\.c0\.r1\.l0\.kept), (float )(%m0\.c0\.r1\.l1\.kept)",
        r"\1\4, \3\2",
    ),
    ("not-saturated", r"(%m0\.c0\.r0\.l0\.kept = select i1 )%m0\.c0\.r0\.l0\.is_nan", r"\1true"),
)

WAIT = r"^ *call void @llvm\.amdgcn\.s\.barrier\.wait\(i16 -1\)\n"
SIGNAL = r"^ *call void @llvm\.amdgcn\.s\.barrier\.signal\(i32 -1\)\n"
TRANSPOSING = (
    *bugs(
        transposing_product,
        WRONG_RESULT,
        ("depth-of-the-neighbour", r"(%b\.c0\.load_k = add nuw nsw i32 %b\.c0\.k, )\S+", r"\g<1>0"),
    ),
    *bugs(
        transposing_product,
        "misaligned",
        ("row-of-the-neighbour", r"(%b\.c0\.of_rows = urem i32 %b\.c0\.row\.chunk, )8", r"\g<1>4"),
    ),
    *bugs(
        transposing_product,
        "race",
        ("last-wait-dropped", r"(^last:\n)" + WAIT, r"\1"),
        (
            "signal-before-the-stores",
            r"(^ *%a\.loop\.c0\.s0\.at = (?:.*\n)*?)(^ *fence.*\n" + SIGNAL + ")",
            r"\2\1",
        ),
    ),
)

MUTATIONS = (*DOTS, *F32, *XF32, *FLOATS_8, *TRANSPOSING)
