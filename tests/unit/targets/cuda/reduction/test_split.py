"""Split-k: parts cover K once, launches and workspace agree, sums are added in order, refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen.errors import ScheduleError
from kgen.pipeline import plan as make_plan
from kgen.pipeline import schedule_for
from kgen.schedule import SplitFmaMatmul, SplitMatmul, WgmmaMatmul
from kgen.spec import DType, Epilogue, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.matmul import MatmulPlan
from kgen.targets.cuda.plan.mma.matmul import MmaPlan
from kgen.targets.cuda.plan.reduction.k_slices import SplitSchedule
from kgen.targets.cuda.plan.reduction.split_k import SplitPlan, plan_split
from kgen.targets.cuda.plan.wgmma.matmul import WgmmaPlan
from kgen.targets.cuda.schedule.candidates import choose

SM_80 = {target.name: target for target in TARGETS}["sm_80"]
SM_90A = {target.name: target for target in TARGETS}["sm_90a"]
SPLIT = SplitMatmul(
    block_m=64, block_n=32, block_k=32, num_stages=3, warp_m=32, warp_n=16, split_k=4
)
FMA = SplitFmaMatmul(
    block_m=32, block_n=32, block_k=16, num_stages=2, thread_m=4, thread_n=2, split_k=4
)
RING = WgmmaMatmul(block_m=64, block_n=64, block_k=64, num_stages=4, consumers=1, split_k=4)


@pytest.mark.parametrize("schedule", [SPLIT, FMA], ids=["mma", "fma"])
@pytest.mark.parametrize("k", [512, 500, 481, 480, 392])
def test_parts_cover_k_once(k: int, schedule: SplitSchedule) -> None:
    """Parts have whole K-tiles, and the last one has the remainder, which is not empty: K of 480
    has fewer parts."""
    dtype = DType.F32 if schedule is FMA else DType.F16
    plan = plan_split(Matmul(m=64, n=64, k=k, batch=2, dtype=dtype), SM_80, schedule)
    part = plan.part
    assert isinstance(part, MatmulPlan)
    each = part.part_k
    assert part.split == schedule.split_k and each % schedule.block_k == 0
    assert 0 < k - each * (part.split - 1) <= each
    assert part.pipeline.k_tiles == each // schedule.block_k
    for operand in part.operands:
        assert operand.copy.access.depth == k and operand.copy.k_end == k
        assert operand.copy.later_k_edge == (k != 512)


def test_launches_and_workspace() -> None:
    spec = Matmul(m=100, n=200, k=512, beta=1.0, epilogue=(Epilogue.BIAS,))
    plan = plan_split(spec, SM_80, SPLIT)
    parts, sums = plan.launches
    assert (parts.grid, parts.arguments) == ((7, 2, 4), ("a", "b", "parts"))
    assert (sums.grid, sums.arguments) == ((625, 1, 1), ("parts", "c", "bias", "out"))
    assert (parts.entry_point, sums.entry_point) == (f"{spec.key}_parts", spec.key)
    (workspace,) = plan.workspaces
    assert workspace.name == "parts" and workspace.nbytes == 4 * 100 * 200 * 4
    assert [part.offset for part in plan.reduction.parts] == [i * 80000 for i in range(4)]


def test_sums_are_taken_in_the_order_of_k() -> None:
    plan = plan_split(Matmul(m=1024, n=66, k=512), SM_80, SPLIT)
    assert plan.reduction.threads.width == 2 and plan.reduction.num_threads == 128
    own = [(a.before, a.value) for a in plan.reduction.additions if a.to == "acc_m0_n1"]
    assert own == [
        ("part0_n1", "part1_n1"),
        ("acc_m0_n1", "part2_n1"),
        ("acc_m0_n1", "part3_n1"),
    ]


def test_few_outputs_are_summed_by_small_ctas() -> None:
    (_, sums) = plan_split(Matmul(m=64, n=64, k=512), SM_80, SPLIT).launches
    assert (sums.grid, sums.block) == ((128, 1, 1), (32, 1, 1))


def test_one_part_is_an_ordinary_kernel() -> None:
    spec = Matmul(m=64, n=64, k=512)
    assert isinstance(make_plan(spec, SM_80, SPLIT.override(split_k=1)), MmaPlan)
    assert isinstance(make_plan(spec, SM_80, SPLIT), SplitPlan)


def test_the_model_splits_deep_and_small_products() -> None:
    deep = choose(Matmul(m=64, n=64, k=8192), SM_80)
    assert isinstance(deep, SplitMatmul) and deep.split_k > 4
    for shape in ((4096, 4096, 4096), (256, 256, 256)):
        m, n, k = shape
        square = choose(Matmul(m=m, n=n, k=k), SM_80)
        assert isinstance(square, SplitMatmul) and square.split_k == 1


@pytest.mark.parametrize("shape", [(64, 64, 8192), (16, 4096, 4096), (64, 64, 8191)])
def test_the_model_splits_exact_f32(shape: tuple[int, int, int]) -> None:
    """Small outputs and small M use every SM, whatever K is."""
    m, n, k = shape
    chosen = choose(Matmul(m=m, n=n, k=k, dtype=DType.F32), SM_80)
    assert isinstance(chosen, SplitFmaMatmul)
    assert -(-m // chosen.block_m) * -(-n // chosen.block_n) * chosen.split_k >= 96


def test_parts_of_wgmma_read_whole_operands() -> None:
    spec = Matmul(m=100, n=200, k=904, batch=3, epilogue=(Epilogue.BIAS,))
    plan = plan_split(spec, SM_90A, RING)
    parts, sums = plan.launches
    assert (parts.grid, parts.arguments) == ((4, 2, 12), ("a_map", "b_map", "parts"))
    assert (sums.grid, sums.arguments) == ((625, 1, 3), ("parts", "bias", "out"))
    assert [map_.shape for map_ in plan.tensor_maps] == [(3, 100, 904), (3, 904, 200)]
    assert plan.workspaces[0].nbytes == 3 * 4 * 100 * 200 * 4
    assert isinstance(plan.part, WgmmaPlan)
    # 15 tiles in parts of 4, of which the last has a tile of zeros
    assert (plan.part.k_tiles, plan.part.part_k) == (4, 256)
    assert plan.reduction.matrix_bytes == 4 * 100 * 200 * 4


def test_the_model_splits_on_hopper_what_does_not_fill_it() -> None:
    """Parts run on idle SMs; a product that fills the GPU is not split."""
    for shape in ((512, 512, 8192), (512, 256, 16384), (512, 128, 16384)):
        m, n, k = shape
        deep = choose(Matmul(m=m, n=n, k=k), SM_90A)
        assert isinstance(deep, WgmmaMatmul) and deep.split_k > 1, shape
        ctas = -(-m // deep.block_m) * -(-n // deep.block_n) * deep.split_k
        assert 64 <= ctas <= 264, shape
    square = choose(Matmul(m=4096, n=4096, k=4096), SM_90A)
    assert isinstance(square, WgmmaMatmul) and square.split_k == 1


def test_split_k_alone_is_an_override() -> None:
    """Setting split_k turns off fields that it excludes, unless the user sets them, too."""
    spec = Matmul(m=4096, n=4096, k=4096)
    schedule = schedule_for(spec, SM_90A, {"split_k": 2})
    assert isinstance(schedule, WgmmaMatmul)
    assert (schedule.num_workgroups, schedule.tma_store, schedule.pingpong) == (0, False, False)
    make_plan(spec, SM_90A, schedule)


@pytest.mark.parametrize(
    ("fields", "split", "message"),
    [
        (
            {"k": 512},
            {"split_k": 5},
            "split_k=5 leaves slices of k=512 empty: 8 K-tiles of "
            "block_k=64, 2 to a slice, fill 4; try split_k=4",
        ),
        (
            {"k": 512},
            {"split_k": 16},
            "split_k=16 leaves slices of k=512 empty: 8 K-tiles of "
            "block_k=64, 1 to a slice, fill 8; try split_k=8",
        ),
        (
            {},
            {"num_workgroups": 132},
            "split_k=4 gives each slice a CTA of its own, and num_workgroups=132 "
            "asks for persistent CTAs; try num_workgroups=0,group_m=1",
        ),
        (
            {},
            {"tma_store": 1},
            "tma_store=1 is not possible: TMA stores 16-bit outputs here, "
            "and the output is f32; try tma_store=0",
        ),
    ],
)
def test_refusals_of_wgmma(fields: dict[str, Any], split: dict[str, int], message: str) -> None:
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 512}
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_split(Matmul(**(sizes | fields)), SM_90A, RING.override(**split))


@pytest.mark.parametrize(
    ("fields", "split", "message"),
    [
        (
            {"k": 128},
            5,
            "split_k=5 leaves slices of k=128 empty: 4 K-tiles of block_k=32, 1 to "
            "a slice, fill 4; try split_k=4",
        ),
        ({"m": 30000, "n": 30000}, 2, "split_k=2 needs 7200000000 B of workspace"),
    ],
)
def test_refusals(fields: dict[str, Any], split: int, message: str) -> None:
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 512}
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_split(Matmul(**(sizes | fields)), SM_80, SPLIT.override(split_k=split))
