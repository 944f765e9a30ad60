"""Divergence, reconvergence, scopes of names, and refused launches."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import (
    TILE,
    kernel,
    launch,
    out,
)


def test_nested_branches() -> None:
    body = """
  and.b32 %r5, %r2, 1;
  setp.eq.u32 %p0, %r5, 0;
  and.b32 %r6, %r2, 2;
  setp.eq.u32 %p1, %r6, 0;
  @%p0 bra EVEN;
  @%p1 bra ODD_LOW;
  mov.u32 %r1, 3;
  bra DONE;
ODD_LOW:
  mov.u32 %r1, 1;
  bra.uni DONE;
EVEN:
  mov.u32 %r1, 0;
  @!%p1 mov.u32 %r1, 2;
DONE:
  add.u32 %r1, %r1, 10;
"""
    assert (out(body) == np.arange(32) % 4 + 10).all()


def test_loops_of_different_lengths_in_each_cta() -> None:
    body = """
  mov.u32 %r1, 0;
  mov.u32 %r5, 0;
LOOP:
  setp.ge.u32 %p0, %r5, %r0;
  @%p0 bra DONE;
  add.u32 %r5, %r5, 1;
  add.u32 %r1, %r1, %r5;
  bra LOOP;
DONE:
"""
    number = np.arange(96)
    assert (out(body, ctas=3) == number * (number + 1) // 2).all()


def test_lanes_that_come_back_from_a_block_behind_meet_the_others() -> None:
    """The rare path lies after the code to which it returns, as compilers place it."""
    body = """
  setp.lt.u32 %p0, %r2, 5;
  mov.u32 %r5, 1;
  @%p0 bra RARE;
JOIN:
  bar.sync 0;
  shfl.sync.idx.b32 %r1, %r5, 0, 31, 0xffffffff;
  bra STORE;
RARE:
  mov.u32 %r5, 7;
  bra JOIN;
STORE:
"""
    assert (out(body, threads=64) == np.repeat([7, 1], 32)).all()


def test_names_of_an_inner_scope_hide_outer_ones() -> None:
    body = """
  mov.u32 %r1, 5;
  {
    .reg .u32 %r1;
    .reg .pred %p0;
    mov.u32 %r1, 9;
    setp.eq.u32 %p0, %r1, 9;
    @%p0 bra OUT;
    mov.u32 %r1, 1;
  OUT:
  }
  add.u32 %r1, %r1, 10;
  {
    .reg .u32 %r1;
    bra OUT;
  OUT:
    mov.u32 %r1, 3;
  }
"""
    assert (out(body) == 15).all()


def test_compound_predicates() -> None:
    body = """
  setp.lt.u32 %p0, %r2, 20;
  setp.ge.and.u32 %p1|%p2, %r2, 10, %p0;
  selp.u32 %r1, 1, 0, %p1;
  @%p2 add.u32 %r1, %r1, 2;
  xor.pred %p3, %p1, %p2;
  not.pred %p3, %p3;
  @%p3 add.u32 %r1, %r1, 4;
  setp.eq.or.s32 %p4, %r2, 31, !%p0;
  @%p4 add.u32 %r1, %r1, 8;
"""
    t = np.arange(32)
    yes, no = (t >= 10) & (t < 20), (t < 10) & (t < 20)
    wanted = yes * 1 + no * 2 + ~(yes ^ no) * 4 + ((t == 31) | (t >= 20)) * 8
    assert (out(body) == wanted).all()


def test_a_block_that_is_no_multiple_of_a_warp() -> None:
    body = """
  mov.u32 %r5, tile;
  mad.lo.u32 %r6, %r2, 4, %r5;
  st.shared.u32 [%r6], %r2;
  bar.sync 0;
  sub.u32 %r7, 39, %r2;
  mad.lo.u32 %r6, %r7, 4, %r5;
  ld.shared.u32 %r1, [%r6];
