"""Warnings of code that works on every GPU although no rule guarantees it; `strict`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx.ptx_order import fault, line_of, words
from tests.emulate.ptx.ptx_programs import program, run

Array = np.ndarray[Any, Any]


def warning(source: str, *arguments: Array, **options: Any) -> Fault:
    """Return the only warning of a launch without a fault; a strict launch must report it as a
    race."""
    before = [argument.copy() for argument in arguments]
    with pytest.raises(EmulationFault) as caught:
        run(source, *before, strict=True, **options)
    assert caught.value.fault.kind == "race"
    (found,) = run(source, *arguments, **options).warnings
    assert found.line == caught.value.fault.line
    return found


# A tensor of 32 elements and 128 threads, as Triton has it: four threads write every element.
SMALL_TENSOR = """
    and.b32 %r1, %t, 31;
    mul.wide.u32 %a1, %r1, 4;
    add.s64 %a2, %p0, %a1;
    {value}
    st.global.u32 [%a2], %r2;
"""


def test_threads_that_write_the_same_to_global_memory() -> None:
    source = program(SMALL_TENSOR.format(value="add.u32 %r2, %r1, 7;"), params=1)
    out = words(32)
    found = warning(source, out, threads=128)
    assert found.kind == "same-value-write"
    assert "thread 96 of CTA (0, 0, 0)" in found.message
    assert line_of(source, "st.global") == f"line {found.line}"
    np.testing.assert_array_equal(out, np.arange(32) + 7)


def test_threads_that_write_the_same_to_shared_memory() -> None:
    body = """
        mov.u32 %r3, tile;
        and.b32 %r1, %t, 31;
        mad.lo.u32 %r3, %r1, 4, %r3;
        {value}
        st.shared.u32 [%r3], %r2;
        bar.sync 0;
        ld.shared.u32 %r4, [%r3];
    """
    tile = ".shared .align 16 .b8 tile[128];"
    same = program(body.format(value="mov.u32 %r2, %r1;"), params=1, shared=tile)
    assert warning(same, words(), threads=128, ctas=3).kind == "same-value-write"
    # In one CTA of three the values differ.
    value = "setp.eq.u32 %q1, %i, 300; selp.u32 %r2, 1, 0, %q1;"
    other = program(body.format(value=value), params=1, shared=tile)
    assert fault(other, words(), threads=128, ctas=3).kind == "race"


@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_write_of_the_same_value_by_another_instruction(space: str) -> None:
    at = {"global": "[%p0]", "shared": "[tile]"}[space]
    body = f"""
        setp.eq.u32 %q1, %t, 0;
        setp.eq.u32 %q2, %t, 32;
        @%q1 st.{space}.u32 {at}, 5;
        @%q2 st.{space}.u32 {at}, {{value}};
    """
    shared = ".shared .align 16 .b8 tile[16];"
    same = program(body.format(value=5), params=1, shared=shared)
    assert warning(same, words(), threads=64).kind == "same-value-write"
    assert fault(program(body.format(value=6), params=1, shared=shared), words(), threads=64)


def test_only_the_bytes_that_both_write_must_be_the_same() -> None:
    body = """
        setp.eq.u32 %q1, %t, 0;
        setp.eq.u32 %q2, %t, 32;
        mov.u32 %r1, 5;
        @%q1 st.global.u32 [%p0+4], %r1;
        @%q2 st.global.v2.u32 [%p0], {%r2, %r1};
    """
    assert warning(program(body, params=1), words(), threads=64).kind == "same-value-write"
    other = body.replace("{%r2, %r1}", "{%r1, %r2}")
    assert fault(program(other, params=1), words(), threads=64).kind == "race"


@pytest.mark.parametrize("space", ["global", "shared"])
def test_who_wrote_the_same_first_still_counts(space: str) -> None:
    # Threads 0 and 32 write the same. A barrier of thread 32's warp and the next orders the second
    # of them before a write of another value, and not the first.
    at = {"global": "[%p0]", "shared": "[tile]"}[space]
    body = f"""
        setp.eq.u32 %q1, %t, 0;
        setp.eq.u32 %q2, %t, 32;
        setp.eq.u32 %q3, %t, 64;
        setp.lt.u32 %q4, %t, 32;
        @%q1 st.{space}.u32 {at}, 5;
        @%q2 st.{space}.u32 {at}, 5;
        @%q4 bra DONE;
        bar.sync 1, 64;
        @%q3 st.{space}.u32 {at}, {{value}};
        DONE:
    """
    shared = ".shared .align 16 .b8 tile[16];"
    source = program(body.format(value=6), params=1, shared=shared)
    found = fault(source, words(), threads=96)
    assert found.kind == "race" and found.lanes == (64,)
    run(program(body.format(value=5), params=1, shared=shared), words(), threads=96)


def test_an_atomic_is_no_write_of_the_same_value() -> None:
    body = """
        setp.eq.u32 %q1, %t, 0;
        setp.eq.u32 %q2, %t, 32;
        @%q1 atom.global.add.u32 %r1, [%p0], 5;
        @%q2 st.global.u32 [%p0], 5;
    """
    assert fault(program(body, params=1), words(), threads=64).kind == "race"


def test_a_read_is_not_excused_by_a_write_of_the_same_value() -> None:
    body = """
        setp.eq.u32 %q1, %t, 0;
        setp.eq.u32 %q2, %t, 32;
        @%q1 ld.global.u32 %r1, [%p0];
        @%q2 st.global.u32 [%p0], 0;
    """
    assert fault(program(body, params=1), words(), threads=64).kind == "race"


# As libcu++'s ~pipeline: every thread has used the barrier; of those of a warp, match elects one,
# which counts them all, and who comes last invalidates the barrier.
PIPELINE = """
    setp.eq.u32 %q1, %t, 0;
    @!%q1 bra READY;
    mbarrier.init.shared.b64 [bar], 64;
    mov.u32 %r1, 64;
    st.shared.u32 [count], %r1;
