"""NVIDIA row-wise plans: every column once, reductions over exactly the threads of a row."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import ClusterRows, GpuRows
from kgen.spec import Rowwise
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.rowwise import RowwisePlan, plan_rowwise
from tests.specs import softmax_of

SM_80, SM_90A = ({t.name: t for t in TARGETS}[name] for name in ("sm_80", "sm_90a"))


def covered(plan: RowwisePlan, threads: int) -> Counter[int]:
    """Return the columns that the first fold reads, of 16-bit elements."""
    found: Counter[int] = Counter()
    width = plan.schedule.vector
    for first in range(threads):
        for body in plan.phases[0].bodies:
            if body.predicate != "has_last" or first < plan.last_limit:
                column = first * width + body.loads[0].nbytes // 2
                found.update(range(column, column + width))
    return found


@pytest.mark.parametrize("cols", [1, 2, 31, 32, 33, 64, 100, 513])
@pytest.mark.parametrize("per_row", [1, 4, 32])
def test_threads_cover_a_row_once(cols: int, per_row: int) -> None:
    schedule = GpuRows(num_threads=32, rows_per_block=32 // per_row, vector=1)
    if -(-cols // per_row) > 200:
        pytest.skip("does not fit into registers")
    plan = plan_rowwise(softmax_of(5, cols), SM_80, schedule)
    assert covered(plan, per_row) == Counter(range(cols))


@pytest.mark.parametrize("cols", [4, 1000, 1028, 4096])
@pytest.mark.parametrize("cluster", [2, 8])
def test_ctas_of_a_cluster_cover_a_row_once(cols: int, cluster: int) -> None:
    schedule = ClusterRows(num_threads=64, vector=4, cluster=cluster)
    plan = plan_rowwise(softmax_of(3, cols), SM_90A, schedule)
    assert plan.launches[0].grid == (cluster, 3, 1)
    assert plan.launches[0].cluster == (cluster, 1, 1)
    assert covered(plan, 64 * cluster) == Counter(range(cols))
    assert sum(plan.cluster_shuffles) == cluster - 1


def test_cluster_refusals() -> None:
    schedule = ClusterRows(num_threads=64, vector=4, cluster=2)
    with pytest.raises(
        ScheduleError, match="cluster=2 is more than 1, the largest cluster of sm_80; try cluster=1"
    ):
        plan_rowwise(softmax_of(3, 64), SM_80, schedule)
    with pytest.raises(
        ScheduleError,
        match="cluster=16 is more than 8, the largest cluster of sm_90a; try cluster=8",
    ):
        plan_rowwise(softmax_of(3, 64), SM_90A, schedule.override(cluster=16))
    with pytest.raises(
        ScheduleError,
        match="cluster=2 puts the 65536 rows along y of the grid, where sm_90a allows 65535",
    ):
        plan_rowwise(softmax_of(65536, 64), SM_90A, schedule)
    with pytest.raises(ScheduleError, match="cluster=2 needs rows_per_block=1 and resident=1"):
        schedule.override(resident=0)


@pytest.mark.parametrize("per_row", [1, 2, 16, 32, 64, 1024])
def test_butterflies_span_the_row(per_row: int) -> None:
    rows = max(1, 32 // per_row)
    schedule = GpuRows(num_threads=rows * per_row, rows_per_block=rows, vector=1)
    plan = plan_rowwise(softmax_of(1, 1024), SM_80, schedule.override(resident=0))
    assert sum(plan.shuffles) == min(per_row, 32) - 1
    assert plan.across_warps == (per_row > 32)
    assert sum(plan.warp_shuffles) == plan.num_warps - 1
    assert plan.shared_bytes == (8 * plan.num_warps if per_row > 32 else 0)


def test_a_fold_has_a_place_of_its_own_in_shared_memory() -> None:
    spec = Rowwise(expression="(amax(x) - amin(x)) / l2(x)", shapes=((3, 4096),))
    plan = plan_rowwise(spec, SM_80, GpuRows(num_threads=256, vector=8))
    assert plan.partials == {"max": 0, "min": 32, "sum": 64}
    assert plan.shared_bytes == 96


@pytest.mark.parametrize(
    ("fields", "cols", "message"),
    [
        (
            {"vector": 8},
            1004,
            "vector=8 is more than 4, the widest aligned access to rows of "
            "1004 elements; try vector=4",
        ),
        (
            {"rows_per_block": 2},
            64,
            "rows_per_block=2 with num_threads=128 gives each row 64 "
            "threads; the limit for rows that share a block is 32; try "
            "rows_per_block=1",
        ),
        (
            {"num_threads": 1024},
            131072,
            "a resident row of 131072 needs 128 registers per "
            "thread; sm_80 leaves 40 with 1024 threads per block; "
            "try resident=0",
        ),
        (
            {"num_threads": 96},
            64,
            "num_threads=96 is not a power of two; try num_threads=64 or num_threads=128",
        ),
    ],
)
def test_refusals(fields: dict[str, int], cols: int, message: str) -> None:
    schedule = GpuRows(num_threads=128).override(**fields)
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_rowwise(softmax_of(4, cols), SM_80, schedule)
