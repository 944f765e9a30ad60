"""AMD matmul plans: the K loop, covered outputs, limits with a remedy that works."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul, GpuStream, MmaMatmul, Schedule
from kgen.spec import DType, Matmul, Spec
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.plan import plan
from kgen.targets.amdgpu.plan.elementwise import ElementwisePlan
from kgen.targets.amdgpu.plan.matmul import fma as fma_loop
from kgen.targets.amdgpu.plan.matmul import mma as mma_loop
from kgen.targets.amdgpu.plan.matmul.fma import FmaPlan
from kgen.targets.amdgpu.plan.matmul.k_loop import PROLOGUE, START, KLoop
from kgen.targets.amdgpu.plan.matmul.mma import MmaPlan
from kgen.targets.base import Target
from tests.specs import relu_of

TARGETS = {t.name: t for t in FAMILY.targets}
GFX942, GFX950, GFX1100 = TARGETS["gfx942"], TARGETS["gfx950"], TARGETS["gfx1100"]
MMA = MmaMatmul(block_m=64, block_n=64, block_k=32, warp_m=32, warp_n=32)
FMA = FmaMatmul(block_m=64, block_n=64, block_k=16, thread_m=4, thread_n=4)


@given(full=st.integers(0, 9), rest=st.integers(0, 3), stages=st.integers(1, 2))
def test_every_tile_is_loaded_and_multiplied_once(full: int, rest: int, stages: int) -> None:
    """Steps are simulated in the template's order, on LDS stages that record their tile."""
    if full == rest == 0:
        return
    walk = KLoop(full=full, rest=rest, stages=stages)
    lds: list[int | None] = [None] * stages
    multiplied = []
    lds[0] = 0
    steps = [*walk.peeled, *walk.loop * walk.trips, *walk.behind_loop]
    for tile, step in enumerate(steps, 1):
        multiplied.append(lds[step.reads])
        lds[step.fills] = tile
    multiplied.append(lds[walk.last.reads])
    tiles = full + (rest > 0)
    assert multiplied == list(range(tiles))
    assert walk.first_is_partial == (full == 0)
    assert len(walk.behind_loop) == walk.has_tail


@given(full=st.integers(0, 9), rest=st.integers(0, 3), stages=st.integers(1, 2))
def test_a_step_goes_on_from_the_one_before(full: int, rest: int, stages: int) -> None:
    if full == rest == 0:
        return
    walk = KLoop(full=full, rest=rest, stages=stages)
    before = PROLOGUE
    for step in (*walk.peeled, *walk.loop, *walk.behind_loop, walk.last):
        assert step.before == (START if step in walk.loop[:1] else before)
        assert step.source == (None if step.before == PROLOGUE else step.before)
        before = step.name


def mma(spec: Matmul, target: Target = GFX942, schedule: MmaMatmul = MMA) -> MmaPlan:
    made = plan(spec, target, schedule)
    assert isinstance(made, MmaPlan)
    return made


def fma(spec: Matmul, schedule: FmaMatmul = FMA) -> FmaPlan:
    made = plan(spec, GFX942, schedule)
    assert isinstance(made, FmaPlan)
    return made


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("warp", [(16, 16), (32, 32), (64, 32)])
def test_mma_pieces_cover_the_block_once(target: str, warp: tuple[int, int]) -> None:
    schedule = MmaMatmul(block_m=64, block_n=64, block_k=32, warp_m=warp[0], warp_n=warp[1])
    p = mma(Matmul(m=64, n=64, k=64), TARGETS[target], schedule)
    i, places = p.instruction, []
    for thread in range(p.threads):
        lane, wave = thread & p.wave_mask, thread >> p.wave_shift
        row = wave // p.waves_n * warp[0] + (lane >> p.row_shift) * i.lane_rows
        column = wave % p.waves_n * warp[1] + (lane & p.row_mask) * p.interleave
        for (_, _, first), piece, e in product(p.m_rows, p.columns, range(p.interleave)):
            places.append((row + first, column + piece + e))
    assert sorted(places) == sorted(product(range(64), range(64)))


