"""Order inside a CTA: lanes of a warp, warps, copies; every rule kept, and broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx_programs import program, run

SHARED = ".shared .align 16 .b8 tile[4096];"
SEEDS = range(4)


def words(count: int = 256) -> np.ndarray[Any, Any]:
    return np.zeros(count, np.uint32)


def build(body: str, params: int = 1) -> str:
    place = "    mov.u32 %r0, tile;\n    mad.lo.u32 %r1, %t, 16, %r0;\n"
    return program(place + body, params=params, shared=SHARED)


def fault(source: str, *arguments: np.ndarray[Any, Any], **options: Any) -> Fault:
    with pytest.raises(EmulationFault) as caught:
        run(source, *arguments, **options)
    return caught.value.fault


def line_of(source: str, instruction: str) -> str:
    lines = source.splitlines()
    return f"line {next(n for n, line in enumerate(lines, 1) if instruction in line)}"


# ---------------------------------------------------------------------------- lanes of a warp

#: Writes of 16 bytes by each lane.
WRITES = {
    "st": "st.shared.v4.u32 [%r1], {%t, %t, %t, %t};",
    "st.u32": "st.shared.u32 [%r1], %t;\n    st.shared.u32 [%r1+4], %t;\n"
    "    st.shared.u32 [%r1+8], %t;\n    st.shared.u32 [%r1+12], %t;",
    "generic st": "cvt.u64.u32 %a9, %r1;\n    cvta.shared.u64 %a9, %a9;\n"
    "    st.v4.u32 [%a9], {%t, %t, %t, %t};",
    "cp.async": "cp.async.cg.shared.global [%r1], [%p0], 16;\n    cp.async.wait_all;",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%t, %t, %t, %t};",
}
#: Reads of what another lane wrote.
READS = {
    "ld": "ld.shared.u32 %r3, [%r2];",
    "ld.v4": "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];",
    "atom": "atom.shared.add.u32 %r3, [%r2], 1;",
    "st": "st.shared.u32 [%r2], 0;",
    "cp.async": "cp.async.ca.shared.global [%r2], [%p0], 4;\n    cp.async.wait_all;",
}


def exchange(write: str, barrier: str, read: str, distance: int = 1) -> str:
    return build(
        f"""
    {WRITES[write]}
    {barrier}
    xor.b32 %r2, %t, {distance};
    mad.lo.u32 %r2, %r2, 16, %r0;
    {READS[read]}
    """
    )


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", WRITES)
def test_lanes_meet_only_behind_a_warp_barrier(write: str, read: str) -> None:
    run(exchange(write, "bar.warp.sync 0xffffffff;", read), words())
    run(exchange(write, "bar.sync 0;", read), words())
    for seed in (0, 1):
        source = exchange(write, "", read)
        found = fault(source, words(), seed=seed)
        assert found.kind == "race"
        assert "line" in found.message


@pytest.mark.parametrize(
    "barrier",
    [
        "shfl.sync.idx.b32 %r9, %t, 0, 31, 0xffffffff;",
        "vote.sync.ballot.b32 %r9, %q0, 0xffffffff;",
        "membar.cta;",
        "bar.warp.sync 0x0000ffff;",
    ],
    ids=["shfl", "vote", "fence", "half of the warp"],
)
def test_what_is_no_barrier_between_lanes(barrier: str) -> None:
    if "0x0000ffff" in barrier:
        barrier = f"setp.lt.u32 %q1, %t, 16;\n    @%q1 {barrier}"
    assert fault(exchange("st", barrier, "ld"), words()).kind == "race"


def test_a_warp_barrier_of_some_lanes_orders_those() -> None:
    halves = """
    setp.lt.u32 %q1, %t, 16;
    @%q1 bar.warp.sync 0x0000ffff;
    @!%q1 bar.warp.sync 0xffff0000;
    """
    run(exchange("st", halves, "ld", distance=1), words())
    assert fault(exchange("st", halves, "ld", distance=16), words()).kind == "race"


def test_a_read_that_another_lane_overwrites() -> None:
    body = """
    st.shared.u32 [%r1], %t;
    bar.warp.sync 0xffffffff;
    xor.b32 %r2, %t, 1;
    mad.lo.u32 %r2, %r2, 16, %r0;
    ld.shared.u32 %r3, [%r2];
    {barrier}
    st.shared.u32 [%r1], %r3;
    """
    run(build(body.format(barrier="bar.warp.sync 0xffffffff;"), params=0))
    source = build(body.format(barrier=""), params=0)
    found = fault(source)
    assert found.kind == "race"
    assert f"read by thread 1 in {line_of(source, 'ld.shared')}" in found.message


# ---------------------------------------------------------------------------- the message


def test_a_race_names_both_sides() -> None:
    source = exchange("st", "", "ld", distance=32)
    found = fault(source, words(), threads=64)
    written = line_of(source, "st.shared")
    if found.kind == "race":
        assert f"written by thread 32 in {written}" in found.message
    assert found.instruction.startswith("ld.shared") and found.lanes[:2] == (0, 1)
    assert found.address == 32 * 16


def test_a_copy_under_way_is_named() -> None:
    body = """
    cp.async.cg.shared.global [%r1], [%p0], 16;
    ld.shared.u32 %r3, [%r1];
    """
    source = build(body)
    found = fault(source, words())
    assert found.kind == "pending-copy"
    assert f"started in {line_of(source, 'cp.async')}" in found.message


# ---------------------------------------------------------------------------- warps


def test_warps_that_write_the_same_value_race() -> None:
    """Lanes of one instruction of one warp may; nothing says which other warp is first."""
    body = "    st.shared.u32 [%r0], 7;"
    run(build(body, params=0))
    for seed in SEEDS:
        assert fault(build(body, params=0), threads=64, seed=seed).kind == "race"


def test_strong_accesses_to_shared_memory_do_not_race() -> None:
    body = """
    st.volatile.shared.u32 [%r0], 7;
    ld.volatile.shared.u32 %r3, [%r0];
    {weak}
    """
    run(build(body.format(weak=""), params=0), threads=64)
    weak = body.format(weak="ld.shared.u32 %r3, [%r0];")
    assert fault(build(weak, params=0), threads=64).kind == "race"


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
    return build(zero + text, params=0)


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


# ---------------------------------------------------------------------------- single lanes

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
    return build(SIGNAL.format(before=before, after=after, waits=waits), params=0)


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
    """The lanes that are wrong are those that did not wait, or that read what others wrote.

    Those that do not wait may read before anybody has written.
    """
    kinds = set()
    for seed in SEEDS:
        found = fault(source, threads=64, seed=seed)
        kinds.add(found.kind)
        assert found.instruction.startswith("ld.shared")
        if found.kind == "race":
            assert found.lanes == lanes
            assert f"in {line_of(source, 'st.shared')}" in found.message
    assert "race" in kinds and kinds <= {"race", "uninitialised-read"}


# ---------------------------------------------------------------------------- the async proxy

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
    return build(text)


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
    return build(IN.format(wait=wait, fence=fence, barrier=barrier), params=2)


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
