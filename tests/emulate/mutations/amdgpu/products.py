"""Bugs in the products that the AMDGPU templates render."""

from __future__ import annotations

from functools import cache

from kgen.schedule import FmaMatmul, MmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def mfma_product() -> Program:
    """MFMA of wave64, two stages in LDS, a partial tile of K at the end."""
    schedule = MmaMatmul(block_m=64, block_n=64, block_k=32, num_stages=2, warp_m=32, warp_n=32)
    return rendered("matmul 70x56x168 f16 +bias+relu", "gfx942", schedule)


@cache
def wmma_product() -> Program:
    """WMMA of wave32, one stage in LDS; rows of B in pieces of 4, which no load transposes."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=1, warp_m=16, warp_n=16)
    return rendered("matmul 33x44x72 f16", "gfx1201", schedule)


@cache
def plain_product() -> Program:
    """FMA from LDS."""
    schedule = FmaMatmul(block_m=32, block_n=32, block_k=8, num_stages=2, thread_m=2, thread_n=4)
    return rendered("matmul 33x37x28 f32", "gfx942", schedule)


@cache
def odd_product() -> Program:
    """Odd rows of B: whole tiles' loads reach into the next row, stores are checked by hardware."""
    schedule = MmaMatmul(block_m=64, block_n=64, block_k=32, num_stages=2, warp_m=32, warp_n=32)
    return rendered("matmul 70x57x96 f16", "gfx942", schedule)


@cache
def bytes_product() -> Program:
    """s8, B transposed in squares of four by four bytes."""
    schedule = MmaMatmul(block_m=32, block_n=32, block_k=64, num_stages=2, warp_m=16, warp_n=32)
    return rendered("matmul 32x32x192 s8", "gfx942", schedule)


PROGRAMS = (mfma_product, wmma_product, plain_product, odd_product, bytes_product)

#: The end of a step: a fence, the barrier, a fence; and what tells one step from another.
RELEASE = r'^ *fence syncscope\("workgroup"\) release.*\n'
BARRIER = r"^ *call void @llvm\.amdgcn\.s\.barrier\(\)\n"
ACQUIRE = r'^ *fence syncscope\("workgroup"\) acquire.*\n'
FIRST = r"(?=(?:.*\n){0,6} *br label %loop$)"
LOOP = r"(?=(?:.*\n){0,4} *%trip\.next = )"
SYNCHRONISE = RELEASE + BARRIER + ACQUIRE


def only_where(condition: str) -> str:
    """Return code for the branch to the last tile that ends lanes without the condition."""
    return f"  %some = {condition}\n  br i1 %some, label %last, label %gone\ngone:\n  ret void\n"


