"""Order across CTAs through flags in memory, and single lanes that raise them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, words
from tests.emulate.ptx.ptx_programs import program, run

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
    """A CTA waits only for CTAs with a lower ticket, however they are scheduled."""
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
