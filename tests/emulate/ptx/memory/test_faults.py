"""Programs with a seeded bug, and the same programs without it."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, UnknownInstruction
from tests.emulate.ptx.ptx_programs import program, run

SHARED = ".shared .align 16 .b8 tile[1024];"

#: Every thread writes its slot, and reads that of its neighbour across the CTA.
EXCHANGE = """
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 4, %r0;
    st.shared.u32 [%r1], %t;
    {barrier}
    xor.b32 %r2, %t, {distance};
    mad.lo.u32 %r3, %r2, 4, %r0;
    ld.shared.u32 %r4, [%r3];
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %r4;
"""


def exchange(barrier: str, distance: int) -> str:
    return program(EXCHANGE.format(barrier=barrier, distance=distance), params=1, shared=SHARED)


def fault_of(source: str, *arguments: np.ndarray, **options: int) -> EmulationFault:
    with pytest.raises(EmulationFault) as caught:
        run(source, *arguments, **options)
    return caught.value


def test_a_barrier_makes_the_exchange_right() -> None:
    out = np.zeros(128, np.uint32)
    run(exchange("bar.sync 0;", 32), out, threads=64, ctas=2)
    np.testing.assert_array_equal(out.reshape(2, 64), np.tile(np.arange(64) ^ 32, (2, 1)))


def test_a_dropped_barrier_is_a_race() -> None:
    error = fault_of(exchange("", 32), np.zeros(64, np.uint32), threads=64)
    assert error.fault.kind in ("race", "uninitialised-read")
    assert "ld.shared" in error.fault.instruction
    assert error.fault.instruction in exchange("", 32).splitlines()[error.fault.line - 1]


def test_a_warp_barrier_orders_a_warp_but_not_the_cta() -> None:
    run(exchange("bar.warp.sync 0xffffffff;", 1), np.zeros(64, np.uint32), threads=64)
    fault_of(exchange("bar.warp.sync 0xffffffff;", 32), np.zeros(64, np.uint32), threads=64)
    assert fault_of(exchange("", 1), np.zeros(64, np.uint32), threads=64).fault.kind == "race"


def test_a_write_over_what_others_still_read_is_a_race() -> None:
    body = (
        EXCHANGE.format(barrier="bar.sync 0;", distance=32)
        + """
    {barrier}
    st.shared.u32 [%r1], 0;
    """
    )
    good = program(body.format(barrier="bar.sync 0;"), params=1, shared=SHARED)
    run(good, np.zeros(64, np.uint32), threads=64)
    bad = program(body.format(barrier=""), params=1, shared=SHARED)
    error = fault_of(bad, np.zeros(64, np.uint32), threads=64)
    assert error.fault.kind == "race" and "st.shared" in error.fault.instruction


def test_two_threads_that_write_one_place_race() -> None:
    body = "    mov.u32 %r0, tile;\n    st.shared.u32 [%r0], %t;"
    assert fault_of(program(body, params=0, shared=SHARED)).fault.kind == "race"


def test_unwritten_shared_memory_is_noticed() -> None:
    body = "    mov.u32 %r0, tile;\n    ld.shared.u32 %r1, [%r0];"
    assert fault_of(program(body, params=0, shared=SHARED)).fault.kind == "uninitialised-read"
    run(program(body, params=0, shared=SHARED), checks=False)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("    mad.wide.u32 %a0, %t, 4, %p0;\n    ld.global.u32 %r0, [%a0];", "out-of-bounds"),
        ("    mad.wide.u32 %a0, %t, 2, %p0;\n    st.global.u16 [%a0-2], %h0;", "out-of-bounds"),
        ("    ld.global.v2.u32 {%r0, %r1}, [%p0+4];", "misaligned"),
        ("    mov.u32 %r0, tile;\n    st.shared.u32 [%r0+1024], %t;", "out-of-bounds"),
        ("    mov.u32 %r0, tile;\n    st.shared.u32 [%r0+2], %t;", "misaligned"),
    ],
)
def test_bounds_and_alignment(body: str, kind: str) -> None:
    source = program(body.replace("[%a0-2]", "[%a0+-2]"), params=1, shared=SHARED)
    error = fault_of(source, np.zeros(16, np.uint32))
    assert error.fault.kind == kind
    assert error.fault.workgroup == (0, 0, 0) and error.fault.lanes


COPY = """
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 16, %r0;
    mad.wide.u32 %a0, %t, 16, %p0;
    cp.async.cg.shared.global [%r1], [%a0], 16{size};
    cp.async.commit_group;
    {wait}
    {barrier}
    xor.b32 %r2, %t, 32;
    mad.lo.u32 %r3, %r2, 16, %r0;
    ld.shared.u32 %r4, [%r3];
    mad.wide.u32 %a1, %i, 4, %p1;
    st.global.u32 [%a1], %r4;
