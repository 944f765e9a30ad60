"""Bulk copies and ordinary accesses to shared memory: fences, order and waits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, tile_program, words
from tests.emulate.ptx.ptx_programs import run

#: All threads write 16 bytes, thread 0 copies them to global memory in bulk.
OUT = """
    setp.ne.u32 %q0, %t, 0;
    st.shared.v4.u32 [%r1], {{%t, %t, %t, %t}};
    {fence}
    {barrier}
    {late}
    @%q0 bra DONE;
    cp.async.bulk.global.shared::cta.bulk_group [%p0], [%r0], 1024;
    cp.async.bulk.commit_group;
    {wait}
DONE:
    {again}
    st.shared.u32 [%r1], 0;
"""
PROXY = "fence.proxy.async.shared::cta;"
#: Other fences that stand for it, and fences that order something else.
FENCES = ("fence.proxy.async;", "fence.proxy.async.shared::cluster;")
OTHER_FENCES = ("fence.proxy.async.global;", "fence.mbarrier_init.release.cluster;", "membar.gl;")


def bulk_out(
    fence: str = PROXY,
    barrier: str = "bar.sync 0;",
    late: str = "",
    wait: str = "cp.async.bulk.wait_group.read 0;",
    again: str = "bar.sync 0;",
) -> str:
    text = OUT.format(fence=fence, barrier=barrier, late=late, wait=wait, again=again)
    return tile_program(text)


def test_bulk_copies_read_what_was_fenced_and_ordered() -> None:
    for seed in SEEDS:
        out = words()
        run(bulk_out(), out, threads=64, seed=seed)
        np.testing.assert_array_equal(out, np.repeat(np.arange(64), 4))


@pytest.mark.parametrize("fence", FENCES)
def test_fences_of_the_proxy(fence: str) -> None:
    run(bulk_out(fence), words(), threads=64)


@pytest.mark.parametrize("fence", OTHER_FENCES)
def test_fences_of_something_else(fence: str) -> None:
    assert fault(bulk_out(fence), words(), threads=64).kind == "missing-proxy-fence"


def test_the_thread_that_copies_may_fence_behind_the_barrier() -> None:
    for seed in SEEDS:
        run(bulk_out(fence="", late="@%q0 bra DONE;\n    " + PROXY), words(), threads=64, seed=seed)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (bulk_out(fence=""), {"missing-proxy-fence"}),
        (bulk_out(barrier=""), {"race", "uninitialised-read"}),
        (bulk_out(wait=""), {"race"}),
        (bulk_out(again=""), {"race"}),
    ],
    ids=["no fence", "no barrier", "no wait", "no barrier after it"],
)
def test_bulk_copies_that_are_not_ordered(source: str, kinds: set[str]) -> None:
    assert {fault(source, words(), threads=64, seed=seed).kind for seed in SEEDS} <= kinds


#: Thread 0 copies into shared memory in bulk, all wait for the mbarrier, and read; twice.
IN = """
    setp.ne.u32 %q0, %t, 0;
    mov.u32 %r2, 0;
    @%q0 bra MADE;
    mbarrier.init.shared::cta.b64 [%r0+4000], 1;
    fence.mbarrier_init.release.cluster;
MADE:
    bar.sync 0;
ROUND:
    @%q0 bra TRY;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0+4000], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r0], [%p0], 1024, [%r0+4000];
TRY:
    {wait}
    ld.shared.u32 %r4, [%r1];
    {fence}
    {barrier}
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %q1, %r2, 2;
    @%q1 bra ROUND;
    mad.wide.u32 %a0, %t, 4, %p1;
    st.global.u32 [%a0], %r4;
"""
TRY = """mbarrier.try_wait.parity.shared::cta.b64 %q2, [%r0+4000], %r2;
    @!%q2 bra TRY;"""


def bulk_in(wait: str = TRY, fence: str = PROXY, barrier: str = "bar.sync 0;") -> str:
    return tile_program(IN.format(wait=wait, fence=fence, barrier=barrier), params=2)


def test_bulk_copies_write_for_those_who_wait() -> None:
    for seed in SEEDS:
        out = words(64)
        report = run(bulk_in(), np.arange(256, dtype=np.uint32), out, threads=64, seed=seed)
        np.testing.assert_array_equal(out, 4 * np.arange(64))
        assert report.warnings == ()


def test_a_generic_read_that_a_bulk_copy_overwrites_is_worth_a_warning() -> None:
    for seed in SEEDS:
        report = run(bulk_in(fence=""), words(), words(64), threads=64, seed=seed)
        assert [w.kind for w in report.warnings] == ["proxy-read-overwritten"]
        assert report.warnings[0].instruction.startswith("cp.async.bulk")


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (bulk_in(wait=""), {"pending-copy", "uninitialised-read"}),
        (
            bulk_in(wait=f"@%q0 bra AFTER;\n    {TRY}\nAFTER:"),
            {"pending-copy", "race", "uninitialised-read"},
        ),
        (bulk_in(barrier=""), {"race"}),
    ],
    ids=["nobody waits", "one thread waits", "overwritten while others read"],
)
def test_bulk_copies_that_nobody_waits_for(source: str, kinds: set[str]) -> None:
    for seed in SEEDS:
        assert fault(source, words(), words(64), threads=64, seed=seed).kind in kinds
