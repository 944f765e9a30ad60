"""Bytes on tensor cores: transposition in registers, places of outputs, promotion."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from kgen import pipeline
from kgen.errors import ScheduleError, TargetError
from kgen.schedule import MmaMatmul, PromotedMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets import find
from kgen.targets.cuda.plan.mma.fragments import PIECE, MmaOperand
from kgen.targets.cuda.plan.mma.matmul import MmaPlan, plan_mma
from kgen.targets.cuda.plan.mma.products import ZERO
from tests.unit.targets.cuda.staging.staging_addresses import run_address, unit_address

EIGHT, LANES, LINE_BYTES = 8, range(32), 128
each_layout = pytest.mark.parametrize("layout", tuple(Layout))


def plan(warp_m: int = 32, warp_n: int = 32, target: str = "sm_80", **fields: Any) -> MmaPlan:
    schedule = MmaMatmul(
        block_m=64, block_n=128, block_k=64, num_stages=3, warp_m=warp_m, warp_n=warp_n
    )
    sizes: dict[str, Any] = {"m": 64, "n": 128, "k": 128, "dtype": DType.S8}
    return plan_mma(Matmul(**(sizes | fields)), find(target), schedule)


def stored_k(lane: int) -> int:
    """Return the row of a paired operand's tile that a lane passes to ldmatrix, as the template
    computes it."""
    upper, select, row = lane >> 4, lane >> 3 & 1, lane & 7
    return upper << 4 | (row >> 1) << 2 | (select ^ row >> 2) << 1 | row & 1


def prmt(a: tuple[Any, ...], b: tuple[Any, ...], selector: int) -> tuple[Any, ...]:
    """Return four of eight bytes, by the selector's nibbles from the lowest (PTX ISA, "prmt")."""
    return tuple((a + b)[selector >> 4 * i & 7] for i in range(4))


def selectors(lane: int) -> tuple[int, int]:
    return (0x2064, 0x3175) if lane & 2 else (0x6420, 0x7531)


@pytest.mark.parametrize("name", ["a", "b"])
def test_paired_fragments_become_those_of_mma(name: str) -> None:
    """After ldmatrix.trans on pairs and prmt, a register has four k of one row or column."""
    found = plan(layout=Layout.TN)
    operand = found.operands["ab".index(name)]
    assert operand.paired
    for load in operand.loads(32):
        assert ".x4.trans." in load.instruction
        _, free_name, _ = load.registers[0].split("_")
        free = int(free_name[1:])
        for lane in LANES:
            registers = [transposed(matrix, lane) for matrix in range(4)]
            for even, odd in ((0, 1), (2, 3)):
                pair = registers[even], registers[odd]
                for which, selector in zip((even, odd), selectors(lane), strict=True):
                    _, place, k_name = load.registers[which].split("_")
                    k = int(k_name[1:]) - operand.set_of(32) + lane % 4 * 4
                    own = int(place[1:]) - free + lane // 4 * operand.stride
                    wanted = tuple((k + i, own) for i in range(4))
                    assert prmt(*pair, selector) == wanted