@pytest.mark.parametrize("n", [64, 66, 65])
@pytest.mark.parametrize("thread", [(4, 4), (8, 2), (3, 8), (6, 1)])
def test_fma_pieces_cover_the_block_once(thread: tuple[int, int], n: int) -> None:
    schedule = FmaMatmul(block_m=24, block_n=32, block_k=48, thread_m=thread[0], thread_n=thread[1])
    p = fma(Matmul(m=64, n=n, k=64, dtype=DType.F32), schedule)
    lanes, places = p.epilogue.value.lanes, []
    assert n % lanes == 0
    for t in range(p.threads):
        row = t // p.n.threads * p.m.vector
        column = t % p.n.threads * p.n.vector
        for m, c, lane in product(p.m.rows, p.columns, range(lanes)):
            places.append((row + m, column + c.first + lane))
    assert sorted(places) == sorted(product(range(24), range(32)))


def test_only_what_is_ragged_is_guarded() -> None:
    even = mma(Matmul(m=128, n=64, k=64))
    assert not even.epilogue.guarded
    assert not (even.a.ragged_rows or even.b.ragged_rows or even.k_loop.has_tail)
    rows = mma(Matmul(m=127, n=64, k=64))
    assert (rows.epilogue.ragged_rows, rows.epilogue.ragged_columns) == (True, False)
    assert (rows.a.ragged_rows, rows.b.ragged_rows) == (True, False)
    depth = mma(Matmul(m=128, n=64, k=65))
    assert not depth.epilogue.guarded
    assert depth.k_loop.has_tail
    assert depth.a.k_rest == 1


def test_launch_covers_the_output() -> None:
    p = mma(Matmul(m=127, n=131, k=64, batch=3))
    assert p.launches[0].grid == (3, 2, 3)
    assert p.launches[0].block == (256, 1, 1)
    tile = p.launches[0].tile
    assert tile is not None
    assert (tile.shape, tile.extent, tile.axes) == ((3, 127, 131), (1, 64, 64), (2, 1, 0))


@settings(max_examples=60)
@given(
    elements=st.integers(1, 5000),
    vector=st.sampled_from([1, 2, 8]),
    unroll=st.integers(1, 3),
)
def test_a_stream_covers_the_tensor_once(elements: int, vector: int, unroll: int) -> None:
    schedule = GpuStream(num_threads=64, vector=vector, unroll=unroll)
    p = plan(relu_of((elements,)), GFX942, schedule)
    assert isinstance(p, ElementwisePlan)
    done: list[int] = []
    for block, thread in product(range(p.launches[0].grid[0]), range(p.threads)):
        for first in p.accesses:
            index = block * p.block_vectors + thread + first
            if not p.guarded or index < p.stream.vectors:
                done += range(index * vector, (index + 1) * vector)
        if block == p.last_block and thread < p.stream.rest:
            done.append(p.rest_start + thread)
    assert sorted(done) == list(range(elements))


