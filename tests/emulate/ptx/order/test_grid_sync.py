"""Memory of a cooperative launch: the workspace of grid.sync(), reserved shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from tests.emulate.ptx.ptx_order import SEEDS, words
from tests.emulate.ptx.ptx_programs import program, run

#: Thread 0 of every CTA adds to the barrier in the workspace and waits until its highest bit
#: changes; CTA 0 adds what makes the sum of all 2^31, as cooperative groups do.
BARRIER = """
    bar.sync 0;
    setp.ne.u32 %q0, %t, 0;
    @%q0 bra MET;
    mov.u32 %r10, %envreg1;
    mov.u32 %r11, %envreg2;
    mov.b64 %a4, {%r11, %r10};
    mov.u32 %r12, %nctaid.x;
    mov.u32 %r13, %ctaid.x;
    setp.eq.u32 %q1, %r13, 0;
    sub.u32 %r14, 0x80000001, %r12;
    selp.u32 %r14, %r14, 1, %q1;
    fence.acq_rel.gpu;
    atom.add.u32 %r15, [%a4+4], %r14;
AGAIN:
    ld.acquire.gpu.u32 %r16, [%a4+4];
    xor.b32 %r17, %r16, %r15;
    and.b32 %r17, %r17, 0x80000000;
    setp.eq.u32 %q2, %r17, 0;
    @%q2 bra AGAIN;
MET:
    bar.sync 0;
"""
#: Each thread writes its number, and reads that of the thread at the other end of the grid.
EXCHANGE = """
    mad.wide.u32 %a1, %i, 4, %p0;
    st.global.u32 [%a1], %i;
    {barrier}
    sub.u32 %r1, 255, %i;
    mad.wide.u32 %a2, %r1, 4, %p0;
    ld.global.u32 %r2, [%a2];
    mad.wide.u32 %a3, %i, 4, %p1;
    st.global.u32 [%a3], %r2;
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_grid_meets_at_the_barrier_of_its_workspace(seed: int) -> None:
    source = program(EXCHANGE.replace("{barrier}", BARRIER))
    numbers, out = words(), words()
    run(source, numbers, out, threads=64, ctas=4, seed=seed)
    np.testing.assert_array_equal(out, np.arange(256)[::-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_barrier_it_is_a_race(seed: int) -> None:
    source = program(EXCHANGE.replace("{barrier}", ""))
    with pytest.raises(EmulationFault) as caught:
        run(source, words(), words(), threads=64, ctas=4, seed=seed)
    assert caught.value.fault.kind == "race"


def test_the_workspace_tells_its_size_and_has_no_more() -> None:
    body = """
    mov.u32 %r10, %envreg1;
    mov.u32 %r11, %envreg2;
    mov.b64 %a4, {{%r11, %r10}};
    ld.u32 %r1, [%a4+{offset}];
    st.global.u32 [%p0], %r1;
"""
    out = words(1)
    run(program(body.format(offset=0), params=1), out, threads=1)
    assert out[0] == 64
    with pytest.raises(EmulationFault) as caught:
        run(program(body.format(offset=64), params=1), out, threads=1)
    assert caught.value.fault.kind == "out-of-bounds"


def test_reserved_shared_memory() -> None:
    """Reserved parts lie beside the kernel's arrays, and each has 1 KiB."""
    body = """
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 4, %r0;
    st.shared.u32 [%r1], %t;
    mov.u32 %r2, %reserved_smem_offset_1;
    mad.lo.u32 %r3, %t, 4, %r2;
    add.u32 %r4, %t, 1000;
    st.shared.u32 [%r3], %r4;
    ld.shared.u32 %r5, [%r1];
    ld.shared.u32 %r6, [%r3];
    add.u32 %r5, %r5, %r6;
    mad.wide.u32 %a1, %t, 4, %p0;
    st.global.u32 [%a1], %r5;
"""
    out = words()
    source = program(body, params=1, shared=".shared .align 16 .b8 tile[1024];")
    run(source, out, threads=256)
    np.testing.assert_array_equal(out, 2 * np.arange(256) + 1000)