"""
    assert (out(body, threads=40, declarations=TILE) == 39 - np.arange(40)).all()


def test_special_registers_of_three_dimensions() -> None:
    names = ["%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%laneid", "%warpid"]
    names += ["%ntid.y", "%nctaid.z", "%lanemask_lt"]
    body = "".join(
        f"  mov.u32 %r1, {name};\n  st.global.u32 [%d0+{4 * i}], %r1;\n"
        for i, name in enumerate(names)
    )
    index = """
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z;
  mad.lo.u32 %r2, %r4, 2, %r2;
  mad.lo.u32 %r2, %r3, 6, %r2;
  mov.u32 %r5, %tid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.z;
  mad.lo.u32 %r6, %r7, 5, %r6;
  mad.lo.u32 %r5, %r6, 4, %r5;
  mad.lo.u32 %r2, %r2, 40, %r5;
  mul.wide.u32 %d0, %r2, 44;
  add.u64 %d0, %d0, %out;
"""
    grid, block = (2, 2, 3), (4, 5, 2)
    found = np.zeros((12 * 40, 11), np.uint32)
    launch(kernel(index + body, params=("out",)), found, grid=grid, block=block)
    for y in range(2):
        for z in range(3):
            for x in range(2):
                rows = found.reshape(12, 40, 11)[6 * y + 2 * z + x]
                for t, row in enumerate(rows.tolist()):
                    thread = [t % 4, t // 4 % 5, t // 20]
                    lane = t % 32
                    wanted = [*thread, x, y, z, lane, t // 32, 5, 3, (1 << lane) - 1]
                    assert row == wanted


def test_the_result_is_the_same_for_every_seed() -> None:
    body = "  mul.lo.u32 %r1, %r0, 7;\n"
    for seed in range(3):
        assert (out(body, ctas=9, seed=seed) == 7 * np.arange(288)).all()


def test_more_ctas_than_run_at_once() -> None:
    body = """
  mov.u32 %r5, tile;
  mad.lo.u32 %r6, %r2, 4, %r5;
  st.shared.u32 [%r6], %r0;
  bar.sync 0;
  xor.b32 %r7, %r2, 33;
  mad.lo.u32 %r6, %r7, 4, %r5;
  ld.shared.u32 %r1, [%r6];
"""
    number = np.arange(64 * 700)
    got = out(body, threads=64, ctas=700, declarations=TILE)
    assert (got == number // 64 * 64 + (number % 64 ^ 33)).all()


def test_what_does_not_fit_the_entry_point() -> None:
    source = kernel("").replace(")\n{", ")\n.reqntid 64, 1, 1\n{")
    with pytest.raises(EmulationError, match="requires block"):
        launch(source)
    with pytest.raises(EmulationError, match="no entry point k in the PTX text; it has other"):
        launch(source.replace(".entry k", ".entry other"))
    with pytest.raises(EmulationError, match="has 8 bytes"):
        launch(kernel("", params=("a",)), np.float32(1))
    with pytest.raises(EmulationError, match="outside the grid"):
        launch(kernel(""), workgroups=[(1, 0, 0)])


@pytest.mark.parametrize(
    "instruction",
    [
        "add.f32.fancy %f0, %f1, %f2;",
        "add.s32 %r0, %r1;",
        "ld.global.L3::none.b32 %r0, [%d0];",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};",
        "setp.near.f32 %p0, %f0, %f1;",
        "mov.b32 %r0, nowhere;",
        "bra NOWHERE;",
        "tcgen05.fence;",
    ],
)
def test_unknown_instructions_are_refused_before_anything_runs(instruction: str) -> None:
    source = kernel(f"  st.global.u32 [%d0], 1;\n  {instruction}")
    with pytest.raises(UnknownInstruction) as caught:
        launch(source)
    assert caught.value.instruction == instruction.rstrip(";")
    assert source.splitlines()[caught.value.line - 1].strip() == instruction