"""


def copy(wait: str = "cp.async.wait_group 0;", barrier: str = "bar.sync 0;", size: str = "") -> str:
    return program(COPY.format(wait=wait, barrier=barrier, size=size), shared=SHARED)


def test_asynchronous_copies() -> None:
    source, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    run(copy(), source, out, threads=64)
    np.testing.assert_array_equal(out, source.reshape(64, 4)[np.arange(64) ^ 32, 0])
    run(copy(size=", 0"), source, out, threads=64)
    assert not out.any()


@pytest.mark.parametrize(
    "source",
    [
        copy(wait=""),
        copy(wait="cp.async.wait_group 1;"),
        copy(barrier=""),
        copy(wait="bar.sync 0;", barrier="cp.async.wait_group 0;"),
    ],
    ids=["no wait", "wait too weak", "no barrier", "barrier before wait"],
)
def test_a_copy_that_is_not_waited_for(source: str) -> None:
    data, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    fault_of(source, data, out, threads=64)


def test_a_partial_copy_reads_no_byte_beyond_its_size() -> None:
    body = """
    mov.u32 %r0, tile;
    mov.u32 %r1, 6;
    setp.eq.u32 %q0, %t, 0;
    @%q0 cp.async.ca.shared.global [%r0], [%p0], 8, %r1;
    cp.async.wait_all;
    bar.sync 0;
    ld.shared.v2.u32 {%r2, %r3}, [%r0];
    setp.eq.u32 %q0, %t, 0;
    @%q0 st.global.v2.u32 [%p1], {%r2, %r3};
    """
    source, out = np.array([1, 2, 3], np.uint16), np.zeros(4, np.uint16)
    run(program(body, shared=SHARED), source, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 0])


def test_a_barrier_that_some_threads_never_reach_is_a_deadlock() -> None:
    body = """
    setp.lt.u32 %q0, %t, 32;
    @%q0 bar.sync 1, 96;
    """
    assert fault_of(program(body, params=0), threads=64).fault.kind == "deadlock"


def test_threads_that_left_do_not_hold_a_barrier() -> None:
    body = """
    setp.lt.u32 %q0, %t, 32;
    @%q0 ret;
    bar.sync 0;
    """
    run(program(body, params=0), threads=64)


def test_a_divergent_warp_instruction() -> None:
    body = """
    setp.lt.u32 %q0, %t, 5;
    @%q0 shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xffffffff;
    """
    assert fault_of(program(body, params=0)).fault.kind == "divergent-warp-instruction"


def test_an_unknown_instruction_is_named_with_its_line() -> None:
    source = program("    frobnicate.u32 %r0, %r1;", params=0)
    with pytest.raises(UnknownInstruction, match=r"frobnicate\.u32"):
        run(source)
    with pytest.raises(UnknownInstruction, match=r"add\.rq\.f32"):
        run(program("    add.rq.f32 %f0, %f1, %f2;", params=0))
