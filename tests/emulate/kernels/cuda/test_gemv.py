"""Skinny GEMMs, executed: against the reference, and their memory accesses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.schedule.gemv import GemvMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.cuda.plan.gemv_limits import columns_of, gemv_depth
from tests.emulate.one_schedule import verify

CHAIN: dict[str, Any] = {"beta": 0.5, "epilogue": ("bias", "gelu", "residual")}
#: Sizes with a rest along k, and along n; rows of A that are shared; and threads.
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "one-row": ({"m": 1, "n": 96, "k": 520}, 256),
    "addends": ({"m": 3, "n": 72, "k": 264, "dtype": DType.BF16, **CHAIN}, 128),
    "f32": ({"m": 2, "n": 40, "k": 300, "dtype": DType.F32, "alpha": 0.5}, 128),
    "batch": ({"m": 8, "n": 40, "k": 128, "batch": 2, "batch_stride_a": 0}, 256),
}


def schedule(spec: Matmul, threads: int) -> GemvMatmul:
    columns = columns_of(spec, threads)[0]
    depth = gemv_depth(spec, threads, columns)
    return GemvMatmul(block_m=spec.m, block_n=columns, block_k=depth, num_threads=threads)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
@pytest.mark.parametrize("name", CASES)
def test_gemv(name: str, layout: Layout, tmp_path: Path) -> None:
    fields, threads = CASES[name]
    spec = Matmul(**fields, layout=layout)
    chosen = schedule(spec, threads)
    overrides = {key: getattr(chosen, key) for key in chosen.names}
    bundle = kgen.build(spec, ["sm_80"], schedule=overrides)
    (entry,) = bundle.manifest.kernels
    assert entry.schedule["mainloop"] == "gemv" and entry.resources.spills == 0
    report = verify(bundle.save(tmp_path / "gemv.kgen"))
    assert report.passed, report.kernels[0]


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_b_is_read_once_in_whole_sectors(layout: Layout, dtype: DType) -> None:
    spec = Matmul(m=2, n=64, k=1024, dtype=dtype, layout=layout)
    plan = pipeline.plan(spec, targets.find("sm_80"), schedule(spec, 256))
    launch = plan.launches[0]
    counters = emulate.run(
        pipeline.source(plan).text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[
            np.zeros(p.nbytes // p.dtype.itemsize, p.dtype.storage) for p in spec.parameters
        ],
        profile=True,
    ).counters
    assert counters["bank_conflicts"] == 0
    assert counters["global_sectors"] == counters["global_sectors_ideal"]
    # A is read again by each group of lanes or warp that has other columns.
    b_bytes = spec.n * spec.k * dtype.itemsize
    assert b_bytes < counters["global_load_bytes"] < 2 * b_bytes
