"""Addresses with a negative register: base plus offset wraps as the register does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulate.ptx.ptx_order import fault
from tests.emulate.ptx.ptx_programs import program, run
from tests.emulate.ptx.ptxas import assemble

BELOW = 2032
#: %r1 is the thread's word of `tile` and %r2 its mbarrier's address, each `BELOW` bytes too low, as
#: nvcc makes them where the variable's own offset is part of the instruction. %a8 is a source.
START = f"""
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 16, %r0;
    sub.u32 %r1, %r1, {BELOW};
    mov.u32 %r2, bar;
    sub.u32 %r2, %r2, {BELOW};
    mov.u32 %r3, 7;
    mad.wide.u32 %a8, %t, 16, %p0;
    st.shared.v4.u32 [%r1+{BELOW}], {{%r3, %r3, %r3, %r3}};
"""
SHARED = ".shared .align 16 .b8 tile[512]; .shared .align 8 .b64 bar;"
STORE = "    mad.wide.u32 %a9, %t, 4, %p1;\n    st.global.u32 [%a9], %r4;\n"
ONE = "    setp.eq.u32 %q1, %t, 0;\n    @%q1 "
WAIT = """
wait:
    mbarrier.try_wait.parity.shared.b64 %q0, [%r2+2032], 0;
    @!%q0 bra wait;
"""
INIT = f"{ONE}mbarrier.init.shared.b64 [%r2+2032], 32;\n    bar.sync 0;\n"
#: (what a thread does, what it then has in %r4).
FAMILIES: dict[str, tuple[str, int]] = {
    "ld": ("ld.shared.u32 %r4, [%r1+2032];", 7),
    "ld with a negative offset": ("add.u32 %r5, %r1, 4064; ld.shared.u32 %r4, [%r5+-2032];", 7),
    "st": ("st.shared.u32 [%r1+2036], 9; ld.shared.u32 %r4, [%r1+2036];", 9),
    "volatile": ("ld.volatile.shared.u32 %r4, [%r1+2032];", 7),
    "vector": ("ld.shared.v4.u32 {%r5, %r6, %r7, %r4}, [%r1+2032];", 7),
    "atom": ("atom.shared.add.u32 %r5, [%r1+2032], 5; ld.shared.u32 %r4, [%r1+2032];", 12),
    "red": ("red.shared.add.u32 [%r1+2032], 5; ld.shared.u32 %r4, [%r1+2032];", 12),
    "ldmatrix": (
        "bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1+2032];",
        7,
    ),
    "stmatrix": (
        "bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1+2032],"
        " {%r3, %r3, %r3, %r3}; bar.warp.sync -1; ld.shared.u32 %r4, [%r1+2032];",
        7,
    ),
    "cp.async": (
        "cp.async.ca.shared.global [%r1+2032], [%a8], 16; cp.async.wait_all;"
        " ld.shared.u32 %r4, [%r1+2032];",
        3,
    ),
    "mbarrier": (f"{INIT} mbarrier.arrive.shared.b64 _, [%r2+2032]; {WAIT} mov.u32 %r4, 1;", 1),
    "cp.async.mbarrier.arrive": (
        f"{INIT} cp.async.ca.shared.global [%r1+2032], [%a8], 16;"
        f" cp.async.mbarrier.arrive.noinc.shared.b64 [%r2+2032]; {WAIT}"
        " ld.shared.u32 %r4, [%r1+2032];",
        3,
    ),
    "cp.async.bulk": (
        f"{INIT} fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _, [%r2+2032], 16;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        f" [%r1+2032], [%a8], 16, [%r2+2032]; {WAIT} ld.shared.u32 %r4, [%r1+2032];",
        3,
    ),
}


def result(body: str) -> np.ndarray[Any, Any]:
    source = program(START + body + STORE, shared=SHARED)
    assemble(source, "sm_90")
    given, out = np.full(128, 3, np.uint32), np.zeros(32, np.uint32)
    run(source, given, out)
    return out


@pytest.mark.parametrize("family", FAMILIES)
def test_a_base_below_zero(family: str) -> None:
    body, wanted = FAMILIES[family]
    assert (result(body) == wanted).all()


def test_a_base_below_zero_in_64_bits() -> None:
    body = """
    cvt.u64.u32 %a1, %r0;
    sub.u64 %a1, %a1, 2032;
    mad.wide.u32 %a1, %t, 16, %a1;
    ld.shared.u32 %r4, [%a1+2032];
"""
    assert (result(body) == 7).all()


@pytest.mark.parametrize("space", ["shared", "local"])
def test_beyond_the_end_is_still_seen(space: str) -> None:
    """The base is wrong, or the sum does not wrap back into the buffer's window."""
    for offset in (2032 + 520, 2016, -16):
        body = START + f"    mov.u32 %r1, {-BELOW};\n    ld.{space}.u32 %r4, [%r1+{offset}];\n"
        source = program(body, shared=SHARED + ".local .b8 own[512];")
        found = fault(source, np.zeros(128, "u4"), np.zeros(32, "u4"))
        assert found.kind == "out-of-bounds" and f"{space} load of 4 bytes" in found.message


def test_a_64_bit_register_keeps_its_upper_half() -> None:
    """Hardware may drop the upper half, but a generic pointer in place of a shared one is a bug."""
    body = """
    cvt.u64.u32 %a1, %r0;
    cvta.shared.u64 %a1, %a1;
    ld.shared.u32 %r4, [%a1];
"""
    source = program(START + body, shared=SHARED)
    assert fault(source, np.zeros(128, "u4"), np.zeros(32, "u4")).kind == "out-of-bounds"
