"""mbarrier: phases, arrivals in all their forms, transactions, waiting (PTX ISA 9.7.13.15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import Fault
from tests.emulate.ptx import ptx_kernels
from tests.emulate.ptx.ptx_kernels import Array, kernel, launch
from tests.emulate.ptx.ptxas import assemble

SHARED = "  .shared .align 16 .b8 tile[1024];\n  .shared .align 8 .b64 bar[4];\n"
#: Thread 0 makes an object of a count; %r0 is the thread, %r1 the object, %r2 the thread's word.
START = """
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  mad.lo.u32 %r2, %r0, 4, %r2;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra made;
  mbarrier.init.shared::cta.b64 [%r1], COUNT;
  fence.mbarrier_init.release.cluster;
made:
  bar.sync 0;
"""
WAIT = """
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], PARITY;
  @!%p1 bra wait;
"""
#: Thread i stores what thread i ^ 32 has left in shared memory.
READ_OTHER = """
  xor.b32 %r3, %r0, 32;
  mov.u32 %r4, tile;
  mad.lo.u32 %r4, %r3, 4, %r4;
  ld.shared.u32 %r5, [%r4];
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r5;
"""


def program(body: str, *, count: int = 64, parity: int = 0, version: str = "8.0") -> str:
    text = (START + body).replace("COUNT", str(count)).replace("PARITY", str(parity))
    source = kernel(text, params=("out",), declarations=SHARED)
    source = source.replace(".version 8.0", f".version {version}")
    assemble(source, "sm_90")
    return source


def result(source: str, threads: int = 64, **options: Any) -> Array:
    out = np.full(threads, 0xFFFFFFFF, np.uint32)
    launch(source, out, block=(threads, 1, 1), **options)
    return out


def fault(source: str, threads: int = 64, **options: Any) -> Fault:
    out = np.zeros(threads, np.uint32)
    return ptx_kernels.fault(source, out, block=(threads, 1, 1), **options)


EXCHANGE = "  st.shared.u32 [%r2], %r0;\n  ARRIVE\n" + WAIT + READ_OTHER


@pytest.mark.parametrize(
    ("arrive", "count"),
    [
        ("mbarrier.arrive.shared::cta.b64 %d1, [%r1];", 64),
        ("mbarrier.arrive.release.cta.shared::cta.b64 %d1, [%r1], 2;", 128),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];", 64),
        ("mov.u64 %d2, bar;\n  cvta.shared.u64 %d2, %d2;\n  mbarrier.arrive.b64 _, [%d2];", 64),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 0;", 64),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_arrivals_of_all_forms_order_memory(arrive: str, count: int, seed: int) -> None:
    out = result(program(EXCHANGE.replace("ARRIVE", arrive), count=count), seed=seed)
    assert (out == np.arange(64) ^ 32).all()


def test_a_relaxed_arrival_orders_nothing() -> None:
    arrive = "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r1];"
    assert fault(program(EXCHANGE.replace("ARRIVE", arrive), version="8.6")).kind == "race"


def test_a_relaxed_wait_orders_nothing() -> None:
    body = EXCHANGE.replace("ARRIVE", "mbarrier.arrive.shared::cta.b64 _, [%r1];")
    body = body.replace("try_wait.parity.shared", "try_wait.parity.relaxed.cta.shared")
    assert fault(program(body, version="8.6")).kind == "race"


def test_going_on_without_waiting_is_seen() -> None:
    body = EXCHANGE.replace("ARRIVE", "mbarrier.arrive.shared::cta.b64 _, [%r1];")
    skipped = program(body.replace("  @!%p1 bra wait;\n", ""))
    # A seed divides the warps, which otherwise arrive together.
    assert fault(skipped, seed=1).kind in ("race", "uninitialised-read")


@pytest.mark.parametrize("word", ["test_wait", "try_wait"])
def test_states_and_pending_counts(word: str) -> None:
    body = f"""
  mbarrier.arrive.shared::cta.b64 %d1, [%r1];
  mbarrier.pending_count.b64 %r6, %d1;
wait:
  mbarrier.{word}.shared::cta.b64 %p1, [%r1], %d1;
  @!%p1 bra wait;
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r6;
"""
    assert (result(program(body)) == 64 - np.arange(64)).all()


def test_many_phases() -> None:
    body = """
  mov.u32 %r6, 0;
  mov.u32 %r7, 0;
