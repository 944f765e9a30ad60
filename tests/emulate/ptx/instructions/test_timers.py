"""Registers that count time: a count that never falls, and is equal on each run and machine."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from tests.emulate.ptx.ptx_programs import Array, program, run
from tests.emulate.ptx.ptxas import assemble

#: Reads a timer twice, and stores both behind each other for each thread of the grid.
TWICE = """
    mov.{type} {first}, {name};
    {between}
    mov.{type} {second}, {name};
    mad.wide.u32 %a9, %i, 16, %p0;
    {widen}
    st.global.v2.u64 [%a9], {{%a1, %a2}};
"""
NARROW = "cvt.u64.u32 %a1, %r1; cvt.u64.u32 %a2, %r2;"
WIDE_TIMERS = ("%clock64", "%globaltimer")
TIMERS = ("%clock", "%clock_hi", *WIDE_TIMERS, "%globaltimer_lo", "%globaltimer_hi")


def twice(name: str, between: str = "") -> str:
    wide = name in WIDE_TIMERS
    source = program(
        TWICE.format(
            name=name,
            between=between,
            type="u64" if wide else "u32",
            first="%a1" if wide else "%r1",
            second="%a2" if wide else "%r2",
            widen="" if wide else NARROW,
        ),
        params=1,
    )
    assemble(source, "sm_90")
    return source


def read(source: str, threads: int = 64, ctas: int = 3, seed: int = 0) -> Array:
    """Return readings as [thread of the grid, first or second]."""
    out = np.zeros((ctas * threads, 2), np.uint64)
    run(source, out, threads=threads, ctas=ctas, seed=seed)
    return out


@pytest.mark.parametrize("name", TIMERS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_rises_and_is_the_same_again(name: str, seed: int) -> None:
    source = twice(name)
    found = read(source, seed=seed)
    rises = (found == 0) if name.endswith("_hi") else (found[:, :1] < found[:, 1:])
    assert rises.all() and (found == read(source, seed=seed)).all()


def test_it_counts_instructions() -> None:
    some = "add.u32 %r5, %r5, 1; " * 10
    first, second = read(twice("%clock64")).T, read(twice("%clock64", some)).T
    assert ((second[1] - second[0]) - (first[1] - first[0]) == 10).all()


@pytest.mark.parametrize("name", ["%clock_hi", "%globaltimer_hi"])
def test_the_upper_half(name: str) -> None:
    some = "mov.u32 %r5, 0xFFFFFFFF; nanosleep.u32 %r5; nanosleep.u32 %r5;"
    assert (read(twice(name, some)) == [0, 2]).all()


def test_it_rises_from_cta_to_cta_that_do_not_run_together() -> None:
    """If not all CTAs run at once, later ones read larger counts."""
    found = read(twice("%globaltimer"), threads=1024, ctas=200)
    by_cta = found.reshape(200, 1024, 2)
    assert (by_cta[0] < by_cta[-1]).all()


def test_what_one_thread_read_before_another_is_less() -> None:
    """Warp 1 reads after a barrier, warp 0 before it."""
    body = """
    setp.ge.u32 %q1, %t, 32;
    @!%q1 mov.u64 %a1, %globaltimer;
    bar.sync 0;
    @%q1 mov.u64 %a1, %clock64;
    mad.wide.u32 %a9, %i, 8, %p0;
    st.global.u64 [%a9], %a1;
"""
    for seed in range(4):
        out = np.zeros((5, 64), np.uint64)
        run(program(body, params=1), out, threads=64, ctas=5, seed=seed)
        assert (out[:, :32].max(axis=1) < out[:, 32:].min(axis=1)).all()


DELAY = """
    mov.u64 %a1, %clock64;
again:
    mov.u64 %a2, %clock64;
    sub.u64 %a3, %a2, %a1;
    {work}
    setp.lt.u64 %q1, %a3, {cycles};
    @%q1 bra again;
"""


@pytest.mark.parametrize("cycles", [100, 10_000, 100_000_000])
def test_a_delay_ends(cycles: int) -> None:
    report = run(program(DELAY.format(cycles=cycles, work=""), params=1), np.zeros(4, np.uint64))
    assert report.instructions < 200_000


def test_a_loop_that_works_is_not_hurried() -> None:
    """Each iteration counts its instructions."""
    work = "st.global.u64 [%p0], %a3;"
    out = np.zeros(4, np.uint64)
    run(program(DELAY.format(cycles=1000, work=work), params=1), out, threads=1)
    assert 1000 <= out[0] < 1010


def test_a_loop_that_does_not_end_is_a_fault() -> None:
    source = program(DELAY.format(cycles="0x7FFFFFFFFFFFFFFF", work=""), params=1)
    with pytest.raises(EmulationFault, match="deadlock: the kernel has not ended after"):
        run(source, np.zeros(4, np.uint64), threads=1)
