"""Bugs in large Hopper products: persistent CTAs, clusters with multicast, outputs through
stmatrix and TMA, warpgroups in ping-pong."""

from __future__ import annotations

from functools import cache

from kgen.schedule import WgmmaMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered


@cache
def cluster_product() -> Program:
    """A pair of CTAs and 2 x 3 pairs of block tiles of two strips, with edges; three tiles of k."""
    schedule = WgmmaMatmul(
        block_m=64,
        block_n=128,
        block_k=64,
        num_stages=2,
        consumers=1,
        cluster_m=2,
        num_workgroups=2,
        group_m=2,
        tma_store=True,
    )
    return rendered("matmul 200x264x136 f16 layout=nt", "sm_90a", schedule)


@cache
def turns_product() -> Program:
    """A CTA whose two warpgroups share 2 x 2 block tiles of one strip; five tiles of k."""
    schedule = WgmmaMatmul(
        block_m=64,
        block_n=64,
        block_k=64,
        num_stages=3,
        consumers=2,
        pingpong=True,
        num_workgroups=1,
        tma_store=True,
    )
    return rendered("matmul 128x72x264 f16", "sm_90a", schedule)


PROGRAMS = (cluster_product, turns_product)

CLUSTER_BARRIER = r" *barrier\.cluster\.arrive\.release;\n *barrier\.cluster\.wait\.acquire;\n"
STRIP_BARRIER = r" *bar\.sync %strip_barrier, 128;\n"
PRODUCER = r"(^load_block:\n(?s:.*?))"
CONSUMERS = r"(^multiply_block:\n(?s:.*?))"
LET_GO = r"^ *@%arrives mbarrier\.arrive.*\n"

MUTATIONS = (
    *bugs(
        cluster_product,
        "deadlock",
        ("last-stage-not-given-back", LET_GO + r"(?!(?s:.*)^ *@%arrives)", ""),
        ("arrivals-expected-of-three", r"(mbarrier\.init\S+ \S+ )8;(?=\n *fence)", r"\g<1>12;"),
        ("fewer-tiles-loaded", PRODUCER + r"(setp\.ge\.u32 %none, %block, )6;", r"\1\g<2>5;"),
    ),
    *bugs(
        cluster_product,
        "race",
        ("barrier-at-the-end-dropped", r"^finished:\n.*\n" + CLUSTER_BARRIER, "finished:\n"),
        (
            "strip-still-read",
            CONSUMERS + r" *@%asks cp\.async\.bulk\.wait_group\.read 1;\n",
            r"\1",
        ),
        ("barrier-before-a-strip-dropped", CONSUMERS + STRIP_BARRIER + r"(?= *\{)", r"\1"),
        ("barrier-behind-a-strip-dropped", CONSUMERS + STRIP_BARRIER + r"(?= *mad)", r"\1"),
        ("both-load-one-half", r"(mad\.lo\.u32 %share_to, %rank, )8192,", r"\g<1>0,"),
        ("arrivals-at-the-own-cta-only", r"^ *@%arrives mapa.*\n", ""),
        # Two CTAs store to the same outputs.
        (
            "rows-of-the-other-cta",
            CONSUMERS + r"(mad\.lo\.u32 %m0, %m0, 2, )%rank;",
            r"\1\g<2>0;",
        ),
        ("strip-of-the-columns-before", r"(add\.u32 %box_n, %n0, )64;", r"\g<1>0;"),
    ),
    *bugs(
        turns_product,
        "race",
        # Both warpgroups store to the same outputs.
        ("both-take-every-tile", r"^ *shl\.b32 %step, %step, 1;\n", ""),
    ),
    *bugs(
        cluster_product,
        "missing-proxy-fence",
        (
            "fence-of-a-strip-dropped",
            CONSUMERS + r" *fence\.proxy\.async\S*;\n(?= *bar\.sync %strip)",
            r"\1",
        ),
    ),
    *bugs(
        cluster_product,
        "transaction-count",
        ("multicast-to-one", r"(mov\.b16 %everyone, )3;", r"\g<1>1;"),
        ("own-half-expected-only", r"(expect_tx\S+ _, \[%full\], )24576;", r"\g<1>16384;"),
    ),
    *bugs(
        cluster_product,
        "uninitialised-read",
        ("columns-of-a-strip-left-out", r"(xor\.b32 %put_xor32, %put, )32;", r"\g<1>96;"),
    ),
    *bugs(
        cluster_product,
        WRONG_RESULT,
        ("half-of-b-twice", r"(mad\.lo\.u32 %share_from, %rank, )64,", r"\g<1>0,"),
        ("fragments-swapped", CONSUMERS + r"\{%word0, %word1,", r"\1{%word1, %word0,"),
        ("tile-rows-not-in-groups", PRODUCER + r"(rem\.u32 %m0, %number, )%height;", r"\1\g<2>1;"),
    ),
    *bugs(
        turns_product,
        "pending-copy",
        ("turn-not-awaited", r"^ *bar\.sync %my_turn, 256;\n", ""),
        ("other-tiles-not-skipped", CONSUMERS + r"( *add\.u32 %stage, %stage, )2;", r"\1\g<2>0;"),
    ),
    *bugs(
        turns_product,
        "deadlock",
        ("turn-not-given", r"^ *@%follows bar\.arrive %your_turn, 256;\n", ""),
        ("first-turn-not-given", r"^ *@%second bar\.arrive %your_turn, 256;\n", ""),
        ("stages-kept-by-the-other", r"(mbarrier\.init\S+ \S+ )4;(?=\n *fence)", r"\g<1>8;"),
    ),
)