MFMA_PRODUCT = (
    *bugs(
        mfma_product,
        "race",
        ("first-barrier-dropped", BARRIER + FIRST, ""),
        ("loop-barrier-dropped", BARRIER + LOOP, ""),
        ("release-dropped", RELEASE + LOOP, ""),
        ("acquire-dropped", ACQUIRE + LOOP, ""),
        (
            "barrier-before-the-stores",
            r"(sched\.barrier\(i32 0\)\n)((?:(?!.*sched).*\n)*?)(" + SYNCHRONISE + ")" + LOOP,
            r"\1\3\2",
        ),
        (
            "fence-of-a-wave",
            r'(fence syncscope\(")workgroup("\) release.*\n(?:.*\n){2,6} *br label %loop$)',
            r"\1wavefront\2",
        ),
        (
            "second-step-fills-the-stage-that-it-reads",
            r"(%a\.loop\.second\.c0\.s0\.at = getelementptr .* @a_tile, i32 0, i32 )0",
            r"\g<1>1",
        ),
        (
            "second-step-reads-the-stage-that-it-fills",
            r"(%a\.loop\.second\.0\.g0\.first = getelementptr .* @a_tile, i32 0, i32 )1",
            r"\g<1>0",
        ),
        ("row-of-the-other-half", r"(%out\.lane_row = mul nuw nsw i32 %lane_group, )4", r"\g<1>8"),
        ("row-of-another-register", r"(%row\.m0\.r5 = add nuw nsw i32 %out\.row, )9", r"\g<1>5"),
        ("wave-of-another-column", r"(%wave_n = urem i32 %wave, )2", r"\g<1>1"),
        ("tiles-overlap", r"(%first_row = mul nuw nsw i32 %block_m, )64", r"\g<1>32"),
    ),
    *bugs(
        mfma_product,
        "uninitialised-read",
        ("first-stores-dropped", r"^ *store <8 x half> %a\.first\.c0\.l0, .*\n", ""),
        (
            "first-tile-in-the-other-stage",
            r"(%a\.first\.c0\.s0\.at = getelementptr .* @a_tile, i32 0, i32 )0",
            r"\g<1>1",
        ),
        (
            "fragments-of-the-next-stage",
            r"(%a\.loop\.0\.g0\.first = getelementptr .* @a_tile, i32 0, i32 )0",
            r"\g<1>1",
        ),
        ("half-the-columns-not-stored", r"^ *store <4 x half> %b\.loop\.c0\.s1, .*\n", ""),
        (
            "fragments-beyond-the-depths",
            r"(%line2 = add nuw nsw i32 %lane_group, )2",
            r"\g<1>4",
        ),
    ),
    *bugs(
        mfma_product,
        "out-of-bounds",
        (
            "rows-not-clamped",
            r"%a\.c0\.row\.exists = call .*",
            "%a.c0.row.exists = add i32 %a.c0.row.chunk, 0",
        ),
        ("loop-that-does-not-end", r"(%trip\.next = add) nuw nsw (i32 %trip, )1", r"\1 \g<2>0"),
        ("clamp-off-by-one", r"(%a\.row_limit = sub nuw nsw i32 )69,", r"\g<1>70,"),
        ("output-row-guard-off-by-one", r"(%rows_left = sub nuw nsw i32 )70,", r"\g<1>71,"),
        (
            "stage-of-lds-not-wrapped",
            r"(%b\.loop\.second\.c0\.s0\.at = getelementptr .* @b_tile, i32 0, i32 )0",
            r"\g<1>2",
        ),
        (
            "tail-read-without-guard",
            r"%b\.tail\.c0\.l0\.offset = select i1 %b\.tail\.c0\.l0\.exists, (i64 \S+), i64 0",
            r"%b.tail.c0.l0.offset = add \1, 0",
        ),
    ),
    *bugs(
        mfma_product,
        "misaligned",
        ("part-of-the-slot", r"(%b\.c0\.element = urem i32 %b\.c0\.k, )8", r"\g<1>3"),
        (
            "fragment-from-the-middle-of-a-slot",
            r"(%a\.loop\.0\.g1\.first = getelementptr .*, i32 %a\.t0\.slot2, i32 )0",
            r"\g<1>4",
        ),
    ),
    *bugs(
        mfma_product,
        "divergent-warp-instruction",
        (
            "half-the-lanes-multiply",
            r"^ *br label %last\n",
            only_where("icmp ult i32 %lane, 32"),
        ),
        (
            "rows-that-exist-multiply",
            r"^ *br label %last\n",
            only_where("icmp ult i32 %a.c0.row.chunk, 3"),
        ),
    ),
    *bugs(
        mfma_product,
        WRONG_RESULT,
        (
            "operands-swapped",
            r"(%acc\.m0\.n0\.loop = .*mfma\S+\()(<\d x half> \S+), (<\d x half> \S+),",
            r"\1\3, \2,",
        ),
        (
            "depths-of-the-fragment-twice",
            r"(%b\.loop\.0\.g1\.at = .*, i32 )%line2",
            r"\g<1>%lane_group",
        ),
        ("stored-without-the-swizzle", r"(%a\.c0\.slot\.low = and i32 .*, )7", r"\g<1>0"),
        ("loaded-with-another-swizzle", r"(%b\.t0\.swizzled\.high = lshr .*, )1", r"\g<1>2"),
        (
            "waves-share-the-rows",
            r"(%a\.fragment = add nuw nsw i32 )%warp_row",
            r"\1%warp_column",
        ),
        (
            "sum-of-the-loop-forgotten",
            r"(%acc\.m0\.n0\.tail\.s0 = .*<16 x float> )%acc\.m0\.n0\.loop\.second",
            r"\1zeroinitializer",
        ),
    ),
)

