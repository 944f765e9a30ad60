"""NVIDIA matmul plans: outputs covered once, trip counts, stages, accesses, refusals."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from itertools import product
from typing import Any

import pytest

from kgen.errors import ScheduleError, TargetError
from kgen.pipeline import plan as make_plan
from kgen.pipeline import schedule_for, source
from kgen.schedule import FmaMatmul, MmaMatmul
from kgen.spec import DType, Math, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.cuda_plan import CudaPlan
from kgen.targets.cuda.plan.epilogue.output import OutputTile
from kgen.targets.cuda.plan.matmul import plan_pipeline
from kgen.targets.cuda.plan.matmul_fma import FmaPlan, plan_fma
from kgen.targets.cuda.plan.mma.matmul import MmaPlan, plan_mma
from kgen.targets.cuda.plan.mma.products import Mma

BY_NAME = {target.name: target for target in TARGETS}
SM_80 = BY_NAME["sm_80"]
MMA = MmaMatmul(block_m=64, block_n=32, block_k=32, num_stages=3, warp_m=32, warp_n=16)
FMA = FmaMatmul(block_m=64, block_n=32, block_k=8, num_stages=2, thread_m=8, thread_n=2)


def outputs(output: OutputTile, starts: list[tuple[int, int]]) -> Counter[tuple[int, int]]:
    """Count the outputs of the threads whose first outputs are given, by place in the block
    tile."""
    found: Counter[tuple[int, int]] = Counter()
    for (m, n), row, column in product(starts, output.rows, output.columns):
        for element in column.elements:
            found[m + row.offset, n + element] += 1
    return found


def test_mma_threads_cover_the_tile_once() -> None:
    plan = plan_mma(Matmul(m=64, n=32, k=32), SM_80, MMA)
    starts = []
    for thread in range(plan.num_threads):
        lane, warp = thread % 32, thread // 32
        warp_a, warp_b = warp >> plan.warps_n_log2, warp & plan.warps_n_mask
        starts.append((warp_a * 32 + lane // 4, warp_b * 16 + lane % 4 * 2))
    assert outputs(plan.output, starts) == Counter(product(range(64), range(32)))


def test_fma_threads_cover_the_tile_once() -> None:
    plan = plan_fma(Matmul(m=64, n=32, k=32, dtype=DType.F32), SM_80, FMA)
    a, b = plan.operands
    starts = [
        ((t >> plan.threads_n_log2) * a.vector, (t & plan.threads_n_mask) * b.vector)
        for t in range(plan.num_threads)
    ]
    assert outputs(plan.output, starts) == Counter(product(range(64), range(32)))


def test_mma_multiplies_every_fragment_pair_once() -> None:
    """Each accumulator gets each half of each 16 of k, from the same k of A and B."""
    for name in ("sm_75", "sm_80"):
        plan = plan_mma(Matmul(m=64, n=32, k=32), BY_NAME[name], MMA)
        for step in plan.k_steps:
            found: Counter[tuple[str, str]] = Counter()
            for mma in step.mmas:
                ks = [register.split("_k")[1] for register in mma.b]
                assert {register.split("_k")[1] for register in mma.a} == set(ks)
                m = mma.a[0].split("_")[1]
                n = mma.b[0].split("_")[1]
                assert mma.d[0] == f"acc_{m}_{n}"
                found.update((mma.d[0], k) for k in ks)
            assert set(found.values()) == {1} and len(found) == 2 * (32 // 16) * (16 // 8)


@pytest.mark.parametrize("block_k", [16, 32, 64])
@pytest.mark.parametrize("k", [16, 64, 128])
def test_fragments_are_loaded_before_they_are_multiplied(block_k: int, k: int) -> None:
    """Each step multiplies the registers that the step before it loaded, for the same k."""
    schedule = MMA.override(block_k=block_k)
    plan = plan_mma(Matmul(m=64, n=32, k=k), SM_80, schedule)
    loaded = {r for load in plan.first_fragments for r in load.registers}
    for i, step in enumerate(plan.k_steps):
        assert {r for mma in step.mmas for r in mma.a + mma.b} == loaded
        loaded = {r for load in step.loads for r in load.registers}
        assert bool(loaded) == (i < len(plan.k_steps) - 1 or plan.pipeline.loops)
    assert [s.turns for s in plan.k_steps[:-1]] == [False] * (block_k // 16 - 1)
    assert plan.k_steps[-1].turns == plan.pipeline.loops


@pytest.mark.parametrize("block_k", [16, 32, 64])
def test_steps_share_the_copies_of_the_next_tile(block_k: int) -> None:
    plan = plan_mma(Matmul(m=64, n=32, k=512), SM_80, MMA.override(block_k=block_k))
    shares = [share for step in plan.k_steps for share in step.shares]
    for operand in plan.operands:
        own = [share for share in shares if share.copy is operand.copy]
        assert [u for share in own for u in share.units] == list(operand.copy.units)
        assert [share.last for share in own] == [False] * (len(own) - 1) + [True]
    assert block_k == 16 or not plan.k_steps[-1].shares  # they are committed before the last


def test_fma_multiplies_every_pair_once() -> None:
    plan = plan_fma(Matmul(m=64, n=32, k=32, dtype=DType.F32), SM_80, FMA)
    for step in plan.k_steps:
        assert len(step.fmas) == len(set(step.fmas)) == 8 * 2
        for acc, a, b in step.fmas:
            assert acc == "acc_" + a.removeprefix("a_") + "_" + b.removeprefix("b_")


@pytest.mark.parametrize("k", [1, 31, 32, 33, 64, 65, 1000])
@pytest.mark.parametrize("num_stages", [2, 3, 4, 7])
def test_pipeline_loads_and_uses_every_tile_once(k: int, num_stages: int) -> None:
    schedule = MMA.override(num_stages=num_stages)
    pipeline = plan_pipeline(k, schedule, stage_bytes=256)
    stages = pipeline.buffers * 256
    loaded = {stage.tile: stage.offset for stage in pipeline.prologue}
    write, read = pipeline.first_write % stages, 0
    for tile in range(pipeline.k_tiles):
        if tile < pipeline.last_load:
            assert write != read or pipeline.buffers == 1
            loaded[tile + pipeline.ahead] = write
            write = (write + 256) % stages
        assert loaded[tile] == read
        read = (read + 256) % stages
    assert sorted(loaded) == list(range(-(-k // 32)))
    assert max(loaded.values()) + 256 <= pipeline.nbytes == stages


@pytest.mark.parametrize(
    ("fields", "width"),
    [
        ({}, 2),
        ({"n": 65}, 1),
        ({"ldc": 65}, 1),
        ({"ldc": 66}, 2),
        ({"m": 1, "ldc": 65}, 2),
        ({"batch": 2, "batch_stride_c": 64 * 64 + 1}, 1),
    ],
)
def test_store_width_follows_alignment(fields: dict[str, Any], width: int) -> None:
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 32}
    spec = Matmul(**(sizes | fields))
    assert plan_mma(spec, SM_80, MMA).output.width == width


def test_edges_only_where_the_tile_does_not_divide() -> None:
    divided = plan_mma(Matmul(m=128, n=64, k=32), SM_80, MMA).output
    assert divided.guard == divided.column_guard == ""
    ragged = plan_mma(Matmul(m=127, n=64, k=32), SM_80, MMA).output
    assert (ragged.m_edge, ragged.n_edge, ragged.column_guard) == (True, False, "")


def test_launch_and_tile() -> None:
    launch = plan_mma(Matmul(m=65, n=66, k=67, batch=3), SM_80, MMA).launches[0]
    assert (launch.grid, launch.block) == ((3, 2, 3), (128, 1, 1))
    assert launch.arguments == ("a", "b", "out")
    assert launch.tile is not None
    assert launch.tile.shape == (3, 65, 66)
    assert launch.tile.extent == (1, 64, 32)
    assert launch.tile.axes == (2, 1, 0)


def test_shared_memory_is_dynamic_above_48_kib() -> None:
    spec = Matmul(m=512, n=512, k=512)
    small = plan_mma(spec, SM_80, MMA)
    assert not small.dynamic_shared and small.launches[0].dynamic_shared_memory == 0
    large = plan_mma(spec, SM_80, MMA.override(num_stages=9))
    assert large.dynamic_shared and large.launches[0].dynamic_shared_memory == 9 * 6144


def test_lowest_ptx_version() -> None:
    spec = Matmul(m=64, n=64, k=64)
    versions = {t.name: make_plan(spec, t) for t in TARGETS}
    found = {name: plan.version for name, plan in versions.items() if isinstance(plan, MmaPlan)}
    assert found == {
        "sm_75": "6.5",
        "sm_80": "7.0",
        "sm_86": "7.1",
        "sm_89": "7.8",
        "sm_90a": "8.0",
        "sm_120": "8.7",
    }


@pytest.mark.parametrize("one_kernel", [0, 1])
def test_the_ptx_version_of_parts_is_that_of_what_is_stored(one_kernel: int) -> None:
    """Storing sums of f32 needs PTX 6.3, storing 8 bits PTX 6.5."""
    spec = Matmul(m=2, n=32, k=512, dtype=DType.BF16, out_dtype=DType.S8)
    target = BY_NAME["sm_75"]
    fields: dict[str, int | str] = {"mainloop": "fma", "split_k": 4, "one_kernel": one_kernel}
    for out, version in ((DType.S8, "6.5"), (DType.F32, "6.3")):
        of = dataclasses.replace(spec, out_dtype=out)
        plan = make_plan(of, target, schedule_for(of, target, fields))
        assert isinstance(plan, CudaPlan) and plan.version == version
        assert f".version {version}" in source(plan).text


def test_bf16_without_tensor_cores_is_widened() -> None:
    plan = make_plan(Matmul(m=64, n=64, k=64, dtype=DType.BF16), BY_NAME["sm_75"])
    assert isinstance(plan, FmaPlan) and plan.version == "6.3"
    with pytest.raises(
        ScheduleError,
        match="mainloop=mma needs bf16 tensor cores with f32 "
        "accumulators, which sm_75 does not have; try "
        "mainloop=fma",
    ):
        make_plan(plan.spec, plan.target, MMA)


@pytest.mark.parametrize(
    ("target_name", "fields", "message"),
    [
        (
            "sm_90a",
            {"block_m": 256, "block_n": 128, "block_k": 64, "warp_m": 64, "warp_n": 64}
            | {"num_stages": 5},
            "num_stages=5 needs 245760 B of shared memory; sm_90a allows 232448; try num_stages=4",
        ),
        (
            "sm_86",
            {"block_m": 256, "block_n": 128, "block_k": 256, "warp_m": 64, "warp_n": 64},
            "num_stages=3 needs 589824 B of shared memory; sm_86 allows 101376; try block_k=32",
        ),
        (
            "sm_80",
            {"block_m": 96, "warp_m": 48},
            "block_m=96 is not a power of two; try block_m=64 or block_m=128",
        ),
        (
            "sm_80",
            {"block_k": 8},
            "block_k=8 is less than 16, the extent of one ldmatrix; try block_k=16",
        ),
        ("sm_80", {"num_stages": 1}, "num_stages=1 leaves no stage to load"),
        (
            "sm_80",
            {"block_m": 256, "block_n": 256, "warp_m": 16, "warp_n": 16},
            "the schedule has 8192 threads per block; sm_80 requires a multiple of 32 and "
            "allows 1024; try warp_m=64,warp_n=32",
        ),
        (
            "sm_80",
            {"block_m": 64, "block_n": 128, "warp_m": 64, "warp_n": 128},
            "a warp tile of 64x128 needs 352 registers per thread; sm_80 leaves 231 with 32 "
            "threads per block; try warp_n=64",
        ),
    ],
)
def test_refusals_name_limit_and_remedy(
    target_name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_mma(Matmul(m=512, n=512, k=512), BY_NAME[target_name], MMA.override(**fields))


def test_fma_refusals() -> None:
    spec = Matmul(m=512, n=512, k=512, dtype=DType.F32)
    with pytest.raises(ScheduleError, match="num_stages=3 is not 2"):
        plan_fma(spec, SM_80, FMA.override(num_stages=3))
    with pytest.raises(ScheduleError, match="a thread tile of 16x16 needs"):
        plan_fma(
            spec,
            SM_80,
            FMA.override(block_m=256, block_n=128, thread_m=16, thread_n=16),
        )


def test_split_operands_have_three_products() -> None:
    """The products are small by whole, whole by small, and whole by whole; each step rounds its
    operands."""
    spec = Matmul(m=64, n=32, k=64, dtype=DType.F32, math=Math.TF32X3)
    plan = plan_mma(spec, SM_80, MMA.override(block_k=16))
    assert len(plan.rests) == 2 * 4 + 4
    for step in plan.k_steps:
        assert len(step.rounded) == len(plan.rests)
        for first, second, third in batched(step.mmas, 3):
            assert first.d == second.d == third.d
            assert (first.b, second.a) == (third.b, third.a)
            rests = dict(zip(step.rounded, plan.rests, strict=True))
            assert first.a == tuple(rests[r] for r in third.a)
            assert second.b == tuple(rests[r] for r in third.b)


def batched(mmas: tuple[Mma, ...], n: int) -> list[tuple[Mma, ...]]:
    return [mmas[i : i + n] for i in range(0, len(mmas), n)]


def test_other_targets_refuse_tf32() -> None:
    spec = Matmul(m=64, n=32, k=64, dtype=DType.F32, math=Math.TF32)
    with pytest.raises(TargetError, match="math=tf32 is not supported by sm_75; take exact"):
        make_plan(spec, BY_NAME["sm_75"])
