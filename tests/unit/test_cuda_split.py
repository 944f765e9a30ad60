"""Split k: parts cover k once, launches and workspace agree, sums are taken in order, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kgen.errors import ScheduleError
from kgen.pipeline import plan as make_plan
from kgen.schedule import SplitMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cuda.candidates import choose
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.matmul_mma import MmaPlan
from kgen.targets.cuda.plan.split import SplitPlan, part_spec, plan_split

SM_80 = {target.name: target for target in TARGETS}["sm_80"]
SPLIT = SplitMatmul(
    block_m=64, block_n=32, block_k=32, num_stages=3, warp_m=32, warp_n=16, split_k=4
)


@pytest.mark.parametrize("layout", tuple(Layout))
def test_parts_multiply_their_own_k(layout: Layout) -> None:
    spec = Matmul(m=5, n=6, k=8, layout=layout, lda=9, ldb=10)
    part = part_spec(spec, 4)
    assert (part.k, part.batch, part.out) == (2, 4, DType.F32)
    generator = np.random.default_rng(1)
    a, b = generator.random(100), generator.random(100)

    def view(data: np.ndarray[Any, Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        return np.lib.stride_tricks.as_strided(data, shape, [8 * s for s in strides])

    whole = view(a, (5, 8), spec.a_strides[1:]) @ view(b, (8, 6), spec.b_strides[1:])
    parts = view(a, (4, 5, 2), part.a_strides) @ view(b, (4, 2, 6), part.b_strides)
    assert np.allclose(parts.sum(axis=0), whole)


def test_launches_and_workspace() -> None:
    spec = Matmul(m=100, n=200, k=512, beta=1.0, epilogue=(Epilogue.BIAS,))
    plan = plan_split(spec, SM_80, SPLIT)
    parts, sums = plan.launches
    assert (parts.grid, parts.arguments) == ((7, 2, 4), ("a", "b", "parts"))
    assert (sums.grid, sums.arguments) == ((1, 100, 1), ("parts", "c", "bias", "out"))
    assert (parts.entry_point, sums.entry_point) == (f"{spec.key}_parts", spec.key)
    (workspace,) = plan.workspaces
    assert workspace.name == "parts" and workspace.nbytes == 4 * 100 * 200 * 4
    assert [part.offset for part in plan.reduction.parts] == [i * 80000 for i in range(4)]


def test_sums_are_taken_in_the_order_of_k() -> None:
    plan = plan_split(Matmul(m=64, n=66, k=512), SM_80, SPLIT)
    assert plan.reduction.width == 2
    own = [(a.before, a.value) for a in plan.reduction.additions if a.to == "acc_m0_n1"]
    assert own == [
        ("part0_n1", "part1_n1"),
        ("acc_m0_n1", "part2_n1"),
        ("acc_m0_n1", "part3_n1"),
    ]


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


@pytest.mark.parametrize(
    ("fields", "split", "message"),
    [
        ({"k": 500}, 4, "split_k=4 does not cut k=500 in parts of whole tiles of block_k=32; try"),
        ({"batch": 2}, 4, "split_k=4 does not go with batch=2"),
        ({"m": 65536}, 2, "split_k=2 launches a row of blocks for each of m=65536; sm_80 allows"),
        ({"m": 30000, "n": 30000}, 2, "split_k=2 needs 7200000000 B of workspace"),
    ],
)
def test_refusals(fields: dict[str, Any], split: int, message: str) -> None:
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 512}
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_split(Matmul(**(sizes | fields)), SM_80, SPLIT.override(split_k=split))
