"""Global memory between lanes, warps and CTAs: programs that keep or break each rule."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, line_of, words
from tests.emulate.ptx.ptx_programs import program, run

# ---------------------------------------------------------------------------- weak accesses


def test_ctas_that_write_one_place_race() -> None:
    body = "    mad.wide.u32 %a0, %t, 4, %p0;\n    st.global.u32 [%a0], %i;"
    source = program(body, params=1)
    run(source, words(), ctas=1)
    found = fault(source, words(), ctas=2)
    assert found.kind == "race" and "CTA (1, 0, 0)" in found.message
    own = body.replace("%t, 4", "%i, 4")
    run(program(own, params=1), words(), ctas=2)


def test_a_race_is_found_between_ctas_that_run_one_after_the_other() -> None:
    """CTAs have 1024 threads, so not all of them run at once."""
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
    """ld.global.nc requires memory that does not change (PTX ISA 9.7.9.9), even after a barrier."""
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
    """The buffer has shadow memory although no store uses its parameter."""
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
