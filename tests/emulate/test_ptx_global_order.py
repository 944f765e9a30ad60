"""Global memory between lanes, warps and CTAs: each rule in a program that keeps it or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx_programs import program, run

SEEDS = (0, 1, 2, 3)


def words(count: int = 256) -> np.ndarray[Any, Any]:
    return np.zeros(count, np.uint32)


def fault(source: str, *arguments: np.ndarray[Any, Any], **options: Any) -> Fault:
    with pytest.raises(EmulationFault) as caught:
        run(source, *arguments, **options)
    found = caught.value.fault
    assert " ".join(source.splitlines()[found.line - 1].split()) == found.instruction + ";"
    return found


def line_of(source: str, instruction: str) -> str:
    """`line N`, as messages name the first line that holds the instruction."""
    lines = source.splitlines()
    return f"line {next(n for n, line in enumerate(lines, 1) if instruction in line)}"


# ---------------------------------------------------------------------------- weak accesses


def test_ctas_that_write_one_place_race() -> None:
    body = "    mad.wide.u32 %a0, %t, 4, %p0;\n    st.global.u32 [%a0], %t;"
    source = program(body, params=1)
    run(source, words(), ctas=1)
    found = fault(source, words(), ctas=2)
    assert found.kind == "race" and "CTA (1, 0, 0)" in found.message
    own = body.replace("%t, 4", "%i, 4")
    run(program(own, params=1), words(), ctas=2)


def test_a_race_is_found_between_ctas_that_run_one_after_the_other() -> None:
    """1024 threads to a CTA: not all CTAs run at once."""
    body = """
    setp.eq.u32 %q0, %t, 0;
    shr.u32 %r1, %i, 15;
    mad.wide.u32 %a0, %r1, 0, %p0;
    @%q0 mov.u32 %r2, %ctaid.x;
    setp.eq.and.u32 %q1, %r2, {last}, %q0;
    setp.eq.and.u32 %q2, %r2, 0, %q0;
    or.pred %q1, %q1, %q2;
    @%q1 st.global.u32 [%a0], %i;
    """
    found = fault(program(body.format(last=40), params=1), words(), threads=1024, ctas=64)
    assert found.kind == "race" and found.workgroup == (40, 0, 0)
    assert "thread 0 of CTA (0, 0, 0)" in found.message
    run(program(body.format(last=0), params=1), words(), threads=1024, ctas=64)


READ_OTHER = """
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %i;
    {barrier}
    xor.b32 %r0, %i, {distance};
    mad.wide.u32 %a1, %r0, 4, %p0;
    ld.global.u32 %r1, [%a1];
    mad.wide.u32 %a2, %i, 4, %p1;
    st.global.u32 [%a2], %r1;
