"""Divergence, reconvergence, barriers, and what the lanes of a warp do together."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.ptx_kernels import Array, fault, kernel, launch

STORE = "  mul.wide.u32 %d0, %r0, 4;\n  add.u64 %d0, %out, %d0;\n  st.global.u32 [%d0], %r1;\n"
#: %r0 is the thread's number in the grid, %r2 in its CTA.
NUMBER = (
    "  mov.u32 %r2, %tid.x;\n  mov.u32 %r3, %ctaid.x;\n  mov.u32 %r4, %ntid.x;\n"
    "  mad.lo.u32 %r0, %r3, %r4, %r2;\n"
)
TILE = "  .shared .align 16 .b8 tile[4096];\n"


def out(
    body: str, threads: int = 32, ctas: int = 1, declarations: str = "", **options: int
) -> Array:
    """What each thread leaves in %r1."""
    result = np.zeros(threads * ctas, np.uint32)
    source = kernel(NUMBER + body + STORE, params=("out",), declarations=declarations)
    launch(source, result, grid=(ctas, 1, 1), block=(threads, 1, 1), **options)
    return result


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
    """The rare path lies behind the code that it returns to, as compilers place it."""
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


# ---------------------------------------------------------------------- barriers


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
    """Warp 0 gives to warp 1, which gives to warp 2: warp 2 may read what warp 0 wrote."""
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
    assert found.kind == "deadlock" and "no end" in found.message


# ---------------------------------------------------------------------- warps


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
    """Width 8: c = (32 - 8) << 8 | clamp, as CUDA's __shfl_*_sync make it."""
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
    """Each half names itself as members, and both execute the same instruction."""
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


# ---------------------------------------------------------------------- launches


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
    with pytest.raises(EmulationError, match="requires blocks"):
        launch(source)
    with pytest.raises(EmulationError, match="no entry point"):
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
