"""Staging of outputs in shared memory: each once, where it is read again, without bank
conflicts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kgen.schedule import MmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.epilogue.staging import EpilogueStaging, StagedStrip
from kgen.targets.cuda.plan.mma.matmul import MmaPlan, plan_mma
from tests.unit.targets.cuda.staging.staging_addresses import run_address, unit_address

SM_80 = {target.name: target for target in TARGETS}["sm_80"]
BANK_BYTES, LINE_BYTES = 4, 128


def plan(warp_m: int = 32, warp_n: int = 32, **fields: Any) -> MmaPlan:
    schedule = MmaMatmul(
        block_m=64, block_n=256, block_k=16, num_stages=3, warp_m=warp_m, warp_n=warp_n
    )
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 64}
    return plan_mma(Matmul(**(sizes | fields)), SM_80, schedule)


def staging(*args: int, **fields: Any) -> EpilogueStaging:
    found = plan(*args, **fields).staging
    assert found is not None
    return found


def written(staging: EpilogueStaging, strip: StagedStrip) -> dict[int, tuple[int, int]]:
    """Return, by shared address, the row and column of a lane's output in the warp's tile."""
    found = {}
    products, itemsize = staging.products, staging.tile.itemsize
    for lane, run in product(range(32), strip.runs):
        row = run.row.offset + lane // 4 * products.a.stride
        for i, col in enumerate(run.column.elements):
            address = run_address(staging, lane, run.xor, run.shared) + itemsize * i
            assert address not in found
            found[address] = (row, col + lane % 4 * products.run)
    return found


@pytest.mark.parametrize("warp_n", [16, 32, 64, 128])
@pytest.mark.parametrize(("n", "width"), [(64, 8), (68, 4), (66, 2), (65, 1)])
def test_lines_hold_what_fragments_wrote(warp_n: int, n: int, width: int) -> None:
    found = staging(32, warp_n, n=n)
    assert found.width == width
    outputs = []
    for strip in found.strips:
        place = written(found, strip)
        for lane, unit in product(range(32), strip.units):
            row = unit.row + (lane >> found.units_per_row_log2)
            col = unit.col + (lane & found.unit_mask) * width
            for i in range(width):
                address = unit_address(found, lane, unit.xor, unit.shared) + 2 * i
                assert place[address] == (row, col + i)
                outputs.append((row, col + i))
            assert unit.nbytes == unit.row * n * 2 + unit.col * 2
    assert sorted(outputs) == list(product(range(32), range(warp_n)))


@pytest.mark.parametrize("warp_n", [16, 32, 64, 128])
def test_no_bank_is_wanted_twice(warp_n: int) -> None:
    """Words of a store by all lanes, and of a 16-byte load by each eight lanes, are in different
    banks."""
    found = staging(32, warp_n)
    strip = found.strips[0]
    for run in strip.runs:
        lanes = range(32)
        banks = {run_address(found, i, run.xor, run.shared) % LINE_BYTES for i in lanes}
        assert len(banks) == LINE_BYTES // BANK_BYTES
    for unit, first in product(strip.units, range(0, 32, 8)):
        group = range(first, first + 8)
        chunks = {unit_address(found, i, unit.xor, unit.shared) % LINE_BYTES for i in group}
        assert len(chunks) == LINE_BYTES // 16


def test_strips_are_as_high_as_the_stages_allow() -> None:
    shallow, deep = plan(k=16), plan(k=64)
    assert shallow.pipeline.nbytes < deep.pipeline.nbytes
    assert shallow.staging is not None and deep.staging is not None
    assert (shallow.staging.tile.rows, deep.staging.tile.rows) == (16, 16)
    assert staging(64, 16, k=512).tile.rows == 32
    tall = plan(64, 64, k=16)
    assert tall.shared_bytes == max(tall.pipeline.nbytes, 4 * 16 * 128)


def test_f32_outputs_fill_sectors_as_they_are() -> None:
    assert plan(out_dtype=DType.F32).staging is None
    assert plan(out_dtype=DType.BF16).staging is not None
