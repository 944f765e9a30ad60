"""Bugs in attention by MFMA and WMMA: copies, fragments, the online softmax, masks."""

from __future__ import annotations

from functools import cache

from kgen.schedule import FmaAttention, MmaAttention, PingPongAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

#: Three or more blocks of keys of two heads that share them, with every kind of mask.
MASKED = (
    "attention q=2x2x40x24,k=2x1x90x24 f16 "
    "causal diagonal=bottom_right window=60 mask=40x90 mask_dtype=f32 kv_length"
)


@cache
def mfma_attention() -> Program:
    """Tiles of 16 queries, whose lane groups hold four keys each."""
    schedule = MmaAttention(block_m=32, block_n=32, num_warps=2, num_stages=1)
    return rendered(MASKED, "gfx942", schedule)


@cache
def wmma_attention() -> Program:
    """Both halves of a wave exchange weights."""
    schedule = MmaAttention(block_m=32, block_n=16, num_warps=2, num_stages=1)
    return rendered("attention q=1x1x40x24,k=1x1x50x24 f16 lse", "gfx1100", schedule)


@cache
def lane_attention() -> Program:
    """Lanes of a query gather the weights of all keys."""
    schedule = FmaAttention(block_m=16, block_n=16, num_warps=2, num_stages=1)
    return rendered("attention q=1x2x20x24,k=1x1x40x24 f32 lse scale=2", "gfx1100", schedule)


@cache
def widened_bytes() -> Program:
    """Bytes of Q, K and V, which become f16 on their way."""
    schedule = MmaAttention(block_m=16, block_n=32, num_warps=1, num_stages=1)
    options = "causal v_scale=0.375"
    return rendered(f"attention q=1x1x20x24,k=1x1x40x24 e4m3 {options}", "gfx1201", schedule)


@cache
def mfma_of_words() -> Program:
    """MFMA of f32, whose lanes multiply an element at a time."""
    schedule = MmaAttention(block_m=32, block_n=32, num_warps=2, num_stages=1)
    return rendered("attention q=1x1x20x24,k=1x1x70x24 f32 causal", "gfx942", schedule)


@cache
def paged_attention() -> Program:
    """Blocks of keys from a window on, which begins inside a page."""
    schedule = MmaAttention(block_m=32, block_n=32, num_warps=2, num_stages=1)
    options = "causal diagonal=bottom_right window=120 page_size=96 pages=9"
    return rendered(f"attention q=2x2x17x16,k=2x1x288x16 f16 {options}", "gfx942", schedule)


@cache
def halves_in_turn() -> Program:
    """Five blocks of keys through four stages of LDS.

    In blocks of 128 keys, values that one half stores are read by the other half behind the
    barrier before the results. In blocks of 64, the second half reads only its own there.
    """
    schedule = PingPongAttention(block_m=32, block_n=128, num_warps=2)
    return rendered("attention q=1x1x20x24,k=1x1x600x24 f16", "gfx950", schedule)


PROGRAMS = (
    mfma_attention,
    halves_in_turn,
    wmma_attention,
    lane_attention,
    mfma_of_words,
    paged_attention,
    widened_bytes,
)

RELEASE = r'^ *fence syncscope\("workgroup"\) release.*\n'
BARRIER = r"^ *call void @llvm\.amdgcn\.s\.barrier\(\)\n"
ACQUIRE = r'^ *fence syncscope\("workgroup"\) acquire.*\n'
SYNCHRONISE = RELEASE + BARRIER + ACQUIRE
#: Behind the last barrier of the loop.
TURN = r"(?= *%more = )"

