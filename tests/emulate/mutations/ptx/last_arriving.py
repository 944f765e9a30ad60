"""Bugs in split-k in one kernel, whose parts the last-arriving CTA adds."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SplitFmaMatmul, SplitMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def one_kernel_product() -> Program:
    """Four parts of two products, of four block tiles each; outputs of 16 bits, all of k whole."""
    schedule = SplitMatmul(
        block_m=32,
        block_n=32,
        block_k=32,
        num_stages=2,
        warp_m=16,
        warp_n=16,
        split_k=4,
        one_kernel=True,
    )
    return rendered("matmul 33x40x256 f16 batch=2 +bias", "sm_80", schedule)


@cache
def many_parts() -> Program:
    """Eleven parts in f32, more than registers hold: first three are added, then twice four."""
    schedule = SplitFmaMatmul(
        block_m=32,
        block_n=64,
        block_k=8,
        num_stages=2,
        thread_m=4,
        thread_n=8,
        split_k=11,
        one_kernel=True,
    )
    return rendered("matmul 32x70x176 f32", "sm_80", schedule)


PROGRAMS = (one_kernel_product, many_parts)

MUTATIONS = (
    *bugs(
        one_kernel_product,
        "race",
        ("count-does-not-release", r"atom\.acq_rel(\.gpu\.global\.inc)", r"atom.acquire\1"),
        ("count-does-not-acquire", r"atom\.acq_rel(\.gpu\.global\.inc)", r"atom.release\1"),
        ("count-orders-nothing", r"atom\.acq_rel(\.gpu\.global\.inc)", r"atom.relaxed\1"),
        ("count-seen-by-the-cta-only", r"(atom\.acq_rel\.)gpu(\.global\.inc)", r"\1cta\2"),
        (
            "counted-before-all-have-stored",
            r"^ *bar\.sync 0;\n(?= *@%counts atom)",
            "",
        ),
        ("the-first-to-come-adds", r"(setp\.eq\.u32 %last, %before, )3;", r"\g<1>0;"),
        ("the-last-but-one-adds", r"(setp\.eq\.u32 %last, %before, )3;", r"\g<1>2;"),
        ("parts-in-one-place", r"(mad\.lo\.u64 %part, %wide, )4096,", r"\g<1>0,"),
        ("parts-overlap", r"(mad\.lo\.u64 %part, %wide, )4096,", r"\g<1>2048,"),
        ("block-tiles-overlap", r"(mad\.lo\.u64 %block_parts, %wide, )16384,", r"\g<1>8192,"),
        ("threads-in-one-place", r"(mad\.lo\.u64 %block_parts, %wide, )16,", r"\g<1>0,"),
        ("one-counter-for-all", r"(mad\.lo\.u64 %arrivals, %wide, )4,", r"\g<1>0,"),
    ),
    *bugs(
        one_kernel_product,
        "out-of-bounds",
        ("product-of-the-part", r"^ *div\.u32 %batch, %batch, 4;\n", ""),
        ("counters-too-far", r"(mad\.lo\.u64 %arrivals, %wide, )4,", r"\g<1>8,"),
        ("parts-of-more-tiles", r"(mad\.lo\.u64 %block_parts, %wide, )16384,", r"\g<1>20480,"),
        ("one-part-too-many", r"(\}, \[%block_parts\+)14336\]", r"\g<1>16384]"),
    ),
    *bugs(
        one_kernel_product,
        WRONG_RESULT,
        ("nobody-is-last", r"(setp\.eq\.u32 %last, %before, )3;", r"\g<1>4;"),
        ("counter-wraps-early", r"(global\.inc\.u32 %before, \[%arrivals\], )3;", r"\g<1>2;"),
        ("only-the-counting-thread-is-last", r"^ *bar\.red\.or\.pred %last, 0, %last;\n", ""),
        ("part-left-out", r"^ *add\.f32 %acc_m0_n0, %acc_m0_n0, %part3_m0_n0;\n", ""),
    ),
    *bugs(
        one_kernel_product,
        "misaligned",
        ("threads-overlap", r"(mad\.lo\.u64 %block_parts, %wide, )16,", r"\g<1>8,"),
    ),
    *bugs(
        many_parts,
        WRONG_RESULT,
        ("a-turn-too-few", r"^ *@%again bra add_parts;\n", ""),
        (
            "turns-begin-a-part-early",
            r"(add\.u64 %block_parts, %block_parts, )24576;",
            r"\g<1>16384;",
        ),
    ),
    *bugs(
        many_parts,
        "out-of-bounds",
        ("a-turn-too-many", r"(mov\.u32 %turns, )2;", r"\g<1>3;"),
    ),
)
