"""Flags and mbarriers in shared memory, raised by single lanes: which accesses they order."""

from __future__ import annotations

import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, line_of, tile_program
from tests.emulate.ptx.ptx_programs import run

FLAG = """
    setp.ge.u32 %q0, %t, 32;
    st.shared.u32 [%r1], %t;
    bar.warp.sync 0xffffffff;
    mov.u32 %r5, 1;
    setp.ne.u32 %q1, %t, 0;
    @%q0 bra WAIT;
    @%q1 ret;
    {release}
    {store} [%r0+4000], %r5;
    ret;
WAIT:
    {load} %r6, [%r0+4000];
    setp.eq.u32 %q2, %r6, 0;
    @%q2 bra WAIT;
    {acquire}
    sub.u32 %r2, %t, 32;
    mad.lo.u32 %r2, %r2, 16, %r0;
    ld.shared.u32 %r3, [%r2];
"""


def flag(
    release: str = "",
    acquire: str = "",
    store: str = "st.release.cta.shared.u32",
    load: str = "ld.acquire.cta.shared.u32",
) -> str:
    zero = """
    setp.eq.u32 %q3, %t, 0;
    @%q3 st.shared.u32 [%r0+4000], 0;
    bar.sync 0;
    """
    text = FLAG.format(release=release, acquire=acquire, store=store, load=load)
    return tile_program(zero + text, params=0)


VOLATILE = {"store": "st.volatile.shared.u32", "load": "ld.volatile.shared.u32"}


@pytest.mark.parametrize(
    "source",
    [flag(), flag("membar.cta;", "membar.cta;", **VOLATILE)],
    ids=["release, acquire", "fences"],
)
def test_a_flag_in_shared_memory_orders_warps(source: str) -> None:
    for seed in SEEDS:
        run(source, threads=64, seed=seed)


@pytest.mark.parametrize(
    "source",
    [
        flag(store="st.relaxed.cta.shared.u32"),
        flag(load="ld.relaxed.cta.shared.u32"),
        flag("", "membar.cta;", **VOLATILE),
        flag("membar.cta;", "", **VOLATILE),
    ],
    ids=["relaxed store", "relaxed load", "no release fence", "no acquire fence"],
)
def test_a_flag_in_shared_memory_that_is_too_weak(source: str) -> None:
    for seed in SEEDS:
        found = fault(source, threads=64, seed=seed)
        assert found.kind == "race" and found.instruction.startswith("ld.shared.u32 %r3")


#: Warp 0 writes, one lane of it says so; warp 1 waits, in all lanes or in one of them.
SIGNAL = """
    setp.eq.u32 %q0, %t, 0;
    setp.ge.u32 %q1, %t, 32;
    @%q0 mbarrier.init.shared::cta.b64 [%r0+4000], 1;
    bar.sync 0;
    @%q1 bra WAIT;
    st.shared.u32 [%r1], %t;
    {before}
    @%q0 mbarrier.arrive.shared::cta.b64 _, [%r0+4000];
    ret;
WAIT:
    and.b32 %r3, %t, 31;
    setp.ne.u32 %q2, %r3, {waits};
    @%q2 bra READY;
TRY:
    mbarrier.try_wait.parity.shared::cta.b64 %q3, [%r0+4000], 0;
    @!%q3 bra TRY;
READY:
    {after}
    sub.u32 %r2, %t, 32;
    mad.lo.u32 %r2, %r2, 16, %r0;
    ld.shared.u32 %r3, [%r2];
"""
SYNC = "bar.warp.sync 0xffffffff;"


def signal(before: str = SYNC, after: str = SYNC, waits: str = "0") -> str:
    return tile_program(SIGNAL.format(before=before, after=after, waits=waits), params=0)


def test_a_lane_speaks_for_its_warp_behind_a_warp_barrier() -> None:
    for seed in SEEDS:
        run(signal(), threads=64, seed=seed)
        run(signal(after="", waits="%r3"), threads=64, seed=seed)


@pytest.mark.parametrize(
    ("source", "lanes"),
    [
        (signal(before=""), tuple(range(33, 41))),
        (signal(before="", after="", waits="%r3"), tuple(range(33, 41))),
        (signal(after=""), tuple(range(33, 41))),
        (signal(after="", waits="5"), (32, 33, 34, 35, 36, 38, 39, 40)),
    ],
    ids=["arrives for others", "all wait", "waits for others", "lane 5 waits"],
)
def test_a_lane_speaks_for_itself_alone(source: str, lanes: tuple[int, ...]) -> None:
    """Lanes that did not wait, or that read another lane's data, have a fault. Those that do not
    wait may read unwritten memory."""
    kinds = set()
    for seed in SEEDS:
        found = fault(source, threads=64, seed=seed)
        kinds.add(found.kind)
        assert found.instruction.startswith("ld.shared")
        if found.kind == "race":
            assert found.lanes == lanes
            assert f"in {line_of(source, 'st.shared')}" in found.message
    assert "race" in kinds and kinds <= {"race", "uninitialised-read"}