MUTATIONS = (
    *bugs(
        paged_attention,
        WRONG_RESULT,
        ("table-of-another-element", r"(%table\.\w+\.index = add .*) %table\.\w+\.row,", r"\1 0,"),
        ("page-of-the-block-before", r"(%table\.ahead\.column\.any = udiv i32) %key\.ahead,",
         r"\1 %key.next,"),
        ("row-in-the-page", r"(%v\.next\.in_page = mul .*) %in_page\.next,", r"\1 0,"),
        ("bytes-of-a-page", r"(%v\.next\.page = mul .*) %page\.next,", r"\1 0,"),
        ("first-key-of-the-page", r"(%k\.first\.in_page = mul .*) %in_page\.first,", r"\1 0,"),
        times=None,
    ),
    *bugs(
        mfma_attention,
        "race",
        ("no-barrier-before-a-copy", r"(; all waves have read the block\n)" + SYNCHRONISE, r"\1"),
        ("no-barrier-behind-a-copy", SYNCHRONISE + TURN, ""),
        ("no-barrier-behind-the-first-copy", SYNCHRONISE + r"(?= *br label %loop)", ""),
        ("no-release", RELEASE + f"(?={BARRIER}{ACQUIRE}{TURN})", ""),
    ),
    *bugs(
        mfma_attention,
        WRONG_RESULT,
        ("sums-not-rescaled", r"fmul float (%sum\.n0\.start), %factor\.n0", r"fadd float \1, 0.0"),
        ("results-not-rescaled", r"fmul (<4 x float>) (%acc\.j\d\.n0\.start), %factor\.n0\.all",
         r"fadd \1 \2, zeroinitializer"),
        ("stale-maximum", r"(%max\.n0\.grown = ).*", r"\1fadd float %max.n0.start, 0.0"),
        ("maxima-of-one-lane", r"(%new\.n0\.theirs\d+ = ).*\((.*), (i32 %\S+)\)", r"\1add \3, 0"),
        ("sums-of-one-lane", r"(%sum\.n0\.theirs\d+ = ).*", r"\1add i32 0, 0"),
        ("mask-off-by-one", r"(\.before =) icmp sgt", r"\1 icmp sge"),
        ("window-off-by-one", r"(\.behind =) icmp sle", r"\1 icmp slt"),
        ("swapped-weights",
         r"(%p\.n0\.g0\.p0 = .*) <i32 0, i32 1, ", r"\1 <i32 1, i32 0, "),
        ("swapped-fragment-of-values", r"(<4 x half> %v\.f0\.g0\.p)0(, )", r"\g<1>1\2"),
        ("keys-in-order-of-memory", r"(%v\.c\d+\.key = or disjoint i32) .*", r"\1 0, %v.c0.k"),
        ("length-of-another-element", r"(%length\.at = .* i64) %batch0", r"\1 0"),
        ("mask-of-the-first-block", r"(%mask\.key_bytes = mul nuw nsw i32) %key", r"\1 0"),
        ("keys-of-the-first-block", r"(%k\.next\.block = .* i64) \d+", r"\1 0"),
        ("results-not-divided", r"(%share\.n0 =) .*", r"\1 fadd float 1.0, 0.0"),
        times=None,
    ),
    *bugs(
        halves_in_turn,
        "race",
        ("no-barrier-behind-keys", SYNCHRONISE + r"(?=.*\n *%key\.loaded = )", ""),
        ("no-barrier-before-products", SYNCHRONISE + r"(?=(?:.*\n){1,2} *; results)", ""),
        ("stage-that-is-read", r"(%stage\.stored = xor i32 %stage), 2", r"\1, 1"),
    ),
    *bugs(
        halves_in_turn,
        WRONG_RESULT,
        ("keys-of-the-first-block", r"(%k\.second\.block = .* i64) \d+", r"\1 0"),
        ("keys-of-the-block-behind", r"(%key\.loaded = add nuw nsw i32 %key\.next), 128",
         r"\1, 256"),
    ),
    *bugs(
        halves_in_turn,
        "uninitialised-read",
        ("the-next-stage", r"(%stage\.after = add nuw nsw i32 %stage), 1", r"\1, 3"),
    ),
    *bugs(
        wmma_attention,
        WRONG_RESULT,
        ("weights-of-other-keys", r"(%s\.t0\.n0\.word1 = extractelement .*), i32 1", r"\1, i32 0"),
        ("results-of-other-elements", r"(%lane_element = or disjoint i32 .*), .*", r"\1, 0"),
        ("halves-swapped", r"(%selector0 = select i1 %upper_half, i32) (\d+), i32 (\d+)",
         r"\1 \3, i32 \2"),
        ("lse-without-its-maximum", r"(%lse\.n0 = .*\(float) %max\.n0\.now", r"\1 0.0"),
        times=None,
    ),
    *bugs(
        lane_attention,
        WRONG_RESULT,
        ("weights-of-another-query", r"(%weight_lane\.0 = shl nuw nsw i32) %lane_row", r"\1 %lane"),
        ("weights-of-one-key", r"(%p\.n0\.g\d\.p1\.word = .*)%weight_lane\.1", r"\1%weight_lane.0"),
        ("keys-of-the-lanes-query", r"(%k\.t0\.slot1 = xor i32) %lane_group", r"\1 %lane_row"),
        ("results-not-rescaled", r"fmul (<1 x float>) (%acc\.j\d\.n0\.start), %factor\.n0\.all",
         r"fadd \1 \2, zeroinitializer"),
        ("stale-maximum", r"(%max\.n0\.grown = ).*", r"\1fadd float %max.n0.start, 0.0"),
        ("swapped-elements", r"(%v\.f0\.g0\.p0 = .*) <i32 0>", r"\1 <i32 1>"),
        times=None,
    ),
    *bugs(
        mfma_of_words,
        WRONG_RESULT,
        ("swapped-weights", r"(%p\.n0\.g0\.p0\.rounded = .*) <i32 0>", r"\1 <i32 1>"),
        ("swapped-elements", r"(%k\.f0\.g0\.p0\.words = .*) <i32 0>", r"\1 <i32 1>"),
        ("mask-off-by-one", r"(\.before =) icmp sgt", r"\1 icmp sge"),
        times=None,
    ),
    *bugs(
        widened_bytes,
        WRONG_RESULT,
        ("results-not-scaled", r"(%share\.n0 = fmul float %share\.n0\.unscaled), .*", r"\1, 1.0"),
        ("halves-of-queries", r"(%q\.\S+\.f32\.p2 = .*) i1 true", r"\1 i1 false"),
        ("halves-of-keys", r"(%k\.\S+\.f32\.p2 = .*) i1 true", r"\1 i1 false"),
        ("mask-off-by-one", r"(\.before =) icmp sgt", r"\1 icmp sge"),
        times=None,
    ),
)  # fmt: skip
