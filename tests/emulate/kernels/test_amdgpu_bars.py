"""Limits of AMD matmuls that `kgen perf update` cannot raise: no memory access is wasted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import emulate, pipeline, targets
from kgen.emulate import LaunchReport
from kgen.spec import DType, Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.plan.matmul.matmul_plan import MatmulPlan
from kgen.targets.base import Plan

MATRIX = tuple(t.name for t in FAMILY.targets if t.name != "gfx1030")
LARGEST = {"block_m": 128, "block_n": 128, "warp_m": 64, "warp_n": 32}

each_layout = pytest.mark.parametrize("layout", tuple(Layout))
each_target = pytest.mark.parametrize("name", [t.name for t in FAMILY.targets])


def plan(name: str, size: int, schedule: dict[str, int] | None = None, **fields: Any) -> Plan:
    spec, target = Matmul(m=size, n=size, k=size, **fields), targets.find(name)
    return pipeline.plan(spec, target, pipeline.schedule_for(spec, target, schedule or {}))


def profile(made: Plan) -> LaunchReport:
    """Return counters of the whole grid, which do not depend on the data."""
    launch = made.launches[0]
    return emulate.run(
        pipeline.source(made).text,
        language="llvm",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[
            np.zeros(p.nbytes // p.dtype.itemsize, p.dtype.storage) for p in made.spec.parameters
        ],
        profile=True,
        checks=False,
    )


def assert_nothing_wasted(made: Plan) -> None:
    """Check that LDS accesses have no bank conflict, and that sectors are as few as the bytes
    need."""
    counters = profile(made).counters
    assert counters["bank_conflicts"] == 0
    assert counters["shared_wavefronts"] > 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"] > 0


@each_target
@each_layout
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_chosen_schedules(name: str, layout: Layout, dtype: DType) -> None:
    assert_nothing_wasted(plan(name, 128, layout=layout, dtype=dtype))


@each_layout
@pytest.mark.parametrize("name", MATRIX)
def test_the_largest_tile(name: str, layout: Layout) -> None:
    """Both stages of LDS are used, with outputs of 16 and of 32 bits."""
    out = DType.F32 if layout in (Layout.NN, Layout.TT) else DType.BF16
    made = plan(name, 128, LARGEST, layout=layout, dtype=DType.BF16, out_dtype=out)
    assert_nothing_wasted(made)


@each_layout
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(t.name, d) for t in FAMILY.targets for d in FAMILY.dtypes("matmul", t) if d.itemsize == 1],
    ids=str,
)
def test_bytes(name: str, dtype: DType, layout: Layout) -> None:
    assert_nothing_wasted(plan(name, 128, layout=layout, dtype=dtype))


@each_target
def test_one_stage_of_lds(name: str) -> None:
    assert_nothing_wasted(plan(name, 128, {"num_stages": 1}))


@each_target
def test_addends_move_in_whole_sectors(name: str) -> None:
    assert_nothing_wasted(plan(name, 128, beta=1.0, epilogue=("residual", "bias", "relu")))


@pytest.mark.parametrize("name", ["gfx942", "gfx1201"])
def test_traffic_is_the_schedules_own_formula(name: str) -> None:
    """Each workgroup reads its rows of A and columns of B once, and writes each output once."""
    size = 256
    made = plan(name, size)
    assert isinstance(made, MatmulPlan)
    blocks = size // made.schedule.block_n + size // made.schedule.block_m
    counters = profile(made).counters
    assert counters["global_load_bytes"] == size * size * blocks * 2
    assert counters["global_store_bytes"] == size * size * 2
