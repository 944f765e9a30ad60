"""Copies from global to shared memory: every element once, at the right address, in wide
accesses."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul, MmaMatmul
from kgen.spec import DType, Layout, Math, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.matmul_fma import FmaPlan, plan_fma
from kgen.targets.cuda.plan.mma.fragments import MmaOperand
from kgen.targets.cuda.plan.mma.matmul import MmaPlan, plan_mma
from kgen.targets.cuda.plan.staging.copy import TileCopy

SM_75 = {t.name: t for t in TARGETS}["sm_75"]
SM_80 = {t.name: t for t in TARGETS}["sm_80"]

LAYOUTS = ("nn", "nt", "tn", "tt")


def mma_plan(m: int = 65, n: int = 66, k: int = 67, **fields: Any) -> MmaPlan:
    spec = Matmul(m=m, n=n, k=k, **fields)
    schedule = MmaMatmul(block_m=64, block_n=32, block_k=32, num_stages=3, warp_m=32, warp_n=16)
    return plan_mma(spec, SM_80, schedule)


def fma_plan(m: int, n: int, k: int, **fields: Any) -> FmaPlan:
    spec = Matmul(m=m, n=n, k=k, **fields)
    schedule = FmaMatmul(block_m=32, block_n=64, block_k=16, num_stages=2, thread_m=2, thread_n=4)
    return plan_fma(spec, SM_80, schedule)


def elements(copy: TileCopy) -> Counter[tuple[int, int]]:
    """Return the tile's elements in units of all threads."""
    found: Counter[tuple[int, int]] = Counter()
    for thread, unit in product(range(copy.num_threads), copy.units):
        row, col = first_unit(copy, thread)
        for e in range(copy.unit_elements):
            found[row + unit.row, col + unit.col + e] += 1
    return found


def first_unit(copy: TileCopy, thread: int) -> tuple[int, int]:
    """Return the first unit by the template's shifts and masks."""
    row = thread >> copy.units_per_row_log2
    return row, (thread & copy.col_mask) << copy.unit_elements_log2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [64, 65, 66, 68])
def test_every_element_is_copied_once(layout: str, size: int) -> None:
    for plan in (
        mma_plan(size, size, size, layout=layout),
        fma_plan(size, size, size, layout=layout, dtype="f32"),
        fma_plan(size, size, size, layout=layout, dtype="bf16"),
    ):
        for operand in plan.operands:
            copy = operand.copy
            assert elements(copy) == Counter(product(range(copy.rows), range(copy.cols)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [64, 65, 66, 68])
def test_units_land_where_the_swizzle_says(layout: str, size: int) -> None:
    for operand in mma_plan(size, size, size, layout=layout).operands:
        copy, tile = operand.copy, operand.tile
        for thread, unit in product(range(copy.num_threads), copy.units):
            row, col = first_unit(copy, thread)
            first = tile.swizzle(row * tile.row_bytes + col * 2)
            wanted = tile.swizzle((row + unit.row) * tile.row_bytes + (col + unit.col) * 2)
            assert (first ^ unit.xor) + unit.shared == tile.base + wanted


@pytest.mark.parametrize("layout", LAYOUTS)
def test_global_distances_follow_the_strides(layout: str) -> None:
    plan = mma_plan(layout=layout, lda=100, ldb=104)
    for operand, ld in zip(plan.operands, (100, 104), strict=True):
        for unit in operand.copy.units:
            assert unit.source == 2 * (unit.row * ld + unit.col)
        along_row = operand.copy.matrix.k_inner
        assert operand.copy.k_step == 2 * (32 if along_row else 32 * ld)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [64, 65, 68])
def test_fma_stores_put_each_element_at_its_place(layout: str, size: int) -> None:
    for operand in fma_plan(size, size, size, layout=layout, dtype="f16").operands:
        for unit in operand.copy.units:
            found = {}
            for store in operand.stores(unit):
                for i, register in enumerate(store.registers):
                    found[register] = store.offset + 4 * i
            for e, register in enumerate(operand.elements):
                assert found[register] == operand.tile.place(unit.row, unit.col + e)[1]