WMMA_PRODUCT = (
    *bugs(
        wmma_product,
        "race",
        ("barrier-before-the-stores-dropped", SYNCHRONISE + r"(?= *%a\.loop\.c0\.s0\.at)", ""),
        ("barrier-behind-the-stores-dropped", SYNCHRONISE + LOOP, ""),
        (
            "stores-before-the-barrier",
            r"(" + SYNCHRONISE + r")((?:.*\.loop\.c0.*\n)+)(?=" + RELEASE + ")",
            r"\2\1",
        ),
    ),
    *bugs(
        wmma_product,
        "out-of-bounds",
        (
            "pitch-of-the-columns",
            r"(%b\.last\.0\.g1\.at = getelementptr \[1 x \[4 x )\[32",
            r"\1[64",
        ),
    ),
    *bugs(
        wmma_product,
        "divergent-warp-instruction",
        (
            "half-the-lanes-multiply",
            r"^ *br label %last\n",
            only_where("icmp ult i32 %lane, 16"),
        ),
        (
            "rows-that-exist-multiply",
            r"^ *br label %last\n",
            only_where("icmp ult i32 %a.c0.row.chunk, 3"),
        ),
    ),
    *bugs(
        wmma_product,
        WRONG_RESULT,
        (
            "depths-of-both-halves-the-same",
            r"(%b\.loop\.0\.g0\.at = .*, i32 )%lane_group",
            r"\g<1>0",
        ),
        ("lanes-of-wave64", r"(%lane_row = and i32 %lane, )15", r"\g<1>7"),
        ("b-by-columns", r"(%b\.fragment = add nuw nsw i32 %warp_)column", r"\1row"),
    ),
)

PLAIN_PRODUCT = (
    *bugs(
        plain_product,
        "out-of-bounds",
        ("depths-of-lds", r"icmp ult i32 %last\.k\.next, 8", "icmp ult i32 %last.k.next, 32"),
        ("stride-of-b", r"(%b\.tile\.loop = getelementptr float, .*, i64 )296", r"\g<1>370"),
    ),
    *bugs(
        plain_product,
        "misaligned",
        (
            "slots-of-three-columns",
            r"(%b\.last\.g0\.at = getelementptr \[2 x \[8 x \[8 x \[)4",
            r"\g<1>3",
        ),
        ("column-of-the-thread", r"(%thread_column = mul nuw nsw i32 \S+, )4", r"\g<1>2"),
    ),
    *bugs(
        plain_product,
        WRONG_RESULT,
        (
            "row-of-the-neighbour",
            r"(%a\.last\.m1 = .*<4 x i32> <)i32 1, i32 1, i32 1, i32 1>",
            r"\1i32 0, i32 0, i32 0, i32 0>",
        ),
        ("last-depth-left-out", r"icmp ult i32 %loop\.k\.next, 8", "icmp ult i32 %loop.k.next, 7"),
    ),
)

ODD_PRODUCT = (
    *bugs(
        odd_product,
        "out-of-bounds",
        (
            "last-tile-not-clamped",
            r"%b\.tail\.c0\.l3\.p1\.whole\.row\.exists = call .*",
            "%b.tail.c0.l3.p1.whole.row.exists = add i32 %b.tail.c0.l3.p1.row, 0",
        ),
        (
            "clamp-of-the-last-tile-off-by-one",
            r"(%b\.piece_limit = sub nuw nsw i32 )56",
            r"\g<1>57",
        ),
        (
            "rows-behind-the-last-stored",
            r"(%rows_inside = call .*)%rows_left, i32 64",
            r"\1 64, i32 64",
        ),
    ),
    *bugs(
        odd_product,
        "race",
        (
            "columns-behind-the-last-stored-in-the-next-row",
            r"(%column0\.bytes = select i1 )%column0\.exists",
            r"\1true",
        ),
    ),
)

BYTES_PRODUCT = bugs(
    bytes_product,
    WRONG_RESULT,
    (
        "bytes-of-two-rows-not-interleaved",
        r"(%b\.loop\.c0\.q0\.0\.pairs0 = call .*, i32 )83952640",
        r"\g<1>84148480",
    ),
    (
        "half-of-another-row",
        r"(%b\.loop\.c0\.q0\.0\.out1 = call .*, i32 )\d+",
        r"\g<1>84148480",
    ),
    (
        "parts-of-a-slot-swapped",
        r"(%a\.loop\.0\.g0\.p0\.words = .*)<i32 0, i32 1>",
        r"\1<i32 2, i32 3>",
    ),
)

MUTATIONS = (*MFMA_PRODUCT, *WMMA_PRODUCT, *PLAIN_PRODUCT, *ODD_PRODUCT, *BYTES_PRODUCT)