READY:
    bar.sync 0;
    mbarrier.arrive.shared.b64 %a1, [bar];
WAIT:
    mbarrier.test_wait.shared.b64 %q2, [bar], %a1;
    @!%q2 bra WAIT;
    {elect}
    and.b32 %r4, %t, 31;
    setp.ne.u32 %q3, %r4, 0;
    @%q3 bra DONE;
    fence.acq_rel.cta;
    atom.shared.add.u32 %r5, [count], -32;
    fence.acq_rel.cta;
    setp.ne.u32 %q4, %r5, 32;
    @%q4 bra DONE;
    mbarrier.inval.shared.b64 [bar];
DONE:
"""
SHARED = ".shared .align 8 .b8 bar[8]; .shared .align 4 .b8 count[4];"
MATCH = "mov.u32 %r2, 1; match.any.sync.b32 %r3, %r2, 0xffffffff;"


def test_order_that_only_a_warp_collective_gives() -> None:
    source = program(PIPELINE.format(elect=MATCH), params=1, shared=SHARED)
    found = warning(source, words(), threads=64)
    assert found.kind == "order-by-collective"
    assert line_of(source, "mbarrier.inval") == f"line {found.line}"
    assert "no barrier between" in found.message and "collective" in found.message


def test_no_order_at_all_is_a_fault() -> None:
    source = program(PIPELINE.format(elect=""), params=1, shared=SHARED)
    assert fault(source, words(), threads=64).kind == "race"
    # A collective before the wait orders nothing that comes after it.
    early = PIPELINE.format(elect="").replace("READY:", "READY: " + MATCH)
    assert fault(program(early, params=1, shared=SHARED), words(), threads=64).kind == "race"


def test_a_barrier_of_the_warp_is_enough() -> None:
    elect = MATCH + " bar.warp.sync 0xffffffff;"
    source = program(PIPELINE.format(elect=elect), params=1, shared=SHARED)
    assert run(source, words(), threads=64, strict=True).warnings == ()


def test_buffers_are_as_they_were_when_collectives_are_taken_to_order() -> None:
    body = """
        mul.wide.u32 %a1, %t, 4; add.s64 %a2, %p0, %a1;
        ld.global.u32 %r1, [%a2];
        add.u32 %r1, %r1, 1;
        st.global.u32 [%a2], %r1;
        shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffffffff;
        xor.b32 %r3, %t, 1;
        mul.wide.u32 %a1, %r3, 4; add.s64 %a3, %p0, %a1;
        ld.global.u32 %r4, [%a3];
    """
    out = words(32)
    assert warning(program(body, params=1), out).kind == "order-by-collective"
    assert (out == 1).all()