@pytest.mark.parametrize(
    ("fields", "width", "asynchronous"),
    [
        ({"k": 64}, 16, True),
        ({"k": 68}, 8, True),
        ({"k": 66}, 4, True),
        ({"k": 67}, 2, False),
        ({"k": 67, "lda": 72}, 16, True),
        ({"k": 67, "m": 1}, 16, True),  # a single row has no stride
        ({"k": 64, "batch": 2, "batch_stride_a": 65 * 64 + 1}, 2, False),
        ({"k": 64, "batch": 2, "batch_stride_a": 0}, 16, True),
    ],
)
def test_width_follows_alignment(fields: dict[str, int], width: int, asynchronous: bool) -> None:
    copy = mma_plan(**fields).operands[0].copy
    assert (copy.unit_bytes, copy.asynchronous) == (width, asynchronous)


def test_every_source_is_aligned_even_beyond_the_matrix() -> None:
    """cp.async requires an aligned address even if it reads nothing."""
    for fields in ({"m": 1}, {"k": 1, "layout": "tn"}, {"lda": 72}, {"k": 68}):
        copy = mma_plan(**fields).operands[0].copy
        assert {unit.source % copy.unit_bytes for unit in copy.units} == {0}
        assert copy.matrix.row_stride % copy.unit_bytes == 0


def test_units_through_registers_never_straddle_the_edge() -> None:
    schedule = MmaMatmul(block_m=64, block_n=32, block_k=32, num_stages=2, warp_m=32, warp_n=16)
    spec = Matmul(m=64, n=64, k=68, lda=72)
    (copy, _) = (o.copy for o in plan_mma(spec, SM_75, schedule).operands)
    assert not copy.asynchronous and copy.unit_bytes == 8
    assert copy.access.run % copy.unit_elements == 0
    (copy, _) = (o.copy for o in plan_mma(spec, SM_80, schedule).operands)
    assert copy.asynchronous and copy.unit_bytes == 16
    assert copy.access.run % copy.unit_elements != 0


def test_edges_only_where_the_tile_does_not_divide() -> None:
    a, b = (operand.copy for operand in mma_plan(64, 64, 64).operands)
    assert not any(c.k_edge or c.free_edge for c in (a, b))
    a, b = (operand.copy for operand in mma_plan(64, 65, 64).operands)
    assert not (a.k_edge or a.free_edge) and (b.k_edge, b.free_edge) == (False, True)
    a, b = (operand.copy for operand in mma_plan(64, 64, 65).operands)
    assert (a.k_edge, a.free_edge, b.k_edge, b.free_edge) == (True, False, True, False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("k", "first"), [(64, 0), (72, 8), (100, 4), (67, 3)])
def test_the_incomplete_tile_comes_first(layout: str, k: int, first: int) -> None:
    for operand in mma_plan(64, 64, k, layout=layout).operands:
        copy = operand.copy
        assert copy.first_k == first and not copy.later_k_edge
        item = 2 if copy.matrix.k_inner else copy.matrix.row_stride
        assert copy.first_k_step == (first or 32) * item
        assert copy.first_k_step % copy.unit_bytes == 0


def test_the_incomplete_tile_comes_last_where_units_would_lose_alignment() -> None:
    a, b = (operand.copy for operand in mma_plan(64, 64, 67, lda=72).operands)
    assert a.unit_bytes == 16 and (a.first_k, b.first_k) == (0, 0)
    assert a.later_k_edge and b.later_k_edge


def test_bytes_along_the_free_dimension_are_counted_once_per_distance() -> None:
    plan = mma_plan(65, 66, 64, ldb=72)
    a, b = (operand.copy for operand in plan.operands)
    assert [g.register for g in a.guards] == [f"a_row{u.row}_bytes" for u in a.units]
    assert [g.register for g in b.guards] == ["b_col0_bytes"] and len(b.units) == 1
    assert a.free_bytes(a.units[1]) == f"%{a.guards[1].register}"
    assert mma_plan(64, 64, 64).operands[0].copy.free_bytes(a.units[0]) == "16"


def test_rows_far_apart_take_an_addition() -> None:
    near = mma_plan(64, 64, 64, lda=2**20).operands[0].copy
    assert not near.far and near.source(near.units[1]) == f"%a_from+{near.units[1].source}"
    far = mma_plan(64, 64, 64, lda=2**28).operands[0].copy
    assert far.far and far.source(far.units[1]) == "%from"
    assert far.units[1].source == 2 * 2**28 * far.units[1].row