"""


@pytest.mark.parametrize(
    ("barrier", "distance"),
    [("bar.sync 0;", 32), ("bar.warp.sync 0xffffffff;", 1), ("", 0)],
    ids=["CTA", "warp", "own"],
)
def test_barriers_order_global_memory(barrier: str, distance: int) -> None:
    source = program(READ_OTHER.format(barrier=barrier, distance=distance))
    for seed in SEEDS:
        out = words(128)
        run(source, words(128), out, threads=64, ctas=2, seed=seed)
        np.testing.assert_array_equal(out, np.arange(128) ^ distance)


@pytest.mark.parametrize(
    ("barrier", "distance"),
    [("", 32), ("bar.warp.sync 0xffffffff;", 32), ("", 1), ("bar.sync 0;", 64)],
    ids=["no barrier", "warp barrier between warps", "lanes", "between CTAs"],
)
def test_what_no_barrier_orders_races(barrier: str, distance: int) -> None:
    source = program(READ_OTHER.format(barrier=barrier, distance=distance))
    found = fault(source, words(128), words(128), threads=64, ctas=2)
    assert found.kind == "race" and found.instruction.startswith("ld.global")
    assert line_of(source, "st.global.u32 [%a0]") in found.message


def test_a_write_over_what_another_cta_reads_races() -> None:
    body = """
    mad.wide.u32 %a0, %i, 4, %p0;
    xor.b32 %r0, %i, {distance};
    mad.wide.u32 %a1, %r0, 4, %p0;
    ld.global.u32 %r1, [%a1];
    st.global.u32 [%a0], %r1;
    """
    run(program(body.format(distance=0), params=1), words(), ctas=2)
    for distance in (1, 32):
        found = fault(program(body.format(distance=distance), params=1), words(), ctas=2)
        assert found.kind == "race" and "reads" in found.message


def test_copies_read_global_memory_until_they_are_waited_for() -> None:
    body = """
    mad.wide.u32 %a0, %t, 16, %p0;
    mov.u32 %r0, tile;
    mad.lo.u32 %r0, %t, 16, %r0;
    cp.async.cg.shared.global [%r0], [%a0], 16;
    cp.async.commit_group;
    {before}
    bar.sync 0;
    xor.b32 %r1, %t, 32;
    mad.wide.u32 %a1, %r1, 16, %p0;
    st.global.u32 [%a1], %t;
    {after}
    """
    shared = ".shared .align 16 .b8 tile[1024];"
    wait = "cp.async.wait_group 0;"
    run(program(body.format(before=wait, after=""), params=1, shared=shared), words(), threads=64)
    bad = program(body.format(before="", after=wait), params=1, shared=shared)
    assert fault(bad, words(), threads=64).kind == "race"


def test_buffers_that_are_only_read_are_nobodys_race() -> None:
    body = """
    ld.global.u32 %r0, [%p0];
    mad.wide.u32 %a0, %i, 4, %p1;
    st.global.u32 [%a0], %r0;
    """
    run(program(body), words(), words(), ctas=4)


def test_what_the_kernel_writes_is_not_read_through_the_read_only_cache() -> None:
    """ld.global.nc wants memory that stays as it is (PTX ISA 9.7.9.9); no barrier helps."""
    body = """
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %i;
    bar.sync 0;
    ld.global{nc}.u32 %r1, [%a0];
    """
    run(program(body.format(nc=""), params=1), words(), ctas=2)
    found = fault(program(body.format(nc=".nc"), params=1), words(), ctas=2)
    assert found.kind == "race" and "read-only" in found.message


def test_a_pointer_from_memory_may_write_anywhere() -> None:
    """The table of the buffer is found although its parameter is never stored through."""
    body = """
    setp.eq.u32 %q0, %t, 0;
    mad.wide.u32 %a0, %i, 8, %p1;
    st.global.u64 [%a0], %p0;
    ld.global.u64 %a1, [%a0];
    @%q0 st.global.u32 [%a1], %i;
    """
    run(program(body), words(), words(), ctas=1)
    assert fault(program(body), words(), words(512), ctas=2).kind == "race"


# ---------------------------------------------------------------------------- atomic operations


def test_atomics_do_not_race_with_each_other() -> None:
    body = "    red.global.add.u32 [%p0], 1;\n    {more}"
    out = words(1)
    run(program(body.format(more=""), params=1), out, threads=64, ctas=3)
    assert out[0] == 192
    found = fault(program(body.format(more="ld.global.u32 %r0, [%p0];"), params=1), words(1))
    assert found.kind == "race"
    run(program(body.format(more="ld.relaxed.gpu.global.u32 %r0, [%p0];"), params=1), out, ctas=2)
    run(program(body.format(more="ld.volatile.global.u32 %r0, [%p0];"), params=1), out, ctas=2)


def test_an_atomic_of_a_cta_is_none_to_another_cta() -> None:
    body = "    atom.relaxed.{scope}.global.add.u32 %r0, [%p0], 1;"
    run(program(body.format(scope="cta"), params=1), words(1), threads=64)
    run(program(body.format(scope="gpu"), params=1), words(1), ctas=2)
    assert fault(program(body.format(scope="cta"), params=1), words(1), ctas=2).kind == "race"


# ---------------------------------------------------------------------------- split-k by tickets

#: The CTA that takes the last ticket adds what all wrote to the workspace.
SPLIT = """
    mad.wide.u32 %a0, %i, 4, %p0;
    add.u32 %r0, %i, 1;
    st.global.u32 [%a0], %r0;
    {release}
    {before}
    setp.eq.u32 %q0, %t, 0;
    mov.u32 %r1, ticket;
    @%q0 {atom} %r2, [%p1], 1;
    @%q0 st.shared.u32 [%r1], %r2;
    bar.sync 0;
    {acquire}
    ld.shared.u32 %r2, [%r1];
    mov.u32 %r3, %nctaid.x;
    sub.u32 %r3, %r3, 1;
    setp.ne.u32 %q1, %r2, %r3;
    @%q1 ret;
    mov.u32 %r4, 0;
    mov.u32 %r5, %t;
    mov.u32 %r6, 0;
