"""Bugs in a product by mma.sync whose CTAs share block tiles (stream-k): tiles that are counted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from kgen.schedule import SplitMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Mutation, Program, bugs
from tests.emulate.mutations.ptx.stream import FLAG_RACES, WAITS_FOR_ITSELF, WRONG_PARTS
from tests.emulate.mutations.templates import rendered

SCHEDULE = SplitMatmul(
    block_m=32,
    block_n=32,
    block_k=32,
    num_stages=3,
    warp_m=16,
    warp_n=16,
    num_workgroups=7,
    stream_k=True,
)


@cache
def shared_product() -> Program:
    """Four block tiles of five tiles along k, shared by seven CTAs: parts of one to three tiles,
    in a ring of three; outputs of 16 bits, staged where the ring is."""
    return rendered("matmul 40x33x152 f16 +bias", "sm_80", SCHEDULE)


@cache
def waves_product() -> Program:
    """Six block tiles on two CTAs: two are shared, then each has two whole ones."""
    return rendered("matmul 72x64x96 f16", "sm_80", replace(SCHEDULE, num_workgroups=2))


PROGRAMS = (shared_product, waves_product)

MUTATIONS = (
    *bugs(
        shared_product,
        "race",
        *FLAG_RACES,
        (
            "flag-seen-by-the-cta-only",
            r"ld\.acquire\.gpu(\.global\.u32 %there)",
            r"ld.acquire.cta\1",
        ),
        (
            "flag-before-all-have-stored",
            r"^ *bar\.sync 0;\n(?= *\{\n *\.reg \.u32 %there;\n *mov)",
            "",
        ),
        ("part-read-before-its-flag", r"(?<=^part_there:\n) *bar\.sync 0;\n", ""),
        ("ticket-read-before-it-is-there", r"^ *bar\.sync 0;\n(?=.*\n *\.reg \.u32 %cta,)", ""),
    ),
    *bugs(
        waves_product,
        "race",
        (
            "next-block-while-outputs-are-staged",
            r"(?<=// all warps are done with the previous block tile\n) *bar\.sync 0;\n",
            "",
        ),
    ),
    *bugs(
        shared_product,
        "uninitialised-read",
        ("a-tile-too-few-and-none", r"(sub\.u32 %last_tile, %count, )1;", r"\g<1>2;"),
        ("tiles-of-the-ring-only", r"(sub\.s32 %loading, %count, )2;", r"\g<1>3;"),
    ),
    *bugs(
        shared_product,
        "deadlock",
        WAITS_FOR_ITSELF,
        ("own-part-again", r"(cvt\.u64\.u32 %wide, %)other;", r"\1cta;"),
    ),
    *bugs(
        shared_product,
        WRONG_RESULT,
        *WRONG_PARTS,
        ("part-not-from-its-first-tile", r"(mul\.lo\.u32 %k0, )%first_tile, 32;", r"\g<1>0, 32;"),
    ),
    *bugs(
        waves_product,
        "deadlock",
        ("the-same-block-again", r"(@%over add\.u32 %range_end, %whole, )3;", r"\g<1>0;"),
    ),
    *bugs(
        waves_product,
        WRONG_RESULT,
        ("waves-are-one", r"(@%over add\.u32 %whole, %whole, )6;", r"\g<1>12;"),
    ),
    Mutation(
        program=shared_product,
        name="parts-overlap",
        pattern=r"(mad\.lo\.u64 %part, %wide, )4096,",
        replacement=r"\g<1>2048,",
        expected="race",
        times=2,
    ),
    Mutation(
        program=shared_product,
        name="fragments-of-no-tile",
        pattern=r"@%another (ldmatrix)",
        replacement=r"\1",
        expected="uninitialised-read",
        times=2,
    ),
)
