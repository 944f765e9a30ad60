"""Races of threads on shared memory, also inside one warp."""

from __future__ import annotations

import pytest

from tests.emulate.ptx.ptx_kernels import (
    THREAD,
    TILE,
    fault,
    kernel,
    launch,
)


def exchange(first: str, between: str, second: str) -> str:
    """Return a program in which thread t accesses word t and, after `between`, word t ^ 1."""
    body = (
        THREAD
        + f"""
  mad.lo.u32 %r2, %r0, 4, %r1;
  xor.b32 %r3, %r2, 4;
  st.shared.u32 [%r2], 0;
  bar.sync 0;
  {first}
  {between}
  {second}
"""
    )
    return kernel(body, declarations=TILE)


ACCESSES = {
    "store": "st.shared.u32 [{}], %r0;",
    "load": "ld.shared.u32 %r4, [{}];",
    "atomic": "red.shared.add.u32 [{}], 1;",
}
RACING = [("store", "load"), ("load", "store"), ("store", "store"), ("store", "atomic"),
          ("atomic", "load"), ("load", "atomic")]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), RACING)
def test_two_lanes_of_a_warp_race_unless_the_warp_synchronises(first: str, second: str) -> None:
    one, two = ACCESSES[first].format("%r2"), ACCESSES[second].format("%r3")
    found = fault(exchange(one, "", two))
    assert (found.kind, found.instruction) == ("race", two.rstrip(";"))
    launch(exchange(one, "bar.warp.sync 0xffffffff;", two))
    launch(exchange(one, "bar.sync 0;", two))


def test_reads_and_atomics_do_not_race_with_each_other() -> None:
    for name in ("load", "atomic"):
        code = ACCESSES[name]
        launch(exchange(code.format("%r2"), "", code.format("%r3")))


def test_a_thread_does_not_race_with_itself() -> None:
    launch(
        exchange("st.shared.u32 [%r2], 1;", "ld.shared.u32 %r4, [%r2];", "st.shared.u32 [%r2], 2;")
    )


def test_half_words_of_one_word_are_told_apart() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 2, %r1;
  cvt.u16.u32 %h0, %r0;
  st.shared.u16 [%r2], %h0;
  bar.sync 0;
  ld.shared.u32 %r3, [%r1+4];
"""
    )
    launch(kernel(body, declarations=TILE), block=(64, 1, 1))


def test_a_race_in_one_cta_only() -> None:
    body = (
        THREAD
        + """
  mov.u32 %r5, %ctaid.x;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %r0;
  setp.ne.u32 %p0, %r5, 2;
  @%p0 bar.sync 0;
  xor.b32 %r3, %r2, 128;
  ld.shared.u32 %r4, [%r3];
"""
    )
    found = fault(kernel(body, declarations=TILE), grid=(4, 1, 1), block=(64, 1, 1))
    assert found.kind in ("race", "uninitialised-read")
    assert found.workgroup == (2, 0, 0)


def test_a_matrix_load_reads_for_the_whole_warp() -> None:
    """Each lane wrote the row whose address it passes, but other lanes get its elements."""
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 16, %r1;
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  {}
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r2];
"""
    )
    assert fault(kernel(body.format(""), declarations=TILE)).kind == "race"
    launch(kernel(body.format("bar.warp.sync 0xffffffff;"), declarations=TILE))


def test_a_lane_overwrites_what_a_matrix_load_gave_to_others() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 16, %r1;
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r2];
  {}
  st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
"""
    )
    assert fault(kernel(body.format(""), declarations=TILE)).kind == "race"
    launch(kernel(body.format("bar.warp.sync 0xffffffff;"), declarations=TILE))


def test_matrix_loads_check_only_the_rows_that_they_read() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, {step}, %r1;
  setp.lt.u32 %p0, %r0, 8;
  @%p0 st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r3}}, [%r2];
"""
    )
    launch(kernel(body.format(step=512), declarations=TILE))
    found = fault(kernel(body.format(step=8), declarations=TILE))
    assert found.kind == "misaligned"
