"""Barriers with numbers and counts: order, votes, deadlocks."""

from __future__ import annotations

import numpy as np

from tests.emulate.ptx.ptx_kernels import (
    NUMBER,
    STORE,
    TILE,
    fault,
    kernel,
    launch,
    out,
)


def test_barrier_counts_and_votes() -> None:
    body = """
  setp.lt.u32 %p0, %r2, 40;
  bar.red.popc.u32 %r1, 0, %p0;
  barrier.sync 1;
  bar.red.and.pred %p1, 0, %p0;
  bar.red.or.pred %p2, 0, !%p0;
  @%p1 add.u32 %r1, %r1, 100;
  @%p2 add.u32 %r1, %r1, 1000;
"""
    assert (out(body, threads=64, ctas=2) == 1040).all()


#: The first warps write, the last ones read, through barrier 1 of half the CTA each way.
PRODUCER = """
  mov.u32 %r5, tile;
  and.b32 %r6, %r2, 31;
  mad.lo.u32 %r6, %r6, 4, %r5;
  setp.ge.u32 %p0, %r2, 32;
  @%p0 bra CONSUMER;
  st.shared.u32 [%r6], %r2;
  {give}
  mov.u32 %r1, 0;
  bra DONE;
CONSUMER:
  {take}
  ld.shared.u32 %r1, [%r6];
DONE:
"""


def test_a_producer_arrives_and_a_consumer_waits() -> None:
    body = PRODUCER.format(give="bar.arrive 1, 64;", take="bar.sync 1, 64;")
    got = out(body, threads=64, ctas=2, declarations=TILE)
    assert (got == np.tile(np.r_[np.zeros(32), np.arange(32)], 2)).all()


def test_what_a_producer_writes_after_it_arrived_is_not_given() -> None:
    give = "bar.arrive 1, 64;\n  st.shared.u32 [%r6], 0;"
    body = PRODUCER.format(give=give, take="bar.sync 1, 64;")
    source = kernel(NUMBER + body, declarations=TILE)
    assert fault(source, block=(64, 1, 1)).kind == "race"


def test_a_barrier_among_others_orders_nothing_for_a_warp() -> None:
    """Warps 0 and 2 meet at barrier 2, while warp 1 reads what warp 0 wrote."""
    body = """
  mov.u32 %r5, tile;
  and.b32 %r6, %r2, 31;
  mad.lo.u32 %r6, %r6, 4, %r5;
  shr.u32 %r7, %r2, 5;
  setp.eq.u32 %p0, %r7, 0;
  setp.eq.u32 %p1, %r7, 1;
  @%p0 st.shared.u32 [%r6], %r2;
  @%p1 bra READ;
  bar.sync 2, 64;
  bra DONE;
READ:
  {wait}
  ld.shared.u32 %r1, [%r6];
DONE:
"""
    source = kernel(NUMBER + body.format(wait="") + STORE, params=("out",), declarations=TILE)
    assert fault(source, np.zeros(96, np.uint32), block=(96, 1, 1)).kind == "race"


def test_order_passes_through_a_third_warp() -> None:
    """Warp 0 synchronises with warp 1, and warp 1 with warp 2: warp 2 may read what warp 0
    wrote."""
    body = """
  mov.u32 %r5, tile;
  and.b32 %r6, %r2, 31;
  mad.lo.u32 %r6, %r6, 4, %r5;
  shr.u32 %r7, %r2, 5;
  mov.u32 %r1, 0;
  setp.eq.u32 %p0, %r7, 0;
  setp.eq.u32 %p1, %r7, 1;
  @%p0 bra FIRST;
  @%p1 bra SECOND;
  bar.sync 2, 64;
  ld.shared.u32 %r1, [%r6];
  bra DONE;
FIRST:
  st.shared.u32 [%r6], %r2;
  bar.arrive 1, 64;
  bra DONE;
SECOND:
  bar.sync 1, 64;
  bar.arrive 2, 64;
DONE:
"""
    got = out(body, threads=96, declarations=TILE)
    assert (got == np.r_[np.zeros(64), np.arange(32)]).all()


def test_too_few_threads_at_a_barrier() -> None:
    source = kernel(
        NUMBER + PRODUCER.format(give="bar.arrive 1, 96;", take="bar.sync 1, 96;"),
        declarations=TILE,
    )
    found = fault(source, block=(64, 1, 1), grid=(2, 1, 1))
    assert (found.kind, found.workgroup, found.lanes[0]) == ("deadlock", (0, 0, 0), 32)


def test_half_a_warp_at_a_barrier() -> None:
    body = """
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p0, %r2, 16;
  @%p0 bra SKIP;
  bar.sync 0;
  bra DONE;
SKIP:
  bar.sync 1;
DONE:
"""
    assert fault(kernel(body), block=(32, 1, 1)).kind == "deadlock"


def test_lanes_of_a_warp_at_different_barrier_instructions() -> None:
    body = """
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p0, %r2, 16;
  @%p0 bra LOW;
  {barrier} 0;
  bra DONE;
LOW:
  {barrier} 0;
DONE:
"""
    found = fault(kernel(body.format(barrier="bar.sync")))
    assert found.kind == "divergent-warp-instruction"
    launch(kernel(body.format(barrier="barrier.sync")))


def test_a_loop_without_end() -> None:
    body = "LOOP:\n  mov.u32 %r2, %tid.x;\n  setp.ne.u32 %p0, %r2, 7;\n  @%p0 bra LOOP;\n"
    found = fault(kernel(body))
    assert found.kind == "deadlock" and "has not ended" in found.message