LOOP:
    mad.wide.u32 %a1, %r5, 4, %p0;
    ld.global.u32 %r7, [%a1];
    add.u32 %r4, %r4, %r7;
    add.u32 %r5, %r5, %n;
    add.u32 %r6, %r6, 1;
    setp.le.u32 %q2, %r6, %r3;
    @%q2 bra LOOP;
    mad.wide.u32 %a2, %t, 4, %p2;
    st.global.u32 [%a2], %r4;
"""
TICKET = ".shared .align 4 .b8 ticket[4];"


def split(
    release: str = "fence.acq_rel.gpu;",
    acquire: str = "fence.acq_rel.gpu;",
    before: str = "bar.sync 0;",
    atom: str = "atom.global.add.u32",
) -> str:
    text = SPLIT.format(release=release, acquire=acquire, before=before, atom=atom)
    return program(text, params=3, shared=TICKET)


def run_split(source: str, ctas: int, threads: int, seed: int) -> None:
    out = words(threads)
    run(source, words(ctas * threads), words(1), out, ctas=ctas, threads=threads, seed=seed)
    wanted = np.arange(1, ctas * threads + 1).reshape(ctas, threads).sum(axis=0)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    "source",
    [
        split(),
        split("membar.gl;", "membar.gl;"),
        split("fence.sc.gpu;", "fence.sc.sys;"),
        split("", "", atom="atom.acq_rel.gpu.global.add.u32"),
        split("", "fence.acq_rel.gpu;", atom="atom.release.gpu.global.add.u32"),
        split(
            "", "", before="bar.sync 0;\n    fence.acq_rel.gpu;", atom="atom.acquire.global.add.u32"
        ),
    ],
    ids=["fences", "membar", "sc", "acq_rel", "release", "fence after barrier, acquire"],
)
def test_the_last_cta_may_read_what_the_others_wrote(source: str) -> None:
    for seed in SEEDS:
        run_split(source, ctas=5, threads=64, seed=seed)
    run_split(source, ctas=40, threads=1024, seed=0)


@pytest.mark.parametrize(
    "source",
    [
        split(release=""),
        split(acquire=""),
        split(release="membar.cta;"),
        split(acquire="fence.acq_rel.cta;"),
        split(before=""),
        split("", "", atom="atom.acquire.gpu.global.add.u32"),
        split("", "", atom="atom.release.gpu.global.add.u32"),
        split(before="", release="bar.sync 0;"),
    ],
    ids=[
        "no release", "no acquire", "narrow release", "narrow acquire", "no barrier",
        "acquire only", "release only", "no fence but a barrier",
    ],
)  # fmt: skip
def test_a_split_sum_that_lacks_one_step_races(source: str) -> None:
    for seed in SEEDS:
        found = fault(source, words(5 * 64), words(1), words(64), ctas=5, threads=64, seed=seed)
        assert found.kind == "race" and found.instruction.startswith("ld.global.u32 %r7")
        assert line_of(source, "st.global.u32 [%a0]") in found.message
    found = fault(source, words(40 * 1024), words(1), words(1024), ctas=40, threads=1024)
    assert found.kind == "race"


# ---------------------------------------------------------------------------- flags

#: CTA 0 writes a message and raises a flag; the others wait for it.
MESSAGE = """
    mov.u32 %r0, %ctaid.x;
    setp.ne.u32 %q0, %r0, {writer};
    setp.ne.u32 %q1, %t, 0;
    mov.u32 %r5, 1;
    @%q0 bra WAIT;
    mad.wide.u32 %a0, %t, 4, %p0;
    st.global.u32 [%a0], 7;
    bar.sync 0;
    @%q1 ret;
    {raise_}
    ret;
