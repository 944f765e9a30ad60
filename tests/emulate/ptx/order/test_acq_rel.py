"""Atomics that acquire and release, as Triton's by default: their cost and the order that they
give."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from tests.emulate.ptx.ptx_order import fault, words
from tests.emulate.ptx.ptx_programs import program, run

_ADD = "atom.global.gpu.acq_rel.add.u32"


def adds(each: int) -> str:
    """Return a program in which the threads of a CTA add to adjacent words, `each` words per
    thread."""
    body = [f"{_ADD} %r1, [%a2+{128 * 4 * i}], 1;" for i in range(each)]
    return program("\n".join(["mul.wide.u32 %a1, %t, 4; add.s64 %a2, %p0, %a1;", *body]), params=1)


def calls(each: int, *, checks: bool = True) -> int:
    """Return the number of function calls that 4 CTAs of such atomics take, equal on every
    machine."""
    source, out, count = adds(each), words(128 * each), 0
    # What is imported, parsed and compiled once.
    run(source, words(128 * each), threads=128, ctas=4, checks=checks)

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run(source, out, threads=128, ctas=4, checks=checks)
    finally:
        sys.setprofile(before)
    assert (out == 4).all()
    return count


def test_the_cost_of_atomics_grows_as_their_number() -> None:
    few, some, many = (calls(each) for each in (1, 2, 4))
    assert many - some == pytest.approx(2 * (some - few), rel=0.1)


def test_the_checks_of_atomics_cost_a_few_times_what_they_do_without() -> None:
    checked, unchecked = (calls(8, checks=on) - calls(4, checks=on) for on in (True, False))
    assert checked < 10 * unchecked


def test_what_many_atomics_ordered_is_found_when_it_is_asked_for() -> None:
    # Thread t of CTA 0 writes before it adds; thread t of CTA 1 adds to the same words, and reads.
    body = """
        mul.wide.u32 %a1, %t, 4; add.s64 %a2, %p0, %a1; add.s64 %a3, %p1, %a1;
        setp.eq.u32 %q1, %i, %t;
        @%q1 st.global.u32 [%a3], %t;
    """
    body += "".join(f"{_ADD} %r1, [%a2+{256 * i}], 1;\n" for i in range(8))
    ordered = program(body + "@!%q1 ld.global.u32 %r2, [%a3];")
    assert run(ordered, words(512), words(), threads=64, ctas=2).warnings == ()
    # The other thread of the pair adds to other words.
    index = "xor.b32 %r3, %t, 1; mul.wide.u32 %a1, %r3, 4; add.s64 %a3, %p1, %a1;"
    other = ordered.replace("@!%q1 ld", f"{index}\n@!%q1 ld")
    found = fault(other, words(512), words(), threads=64, ctas=2)
    assert found.kind == "race" and "CTA (0, 0, 0)" in found.message


def test_atomics_on_one_word_order_all_that_came_before() -> None:
    # Every CTA writes its word, adds, and reads the words of those whose adds it has seen.
    body = """
        mul.wide.u32 %a1, %i, 4; add.s64 %a2, %p1, %a1;
        st.global.u32 [%a2], 5;
        atom.global.gpu.acq_rel.add.u32 %r1, [%p0], 1;
        setp.eq.u32 %q1, %r1, 7;
        @%q1 ld.global.u32 %r2, [%p1];
        @%q1 ld.global.u32 %r3, [%p1+16];
        add.u32 %r2, %r2, %r3;
        @%q1 st.global.u32 [%p2], %r2;
    """
    out = words(1)
    run(program(body, params=3), words(1), words(8), out, threads=1, ctas=8)
    assert out.tolist() == [10]
    relaxed = program(body.replace("acq_rel", "relaxed"), params=3)
    found = fault(relaxed, words(1), words(8), words(1), threads=1, ctas=8)
    assert found.kind == "race"


def test_a_fence_of_one_lane_is_of_no_use_to_the_others() -> None:
    # All lanes of CTA 1 read the flag; one passes a fence, and all, or that one, read the data.
    body = """
        setp.eq.u32 %q1, %i, %t;
        setp.eq.u32 %q2, %t, 0;
        @!%q1 bra READ;
        @%q2 st.global.u32 [%p1], 5;
        @%q2 st.release.gpu.global.u32 [%p0], 1;
        bra DONE;
        READ: ld.relaxed.gpu.global.u32 %r1, [%p0];
        setp.ne.u32 %q3, %r1, 1;
        @%q3 bra READ;
        @%q2 fence.acq_rel.gpu;
        @%q2 ld.global.u32 %r2, [%p1];
        DONE:
    """
    assert run(program(body), words(1), words(1), ctas=2).warnings == ()
    found = fault(program(body.replace("@%q2 ld", "ld")), words(1), words(1), ctas=2)
    assert found.kind == "race" and set(found.lanes) == set(range(1, 9))