def test_narrower_units_when_threads_outnumber_wide_ones() -> None:
    copy = fma_plan(64, 64, 64, dtype="f16").operands[0].copy
    assert copy.rows * copy.cols * 2 // 16 < copy.num_threads
    assert copy.unit_bytes == 4 and len(copy.units) == 1


def test_a_tile_smaller_than_its_threads_is_refused() -> None:
    schedule = FmaMatmul(block_m=8, block_n=64, block_k=8, num_stages=2, thread_m=1, thread_n=4)
    with pytest.raises(
        ScheduleError,
        match="a tile of 8x8 elements of a has fewer elements "
        "than the 128 threads that load it; try block_k=16",
    ):
        plan_fma(Matmul(m=8, n=64, k=8, dtype=DType.F32), SM_80, schedule)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ldmatrix_brings_the_fragments_of_the_instruction(layout: str) -> None:
    """PTX ISA, mma.m16n8k16: A element 2j+i of lane l is row l/4 (+8), k 2(l%4)+i (+8); B's is k
    2(l%4)+i (+8), column l/4. ldmatrix gives lane l row l/4 (of the transpose with .trans) at
    2(l%4), 2(l%4)+1 of the 8x8 matrix whose rows lanes 8j to 8j+7 address."""
    plan = mma_plan(64, 64, 64, layout=layout)
    for operand in plan.operands:
        for k in operand.k_steps:
            for load in operand.loads(k):
                check_fragments(operand, k, load.registers, load.xor, load.offset)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f32_fragments_are_those_of_m16n8k8(layout: str) -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k8" (tf32): lane l holds row l/4 (+8) of A and column
    l/4 of B at k l%4 (+4). By ldmatrix a row of 16 bytes is four of them, one for each lane."""
    spec = Matmul(m=64, n=64, k=64, dtype=DType.F32, math=Math.TF32, layout=Layout(layout))
    schedule = MmaMatmul(block_m=64, block_n=32, block_k=16, num_stages=3, warp_m=32, warp_n=16)
    for operand in plan_mma(spec, SM_80, schedule).operands:
        k_inner, tile = operand.copy.matrix.k_inner, operand.tile
        assert operand.gathered == (not k_inner)
        for k in operand.k_steps:
            parts = [
                (load, *each) for load in operand.loads(k) for each in enumerate(load.registers)
            ]
            for load, j, register in parts:
                free, k_half = (int(part[1:]) for part in register.split("_")[1:])
                half = k_half % 8
                banks = set()
                for lane in range(32):
                    if operand.gathered:
                        first = tile.swizzle(lane % 4 * tile.row_bytes + lane // 4 * 4)
                        address = (first ^ load.xor) + load.offset
                    else:
                        row = lane_address(operand, 8 * j + lane // 4) ^ load.xor
                        address = row + load.offset + lane % 4 * 4
                    banks.add(address // 4 % 32)
                    place = (free + lane // 4, k + half + lane % 4)
                    row, col = place if k_inner else place[::-1]
                    assert address == tile.base + tile.swizzle(row * tile.row_bytes + 4 * col)
                assert len(banks) == 32


def check_fragments(
    operand: MmaOperand, k: int, registers: tuple[str, ...], xor: int, offset: int
) -> None:
    k_inner = operand.copy.matrix.k_inner
    tile = operand.tile
    for j, register in enumerate(registers):
        free, k_half = (int(part[1:]) for part in register.split("_")[1:])
        for r in range(8):
            address = (lane_address(operand, 8 * j + r) ^ xor) + offset
            half = k_half % 16  # two sets of registers take turns
            row, column = (free + r, k + half) if k_inner else (k + half + r, free)
            assert address == tile.base + tile.swizzle(row * tile.row_bytes + 2 * column)


def lane_address(operand: MmaOperand, lane: int) -> int:
    """Return the address that the template computes for the first warp."""
    row = (lane & 7) + 8 * (lane >> operand.row_half_bit & 1)
    offset = row * operand.tile.row_bytes + 16 * (lane >> operand.col_half_bit & 1)
    return operand.tile.swizzle(offset)
