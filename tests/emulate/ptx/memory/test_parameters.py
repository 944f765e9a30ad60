"""Kernel parameters that are read by address: arrays in structs, generic pointers to them."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from tests.emulate.ptx.ptx_programs import Array, program, run

BY_ADDRESS = """
    mov.u64 %a0, p1;
    {convert}
    and.b32 %r0, %t, {mask};
    cvt.u64.u32 %a1, %r0;
    add.u64 %a0, %a0, %a1;
    {load} %r1, [%a0];
    mad.wide.u32 %a2, %t, 4, %p0;
    st.global.u32 [%a2], %r1;
"""
each_way = pytest.mark.parametrize(
    ("load", "convert"), [("ld.param.u8", ""), ("ld.u8", "cvta.param.u64 %a0, %a0;")]
)


def read(load: str, convert: str, mask: int) -> Array:
    """Return a program in which each thread reads a byte of the second parameter, eight bytes in
    all."""
    body = BY_ADDRESS.format(load=load, convert=convert, mask=mask)
    out, number = np.zeros(32, np.uint32), np.array(0x0807060504030201, np.uint64)
    run(program(body), out, number[()])
    return out


@each_way
def test_bytes_of_a_parameter(load: str, convert: str) -> None:
    assert (read(load, convert, mask=7) == np.arange(32) % 8 + 1).all()


@each_way
def test_beyond_the_parameters(load: str, convert: str) -> None:
    with pytest.raises(EmulationFault, match="out-of-bounds: parameter load"):
        read(load, convert, mask=15)


def test_a_kernel_does_not_write_its_parameters() -> None:
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        read("st.param.u8 [%a0], %r0; ld.param.u8", "", mask=7)


def test_the_window_of_parameters() -> None:
    body = """
    mov.u64 %a0, p1;
    cvta.param.u64 %a0, %a0;
    isspacep.param %q0, %a0;
    isspacep.global %q1, %a0;
    selp.u32 %r0, 1, 0, %q0;
    @%q1 add.u32 %r0, %r0, 2;
    mad.wide.u32 %a2, %t, 4, %p0;
    st.global.u32 [%a2], %r0;
"""
    out = np.zeros(32, np.uint32)
    run(program(body), out, np.zeros(1, np.uint32))
    assert (out == 1).all()
