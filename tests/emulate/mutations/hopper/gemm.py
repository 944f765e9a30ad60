"""Bugs in hand-written PTX for Hopper, with mechanisms that no template uses yet."""

from __future__ import annotations

from functools import cache

import numpy as np

from kgen.emulate import LaunchReport
from tests.emulate.mutations.mutation import CLEAN, WRONG_RESULT, Program, bugs
from tests.emulate.ptx.hopper_gemm import SOURCES, multiply, operands


def product(name: str, m: int, n: int, k: int, ctas: int, cluster: int = 1) -> Program:
    a, b = operands(m, n, k)
    wanted = (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)

    def execute(source: str, seed: int) -> tuple[LaunchReport, str]:
        found, report = multiply(
            a, b, name=name, source=source, ctas=ctas, cluster=(cluster, 1, 1), seed=seed
        )
        return report, CLEAN if (found == wanted).all() else WRONG_RESULT

    return Program(name=name, language="ptx", arch="sm_90a", source=SOURCES[name], execute=execute)


@cache
def gemm() -> Program:
    """TMA loads, full and empty mbarriers, wgmma, stmatrix, TMA stores; two tiles for the CTA."""
    return product("gemm", 128, 128, 256, ctas=1)


@cache
def gemm_cluster() -> Program:
    """GEMM by pairs of CTAs that multicast B to each other."""
    return product("gemm_cluster", 256, 128, 256, ctas=2, cluster=2)


PROGRAMS = (gemm, gemm_cluster)

CLUSTER_BARRIER = r"barrier\.cluster\.arrive\.release;\n *barrier\.cluster\.wait\.acquire;"
WAIT = r"^(wait_{}:\n) *mbarrier\.try_wait.*\n *@!%done bra wait_{};\n"

GEMM = (
    *bugs(
        gemm,
        "race",
        (
            "stage-released-while-read",
            r"wgmma\.wait_group\.sync\.aligned 1;",
            "wgmma.wait_group.sync.aligned 2;",
        ),
        (
            "stage-released-for-the-next",
            r"(not_yet:\n *mov\.u32 %previous, )%stage;\n( *add\.u32 %stage.*\n)",
            r"\2\1%stage;\n",
        ),
        ("barrier-before-the-store-dropped", r"^ *bar\.sync %bar, 128;\n(?= *div\.u32)", ""),
        ("barrier-behind-the-store-dropped", r"^ *bar\.sync %bar, 128;\n(?= *cvt)", ""),
        ("last-products-not-awaited", r"^ *wgmma\.wait_group\.sync\.aligned 0;\n", ""),
        (
            "last-wait-weakened",
            r"wgmma\.wait_group\.sync\.aligned 0;",
            "wgmma.wait_group.sync.aligned 1;",
        ),
        ("products-not-committed", r"^ *wgmma\.commit_group\.sync\.aligned;\n", ""),
        ("store-not-awaited", r"^ *@%first cp\.async\.bulk\.wait_group\.read 0;\n", ""),
        ("store-not-committed", r"^ *cp\.async\.bulk\.commit_group;\n", ""),
        ("barrier-behind-init-dropped", r"^(initialised:\n) *bar\.sync 0;\n", r"\1"),
    ),
    *bugs(
        gemm,
        "pending-copy",
        ("full-stage-not-awaited", WAIT.format("full", "full"), ""),
        (
            "step-of-k-of-the-descriptor",
            r"(add\.u64 %descriptor, %descriptor, )2;(?=(?:.*\n){7} *wgmma\.commit)",
            r"\g<1>4;",
        ),
        (
            "phase-not-turned",
            r"(consume_stage(?s:.*?))@%wrapped xor\.b32 %phase, %phase, 1;",
            r"\1",
        ),
    ),
    *bugs(
        gemm,
        "missing-wgmma-fence",
        ("fence-dropped", r"^ *wgmma\.fence\.sync\.aligned;\n", ""),
    ),
    *bugs(
        gemm,
        "missing-proxy-fence",
        ("fence-before-the-store-dropped", r"^ *fence\.proxy\.async\.shared::cta;\n(?= *bar)", ""),
    ),
    *bugs(
        gemm,
        "transaction-count",
        ("empty-stage-not-awaited", WAIT.format("empty", "empty"), ""),
        ("bytes-that-never-come", r"(expect_tx\S+ _, \[%bar\], )24576;", r"\g<1>32768;"),
        ("bytes-of-a-only", r"(expect_tx\S+ _, \[%bar\], )24576;", r"\g<1>16384;"),
        ("all-lanes-load", r"@!%elected bra finished;", ""),
    ),
    *bugs(
        gemm,
        "deadlock",
        ("one-consumer-releases", r"(mbarrier\.init\S+ \[%empty\], )2;", r"\g<1>1;"),
        ("stage-awaited-in-the-other-phase", r"(xor\.b32 %free_phase, %phase, )1;", r"\g<1>0;"),
        ("arrivals-that-never-come", r"(mbarrier\.init\S+ \[%full\], )1;", r"\g<1>2;"),
        ("consumer-does-not-let-go", r"^ *@%first mbarrier\.arrive.*\n(?=not_yet)", ""),
        (
            "arrives-at-the-next-stage",
            r"(shl\.b32 %tmp, %)previous(, 3;(?s:(?:.*?)not_yet))",
            r"\1stage\2",
        ),
        ("ring-of-two", r"(setp\.eq\.u32 %wrapped, %stage, )3;(?=(?s:.*)^consumer:)", r"\g<1>2;"),
        (
            "expect-without-arrive",
            r"mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, (\[%bar\], 24576;)",
            r"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 \1",
        ),
    ),
    *bugs(
        gemm,
        "trap",
        (
            "map-of-other-dimensions",
            r"(cp\.async\.bulk\.tensor\.)2d((?:.*\n)?.*%map_b, \{%x, %column)\}",
            r"\g<1>3d\2, 0}",
        ),
        (
            "registers-returned-by-an-increase",
            r"(setmaxnreg\.inc\.sync\.aligned\.u32 )232;",
            r"\g<1>232; \g<1>160;",
        ),
    ),
    *bugs(
        gemm,
        "misaligned",
        ("tile-at-64-bytes", r"(add\.u32 %b, %b, )49152;\n(?= *cp\.async)", r"\g<1>49216;\n"),
        ("mbarrier-at-4-bytes", r"(mbarrier\.init\S+ \[%empty\+)8\]", r"\g<1>12]"),
    ),
    *bugs(
        gemm,
        "out-of-bounds",
        ("tile-behind-the-end", r"(add\.u32 %c, %c, )73728;", r"\g<1>81920;"),
    ),
    *bugs(
        gemm,
        "divergent-warp-instruction",
        (
            "wgmma-without-a-warp",
            r"^(consumer:\n)",
            r"\1    setp.eq.u32 %done, %warp, 7; @%done ret;\n",
        ),
        (
            "stmatrix-by-the-first-lane",
            r"^( *)(stmatrix\S+ \[%tmp\],\n *\{%packed12)",
            r"\1@%first \2",
        ),
    ),
    *bugs(
        gemm,
        WRONG_RESULT,
        ("rows-and-columns-swapped", r"\[%map_b, \{%x, %column\}\]", "[%map_b, {%column, %x}]"),
        (
            "swizzle-of-the-descriptor",
            r"or\.b64 %desc_a, %desc_a, 0x4000",
            "or.b64 %desc_a, %desc_a, 0x8000",
        ),
        ("stride-of-the-descriptor", r"(or\.b64 %desc_b, %desc_b, 0x400000)4", r"\g<1>2"),
        ("b-as-if-transposed", r"(%accumulate, 1, 1, 0, )0;", r"\g<1>1;"),
        (
            "sum-of-the-tile-before",
            r"setp\.ne\.u32 %accumulate, %k, 0;",
            "setp.ne.u32 %accumulate, %k, 1;",
        ),
        ("swizzle-of-the-store", r"and\.b32 %turn, %y, 7;", "and.b32 %turn, %y, 3;"),
        ("registers-of-the-fragment", r"\{%packed4, %packed5, ", "{%packed5, %packed4, "),
    ),
)