#: (spec, target, schedule that does not fit, what the message must say)
MISFITS: tuple[tuple[Spec, Target, Schedule, str], ...] = (
    (
        Matmul(m=512, n=512, k=512),
        GFX942,
        MmaMatmul(block_m=256, block_n=256, block_k=64, num_stages=2, warp_m=64, warp_n=64),
        "block_m=256, block_n=256, block_k=64 and num_stages=2 need 131072 B of LDS; gfx942 "
        "allows 65536 B; try num_stages=1",
    ),
    (
        Matmul(m=512, n=512, k=512),
        GFX942,
        MmaMatmul(block_m=256, block_n=256, block_k=128, num_stages=2, warp_m=64, warp_n=64),
        "block_m=256, block_n=256, block_k=128 and num_stages=2 need 262144 B of LDS; gfx942 "
        "allows 65536 B; try block_k=32",
    ),
    (
        Matmul(m=512, n=512, k=512),
        GFX942,
        MmaMatmul(block_m=256, block_n=256, block_k=32, warp_m=32, warp_n=32),
        r"4096 threads per workgroup; gfx942 allows 1024; try warp_m=128",
    ),
    (
        Matmul(m=64, n=64, k=64),
        GFX942,
        MmaMatmul(block_m=64, block_n=64, block_k=32, warp_m=8, warp_n=32),
        "warp_m=8 x warp_n=32 is not a multiple of the 16x16 matrix instructions of gfx942; try"
        " warp_m=16,warp_n=32",
    ),
    (
        Matmul(m=64, n=64, k=64),
        GFX942,
        MmaMatmul(block_m=64, block_n=64, block_k=24, warp_m=32, warp_n=32),
        r"try block_k=32",
    ),
    (
        Matmul(m=64, n=64, k=64),
        GFX942,
        MmaMatmul(block_m=64, block_n=64, block_k=32, num_stages=3, warp_m=32, warp_n=32),
        r"try num_stages=2",
    ),
    (
        Matmul(m=512, n=512, k=64),
        GFX1100,
        MmaMatmul(block_m=128, block_n=128, block_k=32, warp_m=128, warp_n=128),
        r"512 accumulators per lane; gfx1100 has 256 registers; try warp_m=32",
    ),
    (
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        GFX942,
        FmaMatmul(block_m=128, block_n=128, block_k=128, thread_m=8, thread_n=8),
        "block_m=128, block_n=128, block_k=128 and num_stages=1 need 131072 B of LDS; gfx942 "
        "allows 65536 B; try block_k=64",
    ),
    (
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        GFX942,
        FmaMatmul(block_m=128, block_n=128, block_k=16, thread_m=2, thread_n=2),
        r"4096 threads .* try thread_m=",
    ),
    (relu_of((9,)), GFX942, GpuStream(num_threads=2048, vector=8), r"try num_threads=1024"),
    (relu_of((9,)), GFX942, GpuStream(num_threads=64, vector=16), r"try vector=8"),
)


@pytest.mark.parametrize("spec, target, schedule, words", MISFITS)
def test_misfits_name_the_limit_and_a_remedy(
    spec: Spec, target: Target, schedule: Schedule, words: str
) -> None:
    with pytest.raises(ScheduleError, match=words) as error:
        plan(spec, target, schedule)
    message = str(error.value)
    assert "\n" not in message
    remedy = dict(re.findall(r"(\w+)=(\d+)", message.partition("; try ")[2]))
    if " or " not in message and remedy:
        plan(spec, target, schedule.override(**{k: int(v) for k, v in remedy.items()}))


def test_lds_bytes_are_those_of_the_tiles() -> None:
    even = mma(Matmul(m=64, n=64, k=64))
    assert mma_loop.lds_bytes(even.spec, MMA) == even.a.tile.nbytes + even.b.tile.nbytes
    scalar = fma(Matmul(m=64, n=64, k=64))
    assert fma_loop.lds_bytes(FMA, GFX942) == scalar.a.tile.nbytes + scalar.b.tile.nbytes


def test_gfx950_has_more_lds() -> None:
    schedule = MmaMatmul(block_m=256, block_n=128, block_k=64, num_stages=2, warp_m=64, warp_n=64)
    spec = Matmul(m=512, n=512, k=512)
    with pytest.raises(ScheduleError):
        plan(spec, GFX942, schedule)
    assert mma(spec, GFX950, schedule).a.tile.nbytes == 2 * 256 * 64 * 2


def test_a_schedule_of_another_operation_is_refused() -> None:
    with pytest.raises(ScheduleError, match=r"gfx942 does not support mainloop=\w+ .* for matmul"):
        plan(Matmul(m=1, n=1, k=1), GFX942, GpuStream(num_threads=64, vector=1))


def test_mma_is_refused_where_there_are_no_matrix_instructions() -> None:
    with pytest.raises(ScheduleError, match="gfx1030"):
        plan(Matmul(m=64, n=64, k=64, dtype=DType.BF16), TARGETS["gfx1030"], MMA)
    with pytest.raises(ScheduleError, match="gfx1100"):
        plan(Matmul(m=64, n=64, k=64, dtype=DType.F32), TARGETS["gfx1100"], MMA)


def test_multiply_adds_are_exact() -> None:
    with pytest.raises(
        ScheduleError,
        match="mainloop=fma multiplies exactly in f32 and does not support math=tf32; try "
        "mainloop=mma",
    ):
        plan(Matmul(m=64, n=64, k=64, dtype=DType.F32, math="tf32"), GFX942, FMA)
