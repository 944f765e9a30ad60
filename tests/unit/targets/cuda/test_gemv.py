"""Plans of a few rows: every product once, and what cannot be streamed."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule.gemv import GemvMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets import find
from kgen.targets.cuda.plan.gemv_limits import columns_of, gemv_depth, gemv_obstacle
from kgen.targets.cuda.plan.matmul_gemv import GemvPlan, plan_gemv
from kgen.targets.cuda.schedule.candidates import choose

SM_80 = find("sm_80")


def plan(threads: int = 256, columns: int | None = None, **fields: Any) -> GemvPlan:
    spec = Matmul(**({"m": 2, "n": 64, "k": 512} | fields))
    columns = columns or columns_of(spec, threads)[0]
    depth = gemv_depth(spec, threads, columns)
    schedule = GemvMatmul(block_m=spec.m, block_n=columns, block_k=depth, num_threads=threads)
    return plan_gemv(spec, SM_80, schedule)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_threads_multiply_every_element_of_b_once(layout: Layout, dtype: DType) -> None:
    """In one iteration, by all rows, for the right column and k."""
    found = plan(layout=layout, dtype=dtype)
    places: Counter[tuple[int, int]] = Counter()
    for thread in range(found.num_threads):
        if found.b.k_inner:
            col, k = thread // 32 * found.columns, thread % 32 * found.vector
        else:
            col = (thread & found.lanes_mask) * found.vector
            k = (thread >> found.lanes_log2) * found.vector
        for word in found.products:
            for fma in word.fmas:
                m, n = fma.total.removeprefix("sum_m").split("_n")
                a_m, a_k = fma.a.removeprefix("a_m").split("_k")
                assert a_m == m
                places[col + int(n), k + int(a_k)] += 1
    columns, depth = range(found.schedule.block_n), range(found.schedule.block_k)
    assert places == Counter(dict.fromkeys(product(columns, depth), 2))


def test_the_model_streams_what_lies_across_the_rows() -> None:
    assert isinstance(choose(Matmul(m=1, n=4096, k=4096), SM_80), GemvMatmul)
    assert not isinstance(choose(Matmul(m=16, n=4096, k=4096), SM_80), GemvMatmul)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"m": 9}, "m=9 is more than 8 rows"),
        ({"dtype": DType.S8}, "it multiplies f32, f16, bf16, not s8"),
        ({"layout": Layout.TN}, "k is not A's inner dimension"),
        ({"n": 63}, "b's rows are multiples of 2 bytes, not of 16"),
        ({"m": 1, "k": 511, "layout": Layout.NN}, "a's rows do not end with a whole 16 bytes"),
    ],
)
def test_what_cannot_be_streamed(fields: dict[str, Any], message: str) -> None:
    assert gemv_obstacle(Matmul(**({"m": 2, "n": 64, "k": 512} | fields))) == message


def test_schedules_that_do_not_fit() -> None:
    with pytest.raises(ScheduleError, match=r"block_n=64 is not one of the columns that .* try 32"):
        plan(columns=64)
    with pytest.raises(ScheduleError, match="num_threads=128 are too few for outputs in 8 rows"):
        plan(128, columns=32, m=8)
    wrong = plan().schedule.override(block_k=64)
    with pytest.raises(ScheduleError, match="block_k=64 is not what these threads and columns"):
        plan_gemv(Matmul(m=2, n=64, k=512), SM_80, wrong)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32])
@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
def test_eight_rows_do_not_spill(dtype: DType, layout: Layout) -> None:
    found = plan(m=8, dtype=dtype, layout=layout, epilogue=("bias", "gelu", "residual"))
    kernel = pipeline.kernel(found.spec, SM_80, found.schedule)
    assert kernel.assembled.resources.spills == 0
