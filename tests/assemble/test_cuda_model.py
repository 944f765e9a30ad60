"""The cost model's estimate of registers, on which occupancy depends, against ptxas."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.schedule import MmaMatmul, WgmmaMatmul
from kgen.spec import DType, Math, Matmul
from kgen.targets.cuda.schedule.candidates import MMA_TILES
from kgen.targets.cuda.schedule.cost_model import predict
from kgen.targets.cuda.schedule.wgmma_candidates import WGMMA_TILES


@pytest.mark.parametrize("tile", MMA_TILES, ids=lambda t: "x".join(map(str, t)))
def test_registers_are_foreseen(tile: tuple[int, int, int, int]) -> None:
    m, n, warp_m, warp_n = tile
    schedule = MmaMatmul(
        block_m=m, block_n=n, block_k=64, warp_m=warp_m, warp_n=warp_n, num_stages=3
    )
    spec, target = Matmul(m=2048, n=2048, k=2048), targets.find("sm_80")
    real = pipeline.kernel(spec, target, schedule).assembled.resources
    assert real.registers is not None and real.spills == 0
    assert abs(predict(spec, target, schedule).registers - real.registers) <= 12


@pytest.mark.parametrize("tile", WGMMA_TILES, ids=lambda t: "x".join(map(str, t)))
def test_registers_of_warpgroups_are_foreseen(tile: tuple[int, int, int, bool]) -> None:
    """Two consumer warpgroups get all registers."""
    m, n, consumers, pingpong = tile
    schedule = WgmmaMatmul(
        block_m=m,
        block_n=n,
        block_k=64,
        num_stages=3,
        consumers=consumers,
        pingpong=pingpong,
        num_workgroups=132 * pingpong,
        tma_store=True,
    )
    spec, target = Matmul(m=2048, n=2048, k=2048), targets.find("sm_90a")
    real = pipeline.kernel(spec, target, schedule).assembled.resources
    assert real.registers is not None and real.spills == 0
    assert abs(predict(spec, target, schedule).registers - real.registers) <= 8


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_split_operands_leave_registers_for_sums(target: str) -> None:
    """3xtf32 has two sets of fragments, so the largest warp tile would spill."""
    spec = Matmul(m=4096, n=4096, k=4096, dtype=DType.F32, math=Math.TF32X3)
    assert pipeline.kernel(spec, targets.find(target)).assembled.resources.spills == 0