WAIT:
    @%q1 bra READY;
SPIN:
    {look}
    setp.eq.u32 %q2, %r1, 0;
    @%q2 bra SPIN;
    {seen}
READY:
    bar.sync 0;
    mad.wide.u32 %a1, %t, 4, %p0;
    ld.global.u32 %r2, [%a1];
    mad.wide.u32 %a2, %i, 4, %p2;
    st.global.u32 [%a2], %r2;
"""


def message(
    raise_: str = "st.release.gpu.global.u32 [%p1], %r5;",
    look: str = "ld.acquire.gpu.global.u32 %r1, [%p1];",
    seen: str = "",
    writer: int = 0,
) -> str:
    return program(MESSAGE.format(raise_=raise_, look=look, seen=seen, writer=writer), params=3)


FENCED = "fence.acq_rel.gpu;\n    st.relaxed.gpu.global.u32 [%p1], %r5;"
VOLATILE = "membar.gl;\n    st.volatile.global.u32 [%p1], %r5;"
RELAXED = "ld.relaxed.gpu.global.u32 %r1, [%p1];"


@pytest.mark.parametrize(
    "source",
    [
        message(),
        message(FENCED, RELAXED, "fence.acq_rel.gpu;"),
        message(VOLATILE, "ld.volatile.global.u32 %r1, [%p1];", "membar.gl;"),
        message(
            "atom.release.gpu.global.exch.b32 %r3, [%p1], 1;",
            "atom.acquire.gpu.global.or.b32 %r1, [%p1], 0;",
        ),
        message(writer=3),
    ],
    ids=["release, acquire", "fences", "volatile", "atomics", "written by the last CTA"],
)
def test_a_flag_hands_a_message_on(source: str) -> None:
    for seed in SEEDS:
        out = words(4 * 64)
        run(source, words(64), words(1), out, ctas=4, threads=64, seed=seed)
        assert np.count_nonzero(out == 7) == 3 * 64


@pytest.mark.parametrize(
    "source",
    [
        message(raise_="st.relaxed.gpu.global.u32 [%p1], %r5;"),
        message(look=RELAXED),
        message(raise_="st.release.cta.global.u32 [%p1], %r5;"),
        message(look="ld.acquire.cta.global.u32 %r1, [%p1];"),
        message(raise_="st.global.u32 [%p1], %r5;"),
    ],
    ids=["relaxed flag", "relaxed look", "release in the CTA", "acquire in the CTA", "weak flag"],
)
def test_a_flag_that_is_too_weak_is_a_race(source: str) -> None:
    for seed in SEEDS:
        found = fault(source, words(64), words(1), words(4 * 64), ctas=4, threads=64, seed=seed)
        assert found.kind == "race"


def test_a_flag_that_nobody_raises_is_a_deadlock() -> None:
    found = fault(message(raise_=""), words(64), words(1), words(256), ctas=4, threads=64)
    assert found.kind == "deadlock" and found.workgroup[0] > 0


def test_a_chain_of_ctas_each_waiting_for_the_one_before() -> None:
    """Tickets: a CTA waits only for those that took a lower one, however they are scheduled."""
    body = """
    setp.ne.u32 %q0, %t, 0;
    @%q0 bra DONE;
    atom.relaxed.gpu.global.add.u32 %r0, [%p0], 1;
SPIN:
    ld.acquire.gpu.global.u32 %r1, [%p0+4];
    setp.ne.u32 %q1, %r1, %r0;
    @%q1 bra SPIN;
    ld.global.u32 %r2, [%p0+8];
    add.u32 %r2, %r2, %r0;
    st.global.u32 [%p0+8], %r2;
    add.u32 %r3, %r0, 1;
    st.release.gpu.global.u32 [%p0+4], %r3;
