"""Order inside a CTA, between lanes and between warps: programs that keep or break each rule."""

from __future__ import annotations

import pytest

from tests.emulate.ptx.ptx_order import SEEDS, fault, line_of, tile_program, words
from tests.emulate.ptx.ptx_programs import run

#: Writes of 16 bytes by each lane.
WRITES = {
    "st": "st.shared.v4.u32 [%r1], {%t, %t, %t, %t};",
    "st.u32": "st.shared.u32 [%r1], %t;\n    st.shared.u32 [%r1+4], %t;\n"
    "    st.shared.u32 [%r1+8], %t;\n    st.shared.u32 [%r1+12], %t;",
    "generic st": "cvt.u64.u32 %a9, %r1;\n    cvta.shared.u64 %a9, %a9;\n"
    "    st.v4.u32 [%a9], {%t, %t, %t, %t};",
    "cp.async": "cp.async.cg.shared.global [%r1], [%p0], 16;\n    cp.async.wait_all;",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%t, %t, %t, %t};",
}
#: Reads of what another lane wrote.
READS = {
    "ld": "ld.shared.u32 %r3, [%r2];",
    "ld.v4": "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];",
    "atom": "atom.shared.add.u32 %r3, [%r2], 1;",
    "st": "st.shared.u32 [%r2], 99;",
    "cp.async": "cp.async.ca.shared.global [%r2], [%p0], 4;\n    cp.async.wait_all;",
}


def exchange(write: str, barrier: str, read: str, distance: int = 1) -> str:
    return tile_program(
        f"""
    {WRITES[write]}
    {barrier}
    xor.b32 %r2, %t, {distance};
    mad.lo.u32 %r2, %r2, 16, %r0;
    {READS[read]}
    """
    )


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", WRITES)
def test_lanes_meet_only_behind_a_warp_barrier(write: str, read: str) -> None:
    run(exchange(write, "bar.warp.sync 0xffffffff;", read), words())
    run(exchange(write, "bar.sync 0;", read), words())
    for seed in (0, 1):
        source = exchange(write, "", read)
        found = fault(source, words(), seed=seed)
        assert found.kind == "race"
        assert "line" in found.message


@pytest.mark.parametrize(
    "barrier",
    [
        "shfl.sync.idx.b32 %r9, %t, 0, 31, 0xffffffff;",
        "vote.sync.ballot.b32 %r9, %q0, 0xffffffff;",
        "membar.cta;",
        "bar.warp.sync 0x0000ffff;",
    ],
    ids=["shfl", "vote", "fence", "half of the warp"],
)
def test_what_is_no_barrier_between_lanes(barrier: str) -> None:
    if "0x0000ffff" in barrier:
        barrier = f"setp.lt.u32 %q1, %t, 16;\n    @%q1 {barrier}"
    assert fault(exchange("st", barrier, "ld"), words(), strict=True).kind == "race"


def test_a_warp_barrier_of_some_lanes_orders_those() -> None:
    halves = """
    setp.lt.u32 %q1, %t, 16;
    @%q1 bar.warp.sync 0x0000ffff;
    @!%q1 bar.warp.sync 0xffff0000;
    """
    run(exchange("st", halves, "ld", distance=1), words())
    assert fault(exchange("st", halves, "ld", distance=16), words()).kind == "race"


def test_a_read_that_another_lane_overwrites() -> None:
    body = """
    st.shared.u32 [%r1], %t;
    bar.warp.sync 0xffffffff;
    xor.b32 %r2, %t, 1;
    mad.lo.u32 %r2, %r2, 16, %r0;
    ld.shared.u32 %r3, [%r2];
    {barrier}
    st.shared.u32 [%r1], %r3;
    """
    run(tile_program(body.format(barrier="bar.warp.sync 0xffffffff;"), params=0))
    source = tile_program(body.format(barrier=""), params=0)
    found = fault(source)
    assert found.kind == "race"
    assert f"read by thread 1 in {line_of(source, 'ld.shared')}" in found.message


def test_a_race_names_both_sides() -> None:
    source = exchange("st", "", "ld", distance=32)
    found = fault(source, words(), threads=64)
    written = line_of(source, "st.shared")
    if found.kind == "race":
        assert f"written by thread 32 in {written}" in found.message
    assert found.instruction.startswith("ld.shared") and found.lanes[:2] == (0, 1)
    assert found.address == 32 * 16


def test_a_copy_under_way_is_named() -> None:
    body = """
    cp.async.cg.shared.global [%r1], [%p0], 16;
    ld.shared.u32 %r3, [%r1];
    """
    source = tile_program(body)
    found = fault(source, words())
    assert found.kind == "pending-copy"
    assert f"started in {line_of(source, 'cp.async')}" in found.message


def test_warps_that_write_the_same_value_race() -> None:
    """Lanes of one instruction may write the same value; nothing orders two warps."""
    body = "    st.shared.u32 [%r0], 7;"
    run(tile_program(body, params=0))
    for seed in SEEDS:
        found = fault(tile_program(body, params=0), threads=64, seed=seed, strict=True)
        assert found.kind == "race"


def test_strong_accesses_to_shared_memory_do_not_race() -> None:
    body = """
    st.volatile.shared.u32 [%r0], 7;
    ld.volatile.shared.u32 %r3, [%r0];
    {weak}
    """
    run(tile_program(body.format(weak=""), params=0), threads=64)
    weak = body.format(weak="ld.shared.u32 %r3, [%r0];")
    assert fault(tile_program(weak, params=0), threads=64).kind == "race"