turn:
  mbarrier.arrive.shared::cta.b64 _, [%r1];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r7, 1000;
  @!%p1 bra wait;
  xor.b32 %r7, %r7, 1;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 5;
  @%p2 bra turn;
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r7;
"""
    assert (result(program(body)) == 1).all()


def test_no_complete_and_drop() -> None:
    body = """
  setp.eq.u32 %p2, %r0, 1;
  setp.lt.u32 %p3, %r0, 62;
  setp.ge.u32 %p4, %r0, 62;
  @%p2 mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %d1, [%r1], 36;
  @%p3 mbarrier.arrive.shared::cta.b64 %d1, [%r1];
  @%p4 mbarrier.arrive_drop.shared::cta.b64 %d1, [%r1];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra wait;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 %d1, [%r1];
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 %d1, [%r1];
  mbarrier.pending_count.b64 %r6, %d1;
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r6;
"""
    # 100 in the first phase, of which two are dropped; 64 and 34 more end the next.
    out = result(program(body, count=100))
    assert (out == [*range(34, 0, -1), *range(98, 68, -1)]).all()


def test_transactions_by_hand() -> None:
    body = """
  setp.eq.u32 %p2, %r0, 0;
  setp.eq.u32 %p3, %r0, 33;
  st.shared.u32 [%r2], %r0;
  @%p2 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 48;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r1];
  @%p3 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48;
"""
    assert (result(program(body + WAIT + READ_OTHER)) == np.arange(64) ^ 32).all()
    found = fault(
        program(
            (body + WAIT).replace(
                "complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48",
                "complete_tx.relaxed.cta.shared::cta.b64 [%r1], 32",
            )
        )
    )
    assert found.kind == "transaction-count"
    assert "0 of 64 arrivals and 16 bytes are pending" in found.message


def test_a_look_gets_false_and_goes_on() -> None:
    body = """
  setp.ge.u32 %p2, %r0, 32;
  @%p2 bra late;
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  selp.u32 %r6, 1, 0, %p1;
  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 1;
  selp.u32 %r7, 10, 0, %p1;
  add.u32 %r6, %r6, %r7;
late:
  @%p2 mov.u32 %r6, 7;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r1];
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r6;
"""
    out = result(program(body))
    assert (out[:32] == 10).all() and (out[32:] == 7).all()


@pytest.mark.parametrize("suffix", [".noinc", ""])
def test_copies_arrive(suffix: str) -> None:
    source = kernel(
        (
            START
            + f"""
  mad.wide.u32 %d0, %r0, 4, %in;
  cp.async.ca.shared.global [%r2], [%d0], 4;
  cp.async.mbarrier.arrive{suffix}.shared::cta.b64 [%r1];
  {"" if suffix else "mbarrier.arrive.shared::cta.b64 _, [%r1];"}
"""
            + WAIT
            + READ_OTHER
        )
        .replace("COUNT", "64")
        .replace("PARITY", "0"),
        params=("in", "out"),
        declarations=SHARED,
    )
    assemble(source, "sm_90")
    data, out = np.arange(64, dtype=np.uint32) * 3, np.zeros(64, np.uint32)
    launch(source, data, out, block=(64, 1, 1))
    assert (out == data[np.arange(64) ^ 32]).all()
    found = ptx_kernels.fault(
        source.replace("  @!%p1 bra wait;\n", ""), data, out, block=(64, 1, 1)
    )
    assert found.kind == "pending-copy"


# ---------------------------------------------------------------------- faults


def test_too_many_arrivals() -> None:
    found = fault(program("  @!%p0 mbarrier.arrive.shared::cta.b64 %d1, [%r1], 65;"))
    assert found.kind == "transaction-count" and "more arrivals" in found.message


def test_more_arrivals_than_pending_go_on_in_the_next_phase() -> None:
    body = """
  mbarrier.arrive.shared::cta.b64 %d1, [%r1];
  bar.sync 0;
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  selp.u32 %r6, 1, 0, %p1;
  mad.wide.u32 %d0, %r0, 4, %out;
  st.global.u32 [%d0], %r6;
"""
    assert (result(program(body, count=64)) == 1).all()
    assert (result(program(body, count=32)) == 0).all()


def test_a_wait_for_ever_says_for_what() -> None:
    found = fault(program("  mbarrier.arrive.shared::cta.b64 _, [%r1];\n" + WAIT, count=65))
    assert found.kind == "deadlock"
    assert "1 of 65 arrivals and 0 bytes are pending" in found.message


def test_objects_must_be_initialised_and_not_invalidated() -> None:
    body = "  mbarrier.arrive.shared::cta.b64 _, [%r1+8];"
    assert fault(program(body)).kind == "uninitialised-read"
    body = """
  @!%p0 mbarrier.inval.shared::cta.b64 [%r1];
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r1];
"""
    assert "no mbarrier is initialised" in fault(program(body)).message


def test_initialisation_must_be_ordered() -> None:
    source = program("  mbarrier.arrive.shared::cta.b64 _, [%r1];").replace("  bar.sync 0;\n", "")
    assert fault(source).kind == "race"


def test_counts_have_limits() -> None:
    assert fault(program("", count=0)).kind == "transaction-count"
    body = "  @!%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 0x100000;"
    assert fault(program(body)).kind == "transaction-count"


def test_bytes_that_never_come_are_seen_at_the_end() -> None:
    body = "  @!%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;"
    found = fault(program(body))
    assert found.kind == "transaction-count" and "16 bytes pending at the end" in found.message
