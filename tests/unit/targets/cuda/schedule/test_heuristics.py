"""Heuristic schedules of NVIDIA fit every shape without waste, and predicted numbers are right."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen import pipeline
from kgen.schedule import GpuMatmul, GpuRows, MmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.cuda import FAMILY
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.constants import float_bits
from tests.specs import relu_of, softmax_of

DIMENSION = st.one_of(st.integers(1, 300), st.integers(1, 65536))
SIDE = st.one_of(DIMENSION, st.integers(65536, 1 << 20))


@settings(max_examples=100, deadline=None)
@given(
    m=SIDE,
    n=SIDE,
    k=DIMENSION,
    batch=st.integers(1, 65535),
    dtype=st.sampled_from(("f32", "f16", "bf16")),
    layout=st.sampled_from(("nn", "nt", "tn", "tt")),
    target=st.sampled_from(TARGETS),
)
def test_every_matmul_fits(m, n, k, batch, dtype, layout, target) -> None:  # type: ignore[no-untyped-def]
    spec = Matmul(m=m, n=n, k=k, batch=batch, dtype=dtype, layout=layout)
    plan = pipeline.plan(spec, target)
    limits = target.limits
    launch = plan.launches[0]
    assert launch.grid[0] <= limits["grid_x"]
    assert max(launch.grid[1:]) <= limits["grid_y"]
    assert launch.dynamic_shared_memory <= limits["dynamic_shared_memory"]


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
@pytest.mark.parametrize("cols", [1, 2, 3, 31, 1000, 1024, 1025, 5001, 16384, 32769, 131072])
def test_every_softmax_fits(dtype: DType, cols: int) -> None:
    for target in TARGETS:
        for out in (DType.F32, DType.F16):
            pipeline.plan(softmax_of(3, cols, dtype=dtype, out_dtype=out), target)


@pytest.mark.parametrize("elements", [1, 1000003, 2**40])
def test_every_relu_fits(elements: int) -> None:
    for target in TARGETS:
        pipeline.plan(relu_of((elements,)), target)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_skinny_shapes_get_skinny_tiles(dtype: DType) -> None:
    for m, n, k in ((1, 4096, 4096), (4096, 1, 4096), (64, 2048, 33), (127, 131, 113)):
        tile = FAMILY.choose(Matmul(m=m, n=n, k=k, dtype=dtype), TARGETS[1])
        assert isinstance(tile, GpuMatmul)
        padded = -(-m // tile.block_m) * tile.block_m * (-(-n // tile.block_n) * tile.block_n)
        assert padded <= 16 * m * n


def test_large_shapes_get_large_tiles_and_more_stages() -> None:
    tile = FAMILY.choose(Matmul(m=4096, n=4096, k=4096), TARGETS[1])
    assert isinstance(tile, MmaMatmul)
    assert tile.block_m * tile.block_n == 128 * 256 and tile.num_stages >= 3
    ragged = FAMILY.choose(Matmul(m=4097, n=4097, k=4097), TARGETS[1])
    assert isinstance(ragged, MmaMatmul) and ragged.num_stages == 2


def test_long_rows_leave_the_registers() -> None:
    short = FAMILY.choose(softmax_of(4, 32768), TARGETS[1])
    long = FAMILY.choose(softmax_of(4, 131072), TARGETS[1])
    assert isinstance(short, GpuRows) and isinstance(long, GpuRows)
    assert (short.resident, long.resident) == (1, 0)


def test_float_literals() -> None:
    assert float_bits(1.0) == "0f3F800000"
    assert float_bits(-math.inf) == "0fFF800000"
    assert float_bits(0.1) == "0f3DCCCCCD"