def transposed(matrix: int, lane: int) -> tuple[tuple[int, int], ...]:
    """Return (k, row or column) of the bytes that ldmatrix.trans gives a lane of a matrix of
    byte pairs."""
    rows = [stored_k(matrix * 8 + lane % 4 * 2 + i) for i in (0, 1)]
    return tuple((k, lane // 4 * 2 + i) for k in rows for i in (0, 1))


@pytest.mark.parametrize("block_n", [16, 32, 64, 128, 256])
def test_rows_of_a_matrix_lie_in_different_banks(block_n: int) -> None:
    schedule = MmaMatmul(
        block_m=32, block_n=block_n, block_k=64, num_stages=2, warp_m=16, warp_n=16
    )
    spec = Matmul(m=32, n=256, k=128, dtype=DType.S8)
    _, b = plan_mma(spec, find("sm_80"), schedule).operands
    for load, matrix in product(b.loads(32), range(4)):
        chunks = {
            ((b.tile.swizzle(stored_k(lane) * block_n) ^ load.xor) + load.offset) % LINE_BYTES // 16
            for lane in range(8 * matrix, 8 * matrix + 8)
        }
        assert len(chunks) == 8


@each_layout
@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_every_output_gets_every_k_once(layout: Layout, target: str) -> None:
    found = plan(layout=layout, target=target)
    places: Counter[tuple[int, int]] = Counter()
    for lane in LANES:
        first = lane // 4 * found.operands[0].stride, lane % 4 * found.products.run
        for m, n in product(found.products.rows, found.products.cols):
            places[first[0] + m, first[1] + n] += 1
    assert places == Counter(product(range(32), range(32)))
    for step in found.k_steps:
        pairs = Counter(
            (d, k)
            for mma in step.mmas
            for d in mma.d
            for k in {register.split("_k")[1] for register in mma.b}
        )
        assert set(pairs.values()) == {1} and len(pairs) == 2 * 32 * 32 // 32


@each_layout
@pytest.mark.parametrize("out", [DType.S8, DType.F16])
@pytest.mark.parametrize("warp_n", [16, 32, 64])
def test_lines_hold_what_fragments_wrote(layout: Layout, out: DType, warp_n: int) -> None:
    """Words of a store, and chunks of an eighth of a load, are in different banks."""
    found = plan(32, warp_n, layout=layout, out_dtype=out).staging
    if layout.b_transposed or out is DType.S8:
        assert found is not None
    if found is None:
        return
    itemsize, products = found.tile.itemsize, found.products
    for strip in found.strips:
        place = {}
        for run in strip.runs:
            words = set()
            for lane in LANES:
                address = run_address(found, lane, run.xor, run.shared)
                words.add(address // 4)
                row = run.row.offset + lane // 4 * products.a.stride
                for i, col in enumerate(run.column.elements):
                    at = address + i * itemsize
                    assert at not in place
                    place[at] = (row, col + lane % 4 * products.run)
            assert len({word % 32 for word in words}) == len(words)
        for unit in strip.units:
            for lane in LANES:
                row = unit.row + (lane >> found.units_per_row_log2)
                col = unit.col + (lane & found.unit_mask) * found.width
                for i in range(found.width):
                    at = unit_address(found, lane, unit.xor, unit.shared) + i * itemsize
                    assert place.pop(at) == (row, col + i)
        assert not place


def promoted(**fields: int) -> MmaPlan:
    schedule = PromotedMatmul(
        block_m=64, block_n=64, block_k=128, num_stages=2, warp_m=32, warp_n=32
    ).override(**fields)
    return plan_mma(Matmul(m=64, n=64, k=512, dtype=DType.E4M3), find("sm_89"), schedule)


@pytest.mark.parametrize("interval", [32, 64, 128])
def test_short_sums_begin_with_zero_and_end_in_f32(interval: int) -> None:
    found = promoted(promote_k=interval)
    for step in found.k_steps:
        begins = {mma.c == (ZERO,) * 4 for mma in step.mmas}
        assert begins == {step.k % interval == 0}
        assert bool(step.promoted) == ((step.k + 32) % interval == 0)
        parts = {register for mma in step.mmas for register in mma.d}
        assert all(name.startswith("part_") for name in parts)
        assert {sum_.part for sum_ in step.promoted} in (set(), parts)
    assert f"every {interval} of k" in found.remarks[-1]


def test_promotion_can_be_left_out() -> None:
    found = promoted(promote_k=512)
    assert not found.promotes_every and not any(step.promoted for step in found.k_steps)
    assert found.k_steps[0].mmas[0].d[0].startswith("acc_")


@pytest.mark.parametrize("interval", [16, 96, 256])
def test_intervals_are_whole_steps_of_a_tile(interval: int) -> None:
    with pytest.raises(
        ScheduleError, match=f"promote_k={interval} is not a multiple of 32 that div"
    ):
        promoted(promote_k=interval)


def test_explain_says_how_bytes_become_k_major() -> None:
    remarks = "\n".join(plan(layout=Layout.NN).remarks)
    assert "B: k becomes the inner dimension in registers" in remarks
    assert "A: k becomes" not in remarks


def operand(name: str, **fields: Any) -> MmaOperand:
    return plan(**fields).operands["ab".index(name)]


def test_k_major_bytes_need_no_transposition() -> None:
    assert operand("a").parts == (0, PIECE // 2) and not operand("a").pairs(0)
    assert operand("b", layout=Layout.NT).stride == 1
    assert (operand("b").parts, operand("b").stride) == ((0, 1), 2)


@pytest.mark.parametrize("dtype", [DType.E4M3, DType.E5M2])
def test_older_targets_refuse_fp8(dtype: DType) -> None:
    spec = Matmul(m=64, n=64, k=64, dtype=dtype)
    with pytest.raises(TargetError, match=f"dtype={dtype} is not supported by sm_86 for matmul"):
        pipeline.plan(spec, find("sm_86"))