GEMM_CLUSTER = (
    *bugs(
        gemm_cluster,
        "race",
        ("own-consumers-only", r"(mbarrier\.init\S+ \[%empty\], )4;", r"\g<1>2;"),
        (
            "release-not-a-release",
            r"^\.version 8\.0((?s:.*)@%releases mbarrier\.arrive)\.release(?=.*\n\s*not_yet)",
            r".version 8.6\1.relaxed",
        ),
        (
            "cluster-barrier-of-the-cta-only",
            CLUSTER_BARRIER + r"(?=(?s:.*)consume_tile)",
            "bar.sync 0;",
        ),
        ("arrives-at-its-own-only", r"and\.b32 %leader, %tmp, 1;", "mov.u32 %leader, %rank;"),
        ("arrives-at-the-first-only", r"and\.b32 %leader, %tmp, 1;", "mov.u32 %leader, 0;"),
        (
            "leaves-while-others-arrive",
            CLUSTER_BARRIER + r"(?!(?s:.*)consume_tile)",
            "",
        ),
        ("halves-on-top-of-each-other", r"^ *add\.u32 %b, %b, %half;\n", ""),
    ),
    *bugs(
        gemm_cluster,
        "deadlock",
        ("multicast-to-one", r"mov\.u16 %both, 3;", "mov.u16 %both, 1;"),
    ),
    *bugs(
        gemm_cluster,
        "out-of-bounds",
        ("multicast-beyond-the-cluster", r"mov\.u16 %both, 3;", "mov.u16 %both, 7;"),
        ("rank-beyond-the-cluster", r"and\.b32 %leader, %tmp, 1;", "add.u32 %leader, %tmp, 1;"),
    ),
    *bugs(
        gemm_cluster,
        WRONG_RESULT,
        (
            "rows-of-the-other-cta",
            r"^ *add\.u32 %tile_m, %tile_m, %rank;\n(?=(?s:.*)^consumer:)",
            "",
        ),
        ("half-of-the-columns-twice", r"shl\.b32 %tmp, %rank, 5;", "mov.b32 %tmp, 0;"),
    ),
)
MUTATIONS = (*GEMM, *GEMM_CLUSTER)