DONE:
    """
    for seed in SEEDS:
        state = words(3)
        run(program(body, params=1), state, ctas=20, threads=64, seed=seed)
        np.testing.assert_array_equal(state, [20, 20, 19 * 10])
    broken = program(body.replace("ld.acquire", "ld.relaxed"), params=1)
    assert fault(broken, words(3), ctas=20, threads=64).kind == "race"


def test_a_barrier_of_the_grid() -> None:
    body = """
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %i;
    bar.sync 0;
    setp.ne.u32 %q0, %t, 0;
    mov.u32 %r9, %nctaid.x;
    @%q0 bra JOIN;
    {before}
    atom.relaxed.gpu.global.add.u32 %r0, [%p1], 1;
SPIN:
    ld.relaxed.gpu.global.u32 %r1, [%p1];
    setp.lt.u32 %q1, %r1, %r9;
    @%q1 bra SPIN;
    {after}
JOIN:
    bar.sync 0;
    mul.lo.u32 %r3, %r9, %n;
    sub.u32 %r3, %r3, 1;
    sub.u32 %r4, %r3, %i;
    mad.wide.u32 %a1, %r4, 4, %p0;
    ld.global.u32 %r5, [%a1];
    mad.wide.u32 %a2, %i, 4, %p2;
    st.global.u32 [%a2], %r5;
    """
    fence = "fence.acq_rel.gpu;"
    good = program(body.format(before=fence, after=fence), params=3)
    for seed in SEEDS:
        out = words(40 * 1024)
        run(good, words(40 * 1024), words(1), out, ctas=40, threads=1024, seed=seed)
        np.testing.assert_array_equal(out, np.arange(40 * 1024)[::-1])
    for before, after in (("", fence), (fence, "")):
        bad = program(body.format(before=before, after=after), params=3)
        assert fault(bad, words(512), words(1), words(512), ctas=4, threads=128).kind == "race"


# ---------------------------------------------------------------------------- single lanes

#: One warp writes a message, its first lane raises the flag; another CTA reads it.
LONE = """
    mov.u32 %r0, %ctaid.x;
    setp.ne.u32 %q0, %r0, 0;
    setp.ne.u32 %q1, %t, 0;
    mov.u32 %r5, 1;
    mad.wide.u32 %a0, %t, 4, %p0;
    @%q0 bra WAIT;
    {write}
    {fence}
    {sync}
    @%q1 ret;
    {lone}
    st.relaxed.gpu.global.u32 [%p1], %r5;
    ret;
WAIT:
    ld.acquire.gpu.global.u32 %r1, [%p1];
    setp.eq.u32 %q2, %r1, 0;
    @%q2 bra WAIT;
    ld.global.u32 %r2, [{read}];
"""
ALL, OWN = "st.global.u32 [%a0], 7;", "@!%q1 st.global.u32 [%p0], 7;"
GPU, WARP = "fence.acq_rel.gpu;", "bar.warp.sync 0xffffffff;"


def lone(
    write: str = ALL, fence: str = "", sync: str = WARP, last: str = GPU, read: str = "%a0"
) -> str:
    return program(LONE.format(write=write, fence=fence, sync=sync, lone=last, read=read))


@pytest.mark.parametrize(
    "source",
    [lone(), lone(fence=GPU, last=""), lone(sync="", read="%p0"), lone(OWN, sync="", read="%p0")],
    ids=["fence by one", "fences by all", "its own word", "the only word"],
)
def test_a_lane_raises_a_flag_for_what_it_knows(source: str) -> None:
    for seed in SEEDS:
        run(source, words(32), words(1), ctas=3, seed=seed)


@pytest.mark.parametrize(
    "source",
    [lone(sync=""), lone(fence=GPU, sync="", last=""), lone(last=""), lone(fence=GPU, sync="")],
    ids=["fence by one", "fences by all", "no fence", "fences by all and by one"],
)
def test_a_lane_raises_a_flag_for_others_that_it_has_not_met(source: str) -> None:
    for seed in SEEDS:
        found = fault(source, words(32), words(1), ctas=3, seed=seed)
        assert found.kind == "race" and found.instruction.startswith("ld.global")
