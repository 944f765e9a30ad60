"""Plans of skinny GEMMs: every product once, and operands that are not supported."""

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
    """An iteration multiplies it by all rows, for the right column and k."""
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
        ({"m": 9}, "m=9 is more than 8"),
        ({"dtype": DType.S8}, "dtype=s8 is not one of f32, f16, bf16"),
        ({"layout": Layout.TN}, "layout=tn stores A transposed, and K must be contiguous in A"),
        ({"n": 63}, "rows of b start at multiples of 2 bytes, and must start at multiples of 16"),
        (
            {"m": 1, "k": 511, "layout": Layout.NN},
            "a row of a has 1022 bytes, which is not a multiple of 16",
        ),
    ],
)
def test_what_cannot_be_streamed(fields: dict[str, Any], message: str) -> None:
    assert gemv_obstacle(Matmul(**({"m": 2, "n": 64, "k": 512} | fields))) == message


def test_schedules_that_do_not_fit() -> None:
    with pytest.raises(
        ScheduleError, match="block_n=64 is not supported with num_threads=256; try block_n=32"
    ):
        plan(columns=64)
    with pytest.raises(
        ScheduleError,
        match="num_threads=128 is less than the outputs of one block tile of m=8 rows; try "
        "num_threads=256",
    ):
        plan(128, columns=32, m=8)
    wrong = plan().schedule.override(block_k=64)
    with pytest.raises(
        ScheduleError, match="block_k=64 does not match m=2, num_threads=256 and block_n=32, which"
    ):
        plan_gemv(Matmul(m=2, n=64, k=512), SM_80, wrong)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32])
@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
def test_eight_rows_do_not_spill(dtype: DType, layout: Layout) -> None:
    found = plan(m=8, dtype=dtype, layout=layout, epilogue=("bias", "gelu", "residual"))
    kernel = pipeline.kernel(found.spec, SM_80, found.schedule)
    assert kernel.assembled.resources.spills == 0
