"""Atomics on unwritten shared memory are uninitialised reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import fault
from tests.emulate.ptx.ptx_programs import Array, program, run
from tests.emulate.ptx.ptxas import assemble

SHARED = ".shared .align 16 .b8 tile[512];"
#: %r1 is the address of a word that all threads share, %a1 its generic one, %r2 that of the word of
#: the other CTA of a cluster of two. %a2 is a global word.
START = """
    mov.u32 %r1, tile;
    cvt.u64.u32 %a1, %r1;
    cvta.shared.u64 %a1, %a1;
    mov.u32 %r3, %cluster_ctarank;
    xor.b32 %r3, %r3, 1;
    mov.u64 %a2, %p0;
    mov.f32 %f0, 0f3F800000;
"""
WRITE = """
    setp.eq.u32 %q1, %t, 0;
    @%q1 st.shared.u32 [%r1], 1;
    bar.sync 0;
"""
#: The old value is used where there is one.
READERS = [
    "red.shared.add.u32 [%r1], 1;",
    "red.shared::cta.max.s32 [%r1], 1;",
    "red.relaxed.cta.shared.or.b32 [%r1], 1;",
    "red.add.u32 [%a1], 1;",
    "atom.shared.add.u32 %r5, [%r1], 1;",
    "atom.shared.add.f32 %f1, [%r1], %f0;",
    "atom.acq_rel.cta.shared.inc.u32 %r5, [%r1], 9;",
    "atom.add.u32 %r5, [%a1], 1;",
    "atom.shared.cas.b32 %r5, [%r1], 0, 1;",
    "atom.shared.add.u32 _, [%r1], 1;",
    "atom.shared.exch.b32 %r5, [%r1], 1; st.global.u32 [%a2], %r5;",
    "atom.shared.exch.b32 %r5, [%r1], 1; setp.eq.u32 %q2, %r5, 0; @%q2 ret;",
]
#: Nobody looks at what was there.
WRITERS = [
    "atom.shared.exch.b32 %r5, [%r1], 1;",
    "atom.shared.exch.b32 _, [%r1], 1;",
    "atom.exch.b32 %r5, [%a1], 1;",
]


def ptx(body: str) -> str:
    source = program(START + body.replace("; ", ";\n    "), params=1, shared=SHARED)
    assemble(source, "sm_90")
    return source


def words() -> Array:
    return np.zeros(64, np.uint32)


@pytest.mark.parametrize("atomic", READERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_an_atomic_reads(atomic: str, seed: int) -> None:
    found = fault(ptx(atomic), words(), seed=seed)
    assert (found.kind, found.instruction) == ("uninitialised-read", atomic.partition(";")[0])
    assert found.lanes[0] == 0
    run(ptx(WRITE + atomic), words(), seed=seed)


@pytest.mark.parametrize("atomic", WRITERS)
def test_an_exchange_whose_result_is_dropped_writes(atomic: str) -> None:
    run(ptx(f"{atomic} bar.sync 0; ld.shared.u32 %r6, [%r1];"), words())


def test_an_atomic_on_what_another_cta_has_not_written() -> None:
    begin = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    change = "mapa.shared::cluster.u32 %r2, %r1, %r3; red.shared::cluster.add.u32 [%r2], 1;"
    options: dict[str, Any] = {"ctas": 2, "cluster": (2, 1, 1)}
    found = fault(ptx(f"{begin} {change} {begin}"), words(), **options)
    assert found.kind == "uninitialised-read"
    run(ptx(f"{WRITE} {begin} {change} {begin}"), words(), **options)


def test_only_the_lanes_that_miss_it_are_named() -> None:
    own = "mad.lo.u32 %r1, %t, 4, %r1; setp.ne.u32 %q1, %t, 5; @%q1 st.shared.u32 [%r1], 0;"
    found = fault(ptx(f"{own} atom.shared.add.u32 %r5, [%r1], 1;"), words())
    assert (found.kind, found.lanes, found.address) == ("uninitialised-read", (5,), 20)


def test_an_atomic_on_what_a_copy_may_still_write() -> None:
    copy = "mov.u32 %r6, 0; cp.async.ca.shared.global [%r1], [%a2], 4;"
    one = "setp.ne.u32 %q1, %t, 0; @%q1 ret;"
    atomic = "red.shared.add.u32 [%r1], 1;"
    assert fault(ptx(f"{one} {copy} {atomic}"), words()).kind in ("pending-copy", "race")
    run(ptx(f"{one} {copy} cp.async.wait_all; {atomic}"), words())


def test_global_memory_is_what_the_caller_gave() -> None:
    """The caller has written every byte of a buffer."""
    out = words()
    run(ptx("red.global.add.u32 [%a2], 1; atom.global.add.u32 %r5, [%a2+4], 1;"), out)
    assert out[:2].tolist() == [32, 32]
