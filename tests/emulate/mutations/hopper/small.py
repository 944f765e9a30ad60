"""Bugs in small hand-written programs for Hopper: mechanisms that the GEMM does not use."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs, written_by_hand
from tests.emulate.ptx.hopper_gemm import FOLDER


def source(name: str) -> str:
    return (FOLDER / f"{name}.ptx").read_text()


@cache
def exchange() -> Program:
    """Bulk copies and loads between the CTAs of clusters."""
    values = np.random.default_rng(2).integers(0, 1000, (4, 64), np.uint32)
    swapped = values.reshape(2, 2, 64)[:, ::-1].reshape(4, 64)
    return written_by_hand(
        "exchange",
        source("exchange"),
        swapped + 65536 * swapped[:, np.arange(64) ^ 2],
        lambda out: [values, out],
        grid=(4, 1, 1),
        block=(64, 1, 1),
        cluster=(2, 1, 1),
    )


@cache
def register_product() -> Program:
    """wgmma with A in registers, B written by threads, sums changed in between."""
    random = np.random.default_rng(3)
    a = random.integers(-4, 5, (2, 64, 16)).astype(np.float16)
    b = random.integers(-4, 5, (8, 16)).astype(np.float16)
    return written_by_hand(
        "register_product",
        source("register_product"),
        (2 * a[0] + a[1]).astype(np.float32) @ b.T.astype(np.float32),
        lambda out: [a, b, out],
        grid=(1, 1, 1),
        block=(128, 1, 1),
    )


PROGRAMS = (exchange, register_product)

PROXY_FENCE = r"^ *fence\.proxy\.async\.shared::cta;\n"
CLUSTER_BARRIER = r"^ *barrier\.cluster\.arrive\.release;\n *barrier\.cluster\.wait\.acquire;\n"
EXCHANGE = (
    *bugs(
        exchange,
        "race",
        (
            "first-cluster-barrier-dropped",
            CLUSTER_BARRIER + r"(?=\s*mov\.u32 %from)",
            "",
        ),
        (
            "last-cluster-barrier-dropped",
            CLUSTER_BARRIER + r"(?= *ret)",
            "",
        ),
        (
            "arrival-relaxed",
            r"barrier\.cluster\.arrive\.release(;\n.*\n\s*mov\.u32 %from)",
            r"barrier.cluster.arrive.relaxed\1",
        ),
    ),
    *bugs(
        exchange,
        "missing-proxy-fence",
        ("fence-dropped", PROXY_FENCE, ""),
        ("fence-before-the-store", r"(^ *st\.shared\.u32 .*\n)(" + PROXY_FENCE + ")", r"\2\1"),
    ),
    *bugs(
        exchange,
        "transaction-count",
        ("nothing-sent", r"@!%is_thread0 bra wait_full;", "bra wait_full;"),
        ("bytes-of-half", r"(expect_tx\S+ _, \[%bar\], )256;", r"\g<1>128;"),
    ),
    *bugs(
        exchange,
        "pending-copy",
        ("bytes-not-awaited", r"^wait_full:\n.*\n.*\n", "wait_full:\n"),
    ),
    *bugs(
        exchange,
        "trap",
        (
            "signals-its-own-barrier",
            r"^ *mapa\.shared::cluster\.u32 %remote_bar, .*\n",
            "mapa.shared::cluster.u32 %remote_bar, %bar, %rank;\n",
        ),
        (
            "signals-by-an-address-of-its-own",
            r"^ *mapa\.shared::cluster\.u32 %remote_bar, .*\n",
            "mov.u32 %remote_bar, %bar;\n",
        ),
    ),
    *bugs(
        exchange,
        "out-of-bounds",
        ("rank-beyond-the-cluster", r"xor\.b32 %other, %rank, 1;", "add.u32 %other, %rank, 1;"),
        ("address-beyond-the-window", r"(xor\.b32 %offset, %offset, )8;", r"\g<1>4096;"),
    ),
    *bugs(
        exchange,
        WRONG_RESULT,
        (
            "own-instead-of-the-others",
            r"(mapa\.shared::cluster\.u32 %remote, %at, )%other;(?=\s*ld)",
            r"\1%rank;",
        ),
    ),
)

WGMMA_FENCE = r"^ *wgmma\.fence\.sync\.aligned;\n"
SECOND = r"(?=(?s:.*?)%more, 1, 1, 0;)(?!(?s:.*)%first, 1, 1, 0;)"
REGISTER_PRODUCT = (
    *bugs(
        register_product,
        "missing-wgmma-fence",
        ("first-fence-dropped", WGMMA_FENCE + r"(?=(?s:.*)%first, 1, 1, 0;)", ""),
        ("second-fence-dropped", WGMMA_FENCE + SECOND, ""),
        (
            "sums-changed-behind-the-fence",
            r"( *add\.f32 %acc3, .*\n)((?s:.*?)wgmma\.fence\.sync\.aligned;\n)",
            r"\2\1",
        ),
        (
            "operands-loaded-behind-the-fence",
            r"( *ld\.global\.u32 %a3, \[%a\+2320\];\n)( *wgmma\.fence\.sync\.aligned;\n)",
            r"\2\1",
        ),
    ),
    *bugs(
        register_product,
        "pending-wgmma",
        ("first-wait-dropped", r"^ *wgmma\.wait_group\.sync\.aligned 0;\n(?=\s*// ---- twice)", ""),
        (
            "last-wait-weakened",
            r"wgmma\.wait_group\.sync\.aligned 0;\n(?= *st\.global)",
            "wgmma.wait_group.sync.aligned 1;\n",
        ),
        (
            "last-products-not-committed",
            r"^ *wgmma\.commit_group\.sync\.aligned;\n(?=.*\n *st\.global)",
            "",
        ),
        (
            "operands-loaded-before-the-wait",
            r"( *wgmma\.wait_group\.sync\.aligned 0;\n)((?s:.*?))"
            r"( *ld\.global\.u32 %a0, \[%a\+2048\];\n)",
            r"\3\1\2",
        ),
    ),
    *bugs(
        register_product,
        "missing-proxy-fence",
        ("fence-dropped", PROXY_FENCE, ""),
        (
            "fence-before-the-store",
            r"(^ *@%mine st\.shared\.u32 .*\n)(" + PROXY_FENCE + ")",
            r"\2\1",
        ),
    ),
    *bugs(
        register_product,
        "race",
        ("barrier-dropped", r"^ *bar\.sync 0;\n", ""),
    ),
    *bugs(
        register_product,
        "uninitialised-read",
        ("half-of-b", r"(setp\.lt\.u32 %mine, %thread, )64;", r"\g<1>32;"),
    ),
    *bugs(
        register_product,
        "out-of-bounds",
        ("stride-of-the-descriptor", r"0x0000001000080000", "0x0000001000100000"),
    ),
    *bugs(
        register_product,
        "divergent-warp-instruction",
        (
            "warpgroup-of-three-warps",
            r"^( *mul\.lo|)(?= *// leading dimension)",
            "setp.ge.u32 %more, %thread, 96; @%more ret;\n",
        ),
    ),
    *bugs(
        register_product,
        WRONG_RESULT,
        ("rows-of-the-fragment", r"(ld\.global\.u32 %a1, \[%a\+)256\]", r"\g<1>16]"),
        ("sums-forgotten", r"%more, 1, 1, 0;", "%first, 1, 1, 0;"),
        ("negated", r"(%more, )1(, 1, 0;)", r"\g<1>-1\2"),
    ),
)
MUTATIONS = (*EXCHANGE, *REGISTER_PRODUCT)
