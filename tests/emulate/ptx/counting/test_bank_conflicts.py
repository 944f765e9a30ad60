"""The wavefronts of shared memory that the PTX emulator counts, against counts by hand."""

from __future__ import annotations

import pytest

from tests.emulate.ptx.traffic_programs import shared_access

LOAD = {
    2: "ld.shared.b16 %h0, [%r1];",
    4: "ld.shared.b32 %r2, [%r1];",
    8: "ld.shared.v2.b32 {%r2, %r3}, [%r1];",
    16: "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];",
}
STORE = {
    4: "st.shared.b32 [%r1], %r2;",
    8: "st.shared.v2.b32 [%r1], {%r2, %r3};",
    16: "st.shared.v4.b32 [%r1], {%r2, %r3, %r4, %r5};",
}


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (4, 4, (1, 1)),  # each lane its own bank
        (4, 0, (1, 1)),  # one word for all: a broadcast
        (4, 8, (2, 1)),  # every second bank, twice
        (4, 128, (32, 1)),  # all in bank 0
        (4, 132, (1, 1)),  # padded by a word
        (2, 2, (1, 1)),  # two lanes in each word
        (2, 4, (1, 1)),
        (8, 8, (2, 2)),  # half warps
        (8, 16, (4, 2)),
        (8, 128, (32, 2)),
        (16, 16, (4, 4)),  # quarter warps
        (16, 32, (8, 4)),
        (16, 128, (32, 4)),  # a row of 64 halves, unswizzled
        (16, 144, (4, 4)),  # padded by 16 bytes
        (16, 0, (2, 2)),  # one address for all: half of what four registers need
        (8, 0, (1, 1)),
    ],
)
def test_bank_conflicts_of_loads(size: int, stride: int, expected: tuple[int, int]) -> None:
    assert shared_access(LOAD[size], f"mul.lo.u32 %r0, %t, {stride};") == expected


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [(4, 4, (1, 1)), (4, 128, (32, 1)), (8, 8, (2, 2)), (16, 16, (4, 4)), (16, 0, (4, 4))],
)
def test_bank_conflicts_of_stores(size: int, stride: int, expected: tuple[int, int]) -> None:
    """Unlike loads, stores to one word are not merged."""
    assert shared_access(STORE[size], f"mul.lo.u32 %r0, %t, {stride};") == expected


def test_a_broadcast_to_pairs_of_lanes_halves_a_wide_load() -> None:
    """Lanes l and l ^ 1 read one address, as both halves of a row of A in an FMA kernel."""
    pairs = "shr.u32 %r0, %t, 1;\n shl.b32 %r0, %r0, 4;"
    assert shared_access(LOAD[16], pairs) == (2, 2)
    every_other = "and.b32 %r0, %t, 1;\n shl.b32 %r0, %r0, 4;"  # l and l ^ 2
    assert shared_access(LOAD[16], every_other) == (2, 2)
    by_four = "and.b32 %r0, %t, 3;\n shl.b32 %r0, %r0, 4;"  # neither: a quarter warp each
    assert shared_access(LOAD[16], by_four) == (4, 4)


def test_lanes_that_are_not_there_need_no_wavefront() -> None:
    shift = "mul.lo.u32 %r0, %t, 16;"
    assert shared_access(LOAD[16], shift, threads=8) == (1, 1)
    assert shared_access(LOAD[16], shift, threads=40) == (5, 5)
    guarded = "setp.lt.u32 %q0, %t, 9;\n @%q0 " + LOAD[16]
    assert shared_access(guarded, shift) == (2, 2)


@pytest.mark.parametrize(
    ("row_bytes", "count", "expected"),
    [(16, 4, (4, 4)), (64, 4, (16, 4)), (128, 4, (32, 4)), (144, 4, (4, 4)), (128, 2, (16, 2))],
)
@pytest.mark.parametrize("transposed", ["", ".trans"])
def test_matrix_loads_and_stores(
    row_bytes: int, count: int, expected: tuple[int, int], transposed: str
) -> None:
    """Each 8x8 matrix is eight rows of 16 bytes: one wavefront if they lie in different banks."""
    shift = f"mul.lo.u32 %r0, %t, {row_bytes};"
    registers = ", ".join(f"%r{2 + i}" for i in range(count))
    form = f"sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    assert shared_access(f"ldmatrix.{form} {{{registers}}}, [%r1];", shift) == expected
    assert shared_access(f"stmatrix.{form} [%r1], {{{registers}}};", shift) == expected


def test_atomics_on_one_word_go_one_after_the_other() -> None:
    add = "atom.shared.add.u32 %r2, [%r1], 1;"
    assert shared_access(add, "mov.u32 %r0, 0;") == (32, 1)
    assert shared_access(add, "shl.b32 %r0, %t, 2;") == (1, 1)
