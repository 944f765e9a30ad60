"""Stream plans: every element once."""

from __future__ import annotations

from collections import Counter

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import GpuStream
from kgen.spec import DType
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
                    assert all(load.nbytes == access.stores[0].nbytes for load in access.loads)
                    byte = block * block_bytes + thread * vector_bytes + access.stores[0].nbytes
                    found.update(range(byte // 2, byte // 2 + 8))
            if block == plan.last_block and thread < plan.stream.rest:
                found[plan.rest_start + thread] += 1
    assert found == Counter(range(elements))


def test_a_stream_without_edges_has_no_edge_code() -> None:
    plan = plan_elementwise(relu_of((4096,)), SM_80, GpuStream(num_threads=256, vector=8))
    assert not plan.guarded and plan.stream.rest == 0


def test_stream_refusals() -> None:
    with pytest.raises(
        ScheduleError,
        match="vector=8 is more than 4: an access has at most 16 "
        "bytes and divides a row of each input; try "
        "vector=4",
    ):
        plan_elementwise(relu_of((8,), dtype=DType.F32), SM_80, GpuStream(num_threads=32, vector=8))
    with pytest.raises(ScheduleError, match="needs 34359738368 blocks; sm_80 allows 2147483647"):
        plan_elementwise(relu_of((2**40,)), SM_80, GpuStream(num_threads=32, vector=1))
    with pytest.raises(
        ScheduleError,
        match="num_threads=48 is not a power of two; try num_threads=32 or num_threads=64",
    ):
        plan_elementwise(relu_of((8,)), SM_80, GpuStream(num_threads=48, vector=1))
    with pytest.raises(
        ScheduleError,
        match="the schedule has 16 threads per block; sm_80 requires a multiple of 32 and allows "
        "1024; try num_threads=256",
    ):
        plan_elementwise(relu_of((8,)), SM_80, GpuStream(num_threads=16, vector=1))
