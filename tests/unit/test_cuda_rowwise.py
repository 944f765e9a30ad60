"""Stream and softmax plans: every element once, reductions over exactly the threads of a row."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from kgen.targets.cuda.plan.softmax import plan_softmax

from kgen.errors import ScheduleError
from kgen.schedule import ClusterSoftmax, GpuSoftmax, GpuStream
from kgen.spec import DType, Softmax
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.elementwise import plan_elementwise
from tests.specs import relu_of

SM_80, SM_90A = ({t.name: t for t in TARGETS}[name] for name in ("sm_80", "sm_90a"))


@pytest.mark.parametrize("elements", [1, 7, 8, 255, 256, 257, 1024, 1027, 2048])
@pytest.mark.parametrize("unroll", [1, 2])
def test_a_stream_covers_every_element_once(elements: int, unroll: int) -> None:
    schedule = GpuStream(num_threads=32, vector=8, unroll=unroll)
    plan = plan_elementwise(relu_of((elements,)), SM_80, schedule)
    ((vector_bytes, block_bytes, walked),) = plan.walks
    assert walked == (("x", "out") if elements > 1 else ("out",))
    found: Counter[int] = Counter()
    for block in range(plan.launches[0].grid[0]):
        for thread in range(32):
            first = block * plan.block_vectors + thread
            for access in plan.accesses:
                if not plan.guarded or plan.stream.vectors - first > access.vectors:
                    assert all(load.nbytes == access.out_bytes for load in access.loads)
                    byte = block * block_bytes + thread * vector_bytes + access.out_bytes
                    found.update(range(byte // 2, byte // 2 + 8))
            if block == plan.last_block and thread < plan.stream.rest:
                found[plan.rest_start + thread] += 1
    assert found == Counter(range(elements))


def test_a_stream_without_edges_has_no_edge_code() -> None:
    plan = plan_elementwise(relu_of((4096,)), SM_80, GpuStream(num_threads=256, vector=8))
    assert not plan.guarded and plan.stream.rest == 0


def test_stream_refusals() -> None:
    with pytest.raises(ScheduleError, match=r"vector=8 is more than one access .* try vector=4"):
        plan_elementwise(relu_of((8,), dtype=DType.F32), SM_80, GpuStream(num_threads=32, vector=8))
    with pytest.raises(ScheduleError, match="needs 34359738368 blocks; sm_80 allows 2147483647"):
        plan_elementwise(relu_of((2**40,)), SM_80, GpuStream(num_threads=32, vector=1))
    with pytest.raises(ScheduleError, match="num_threads=48 is not a power of two; try 32 or 64"):
        plan_elementwise(relu_of((8,)), SM_80, GpuStream(num_threads=48, vector=1))
    with pytest.raises(ScheduleError, match="16 threads per block; sm_80 takes multiples of 32"):
        plan_elementwise(relu_of((8,)), SM_80, GpuStream(num_threads=16, vector=1))


@pytest.mark.parametrize("cols", [1, 2, 31, 32, 33, 64, 100, 513])
@pytest.mark.parametrize("per_row", [1, 4, 32])
def test_softmax_threads_cover_a_row_once(cols: int, per_row: int) -> None:
    schedule = GpuSoftmax(num_threads=32, rows_per_block=32 // per_row, vector=1)
    if -(-cols // per_row) > 200:
        pytest.skip("does not fit into registers")
    plan = plan_softmax(Softmax(rows=5, cols=cols), SM_80, schedule)
    found: Counter[int] = Counter()
    for thread in range(32):
        column = thread & plan.column_mask
        for vector in plan.vectors:
            if vector.predicate != "has_last" or column < plan.last_limit:
                found[column + vector.in_bytes // 2] += 1
    rows = 32 // per_row
    assert found == Counter(dict.fromkeys(range(cols), rows))


@pytest.mark.parametrize("cols", [4, 1000, 1028, 4096])
@pytest.mark.parametrize("cluster", [2, 8])
def test_ctas_of_a_cluster_cover_a_row_once(cols: int, cluster: int) -> None:
    schedule = ClusterSoftmax(num_threads=64, vector=4, cluster=cluster)
    plan = plan_softmax(Softmax(rows=3, cols=cols), SM_90A, schedule)
    assert plan.launches[0].grid == (cluster, 3, 1)
    assert plan.launches[0].cluster == (cluster, 1, 1)
    found: Counter[int] = Counter()
    for first in range(64 * cluster):
        for vector in plan.vectors:
            if vector.predicate != "has_last" or first < plan.last_limit:
                found.update(
                    range(4 * first + vector.in_bytes // 2, 4 * first + vector.in_bytes // 2 + 4)
                )
    assert found == Counter(range(cols))
    assert sum(plan.cluster_shuffles) == cluster - 1


def test_cluster_refusals() -> None:
    schedule = ClusterSoftmax(num_threads=64, vector=4, cluster=2)
    with pytest.raises(ScheduleError, match="cluster=2: sm_80 takes up to 1; try cluster=1"):
        plan_softmax(Softmax(rows=3, cols=64), SM_80, schedule)
    with pytest.raises(ScheduleError, match="cluster=16: sm_90a takes up to 8; try cluster=1"):
        plan_softmax(Softmax(rows=3, cols=64), SM_90A, schedule.override(cluster=16))
    with pytest.raises(ScheduleError, match=r"cluster=2: 65536 rows .* more than 65535"):
        plan_softmax(Softmax(rows=65536, cols=64), SM_90A, schedule)
    with pytest.raises(ScheduleError, match="cluster=2 needs rows_per_block=1 and resident=1"):
        schedule.override(resident=0)


@pytest.mark.parametrize("per_row", [1, 2, 16, 32, 64, 1024])
def test_butterflies_span_the_row(per_row: int) -> None:
    rows = max(1, 32 // per_row)
    schedule = GpuSoftmax(num_threads=rows * per_row, rows_per_block=rows, vector=1)
    plan = plan_softmax(Softmax(rows=1, cols=1024), SM_80, schedule.override(resident=0))
    assert sum(plan.shuffles) == min(per_row, 32) - 1
    assert plan.across_warps == (per_row > 32)
    assert sum(plan.warp_shuffles) == plan.num_warps - 1
    assert plan.shared_bytes == (8 * plan.num_warps if per_row > 32 else 0)


@pytest.mark.parametrize(
    ("fields", "cols", "message"),
    [
        ({"vector": 8}, 1004, "vector=8 does not keep rows of 1004 elements aligned; try vector=4"),
        ({"rows_per_block": 2}, 64, "rows share a block only with up to 32 each; try rows_per_"),
        ({"num_threads": 1024}, 131072, "needs 128 registers per thread; sm_80 has 40"),
        ({"num_threads": 96}, 64, "num_threads=96 is not a power of two; try 64"),
    ],
)
def test_softmax_refusals(fields: dict[str, int], cols: int, message: str) -> None:
    schedule = GpuSoftmax(num_threads=128).override(**fields)
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_softmax(Softmax(rows=4, cols=cols), SM_80, schedule)
