"""Bugs in a hand-written ring of bulk copies for Hopper, read by ordinary loads."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.emulate.mutations.hopper.small import PROXY_FENCE, source
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs, written_by_hand


@cache
def sum_ring() -> Program:
    """A ring of bulk copies, read by ordinary loads; a bulk reduction of the results."""
    ctas, count = 3, 5
    blocks = np.random.default_rng(1).integers(0, 1000, (ctas, count, 64), np.uint32)
    return written_by_hand(
        "sum_ring",
        source("sum_ring"),
        blocks.sum(axis=(0, 1), dtype=np.uint32),
        lambda out: [blocks, out, np.uint32(count)],
        grid=(ctas, 1, 1),
        block=(96, 1, 1),
    )


PROGRAMS = (sum_ring,)

REUSE = r"(?= *add\.u32 %bar, %empty)"
INIT_FENCE = r"fence\.mbarrier_init\.release\.cluster;"
MUTATIONS = (
    *bugs(
        sum_ring,
        "race",
        ("barrier-of-the-sums-dropped", r"^ *bar\.sync 1, 64;\n", ""),
        (
            "sums-before-their-barrier",
            r"(^ *st\.shared\.u32 \[%tmp\], %sum;\n)((?s:.*?)bar\.sync 1, 64;\n)",
            r"\2\1",
        ),
    ),
    *bugs(
        sum_ring,
        "warning: proxy-read-overwritten",
        ("fence-of-the-reads-dropped", PROXY_FENCE + REUSE, ""),
        (
            "fence-behind-the-arrival",
            "(" + PROXY_FENCE + r")((?:.*\n){2})(?= *add\.u32 %stage)",
            r"\2\1",
        ),
        (
            "fence-of-global-memory",
            r"(fence\.proxy\.async\.)shared::cta;\n" + REUSE,
            r"\1global;\n",
        ),
        (
            "fence-of-the-wrong-kind",
            r"fence\.proxy\.async\.shared::cta;\n" + REUSE,
            "fence.acq_rel.cta;\n",
        ),
    ),
    *bugs(
        sum_ring,
        "warning: missing-proxy-fence",
        ("fence-of-init-dropped", r"^ *" + INIT_FENCE + r"\n", ""),
        ("fence-of-init-of-global-memory", INIT_FENCE, "fence.proxy.async.global;"),
        ("fence-of-init-of-memory", INIT_FENCE, "fence.acq_rel.cluster;"),
        (
            "fence-before-init",
            r"((?: *mbarrier\.init.*\n)+)( *" + INIT_FENCE + r"\n)",
            r"\2\1",
        ),
    ),
    *bugs(
        sum_ring,
        "missing-proxy-fence",
        ("fence-of-the-sums-dropped", PROXY_FENCE + r"(?= *bar\.sync 1)", ""),
        (
            "fence-of-the-sums-of-global-memory",
            r"(fence\.proxy\.async\.)shared::cta;(?=\s*bar\.sync 1)",
            r"\1global;",
        ),
        (
            "fence-of-mbarriers-for-the-sums",
            r"fence\.proxy\.async\.shared::cta;(?=\s*bar\.sync 1)",
            "fence.mbarrier_init.release.cluster;",
        ),
        (
            "fence-of-the-sums-too-early",
            r"(^ *st\.shared\.u32 \[%tmp\], %sum;\n)(" + PROXY_FENCE + ")",
            r"\2\1",
        ),
    ),
    *bugs(
        sum_ring,
        "pending-copy",
        ("full-stage-not-awaited", r"^wait_full:\n.*\n.*\n", ""),
        ("phase-of-the-other-stage", r"(wait_full:\n.*\[%bar\], )%phase;", r"\g<1>%stage;"),
    ),
    *bugs(
        sum_ring,
        "transaction-count",
        ("empty-stage-not-awaited", r"^wait_empty:\n.*\n.*\n", ""),
        ("half-the-bytes-expected", r"(expect_tx\S+ _, \[%bar\], )256;", r"\g<1>128;"),
        ("twice-the-bytes-expected", r"(expect_tx\S+ _, \[%bar\], )256;", r"\g<1>512;"),
    ),
    *bugs(
        sum_ring,
        "deadlock",
        ("one-arrival-for-a-warp", r"(mbarrier\.init\S+ \[%empty\], )64;", r"\g<1>32;"),
        ("consumers-of-a-third-warp", r"(mbarrier\.init\S+ \[%empty\], )64;", r"\g<1>96;"),
        ("barrier-with-the-producer", r"bar\.sync 1, 64;", "bar.sync 1, 96;"),
    ),
    *bugs(
        sum_ring,
        "out-of-bounds",
        (
            "one-block-too-many",
            r"(setp\.lt\.u32 %more, %block, %count;\n *@%more bra produce)",
            r"setp.le.u32 %more, %block, %count;\n@%more bra produce",
        ),
        ("ring-of-four", r"(%wrapped, %stage, )2;(?=(?s:.*)^consumer:)", r"\g<1>4;"),
    ),
    *bugs(
        sum_ring,
        "misaligned",
        ("from-a-word", r"(add\.u64 %in, %in, )256;", r"\g<1>260;"),
        ("stages-of-words", r"(shl\.b32 %at, %stage, )8;(?=\s*add)", r"\g<1>2;"),
    ),
    *bugs(
        sum_ring,
        WRONG_RESULT,
        ("reduction-not-a-sum", r"bulk_group\.add\.u32", "bulk_group.max.u32"),
        ("block-twice", r"^ *add\.u64 %in, %in, 256;\n", ""),
    ),
)
