"""Warp instructions: shuffles, votes, reductions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import (
    fault,
    kernel,
    out,
)


def test_a_shuffle_waits_for_the_lanes_that_it_names() -> None:
    body = """
  setp.lt.u32 %p0, %r2, 16;
  @%p0 bra LOW;
  shfl.sync.bfly.b32 %r1, %r2, 1, 31, 0xffff0000;
  bra DONE;
LOW:
  shfl.sync.bfly.b32 %r1, %r2, 2, 31, 0x0000ffff;
DONE:
"""
    t = np.arange(32)
    assert (out(body) == np.where(t < 16, t ^ 2, t ^ 1)).all()


def test_lanes_that_left_are_not_waited_for() -> None:
    body = """
  mov.u32 %r1, 7;
  setp.ge.u32 %p0, %r2, 16;
  @%p0 bra STORE;
  shfl.sync.bfly.b32 %r1, %r2, 1, 31, 0xffffffff;
STORE:
"""
    exits = body.replace("@%p0 bra STORE", "@%p0 exit")
    t = np.arange(32)
    assert (out(exits) == np.where(t < 16, t ^ 1, 0)).all()
    assert (out(body.replace("0xffffffff", "0x0000ffff")) == np.where(t < 16, t ^ 1, 7)).all()


def test_a_lane_outside_the_member_mask() -> None:
    body = "  mov.u32 %r0, %tid.x;\n  shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0x0000ffff;"
    found = fault(kernel(body))
    assert (found.kind, found.lanes[0]) == ("divergent-warp-instruction", 16)


def test_a_matrix_instruction_with_lanes_away() -> None:
    body = """
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 3;
  @%p0 ret;
  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {ACC}, {A}, {B}, {ACC};
"""
    for name, registers in (("ACC", "%f{}"), ("A", "%r1{}"), ("B", "%r2{}")):
        listed = ", ".join(registers.format(i) for i in range(8))
        body = body.replace("{" + name + "}", "{" + listed + "}")
    found = fault(kernel(body))
    assert found.kind == "divergent-warp-instruction"
    assert found.lanes == (0, 1, 2, 4, 5, 6, 7, 8)


def test_segments_of_a_shuffle() -> None:
    """For a width of 8, c = (32 - 8) << 8 | clamp, as CUDA's __shfl_*_sync compute it."""
    t = np.arange(32)
    body = "  shfl.sync.down.b32 %r1|%p0, %r2, 3, 0x181f, 0xffffffff;\n"
    assert (out(body) == np.where(t % 8 + 3 < 8, t + 3, t)).all()
    body = "  shfl.sync.up.b32 %r1, %r2, 3, 0x1800, 0xffffffff;\n"
    assert (out(body) == np.where(t % 8 >= 3, t - 3, t)).all()
    body = "  shfl.sync.idx.b32 %r1, %r2, 2, 0x181f, 0xffffffff;\n"
    assert (out(body) == t // 8 * 8 + 2).all()
    body = "  xor.b32 %r9, %r2, 5;\n  shfl.sync.idx.b32 %r1, %r2, %r9, 31, 0xffffffff;\n"
    assert (out(body) == t ^ 5).all()


def test_votes() -> None:
    body = """
  setp.lt.u32 %p0, %r2, 40;
  vote.sync.all.pred %p1, %p0, 0xffffffff;
  vote.sync.any.pred %p2, !%p0, 0xffffffff;
  vote.sync.uni.pred %p3, %p0, 0xffffffff;
  selp.u32 %r1, 1, 0, %p1;
  @%p2 add.u32 %r1, %r1, 2;
  @%p3 add.u32 %r1, %r1, 4;
  activemask.b32 %r5;
  popc.b32 %r5, %r5;
  mad.lo.u32 %r1, %r5, 8, %r1;
"""
    got = out(body, threads=96)
    assert (got == np.repeat([1 + 4, 2, 2 + 4], 32) + 8 * 32).all()


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_over_a_warp(name: str) -> None:
    type_ = "b32" if name in ("and", "or", "xor") else "u32"
    body = f"""
  mul.lo.u32 %r5, %r2, 2654435761;
  redux.sync.{name}.{type_} %r1, %r5, 0xffffffff;
"""
    values = (np.arange(64, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32).reshape(2, 32)
    function = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[name]
    wanted = function.reduce(values, axis=1, dtype=np.uint32)
    assert (out(body, threads=64) == np.repeat(wanted, 32)).all()


def test_groups_of_a_warp_vote_apart() -> None:
    """Each half of a warp is its own member mask, and both execute the same instruction."""
    body = """
  and.b32 %r5, %r2, 16;
  shl.b32 %r6, 0x0000ffff, %r5;
  setp.lt.u32 %p0, %r2, 16;
  vote.sync.all.pred %p1, %p0, %r6;
  vote.sync.ballot.b32 %r7, %p0, %r6;
  redux.sync.add.u32 %r8, %r2, %r6;
  selp.u32 %r1, 1, 0, %p1;
  mad.lo.u32 %r1, %r8, 2, %r1;
  add.u32 %r1, %r1, %r7;
"""
    low = 1 + 2 * sum(range(16)) + 0xFFFF
    assert (out(body) == np.repeat([low, 2 * sum(range(16, 32))], 16)).all()


def test_the_elected_lane() -> None:
    body = """
  setp.lt.u32 %p0, %r2, 3;
  mov.u32 %r1, 0;
  @%p0 bra DONE;
  elect.sync %r5|%p1, 0xfffffff8;
  selp.u32 %r1, %r5, 99, %p1;
DONE:
"""
    t = np.arange(32)
    assert (out(body) == np.where(t < 3, 0, np.where(t == 3, 3, 99))).all()
