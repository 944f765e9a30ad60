"""The wgmma main loop, executed with every check: layouts, edges, epilogues, tiles."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.emulate.ptx.wgmma_kernels import verified

each_layout = pytest.mark.parametrize("layout", tuple(Layout))


@each_layout
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_whole_tiles(layout: Layout, dtype: DType) -> None:
    """There are more K-tiles than stages, so the ring is reused."""
    result = verified(Matmul(m=256, n=128, k=320, layout=layout, dtype=dtype))
    assert result.passed, result


@each_layout
def test_ragged(layout: Layout) -> None:
    """M, N and K end inside a tile; there is a batch, and rows are longer than the matrix."""
    spec = Matmul(m=136, n=72, k=200, layout=layout, batch=2, lda=208, ldb=208, ldc=81)
    result = verified(spec)
    assert result.passed, result


@pytest.mark.parametrize("out", [DType.F32, DType.F16])
def test_addends(out: DType) -> None:
    spec = Matmul(
        m=130, n=67, k=72, layout=Layout.NT, out_dtype=out, alpha=0.5, beta=2.0,
        epilogue=tuple(Epilogue),
    )  # fmt: skip
    result = verified(spec)
    assert result.passed, result


@pytest.mark.parametrize(
    "fields",
    [
        {"block_m": 64, "block_n": 8, "consumers": 1},
        {"block_m": 256, "block_n": 64},
        {"block_m": 192, "consumers": 3},
        {"block_n": 256, "num_stages": 4},
        {"block_n": 24, "num_stages": 7},
        {"num_stages": 2},
    ],
    ids=str,
)
def test_tiles(fields: dict[str, Any]) -> None:
    result = verified(Matmul(m=200, n=80, k=264, layout=Layout.NT), **fields)
    assert result.passed, result


def test_a_single_tile_of_a_single_row() -> None:
    """A has one row, which needs no alignment, and K is odd."""
    result = verified(Matmul(m=1, n=8, k=7), block_m=64, consumers=1)
    assert result.passed, result


def test_one_batch_of_weights() -> None:
    result = verified(Matmul(m=64, n=64, k=64, batch=3, batch_stride_b=0), block_m=64, consumers=1)
    assert result.passed, result


#: 3 x 3 block tiles with edges, on four CTAs; more tiles along k than stages.
SHAPE: dict[str, Any] = {"m": 344, "n": 168, "k": 264}
PERSISTENT = {"num_workgroups": 4, "group_m": 2}
OPTIONS: dict[str, dict[str, int]] = {
    "persistent": PERSISTENT,
    "cluster": {"cluster_m": 2},
    "cluster-of-4": {"cluster_m": 4, "block_n": 128},
    "store": {"tma_store": 1},
    "store-one-strip": {"tma_store": 1, "block_m": 64, "consumers": 1},
    "pingpong": PERSISTENT | {"pingpong": 1, "block_m": 64},
    "persistent-odd-strips": PERSISTENT | {"num_workgroups": 2, "tma_store": 1, "block_n": 192},
    "persistent-cluster": PERSISTENT | {"cluster_m": 2},
    "persistent-store": PERSISTENT | {"tma_store": 1, "block_n": 128},
    "persistent-cluster-store": PERSISTENT | {"cluster_m": 2, "tma_store": 1},
    "pingpong-store": PERSISTENT | {"pingpong": 1, "tma_store": 1},
    "pingpong-cluster": PERSISTENT | {"pingpong": 1, "block_m": 64, "cluster_m": 2},
    "more-than-tiles": {"num_workgroups": 132, "group_m": 16, "pingpong": 1, "tma_store": 1},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str) -> None:
    layout = Layout.NT if OPTIONS[name].get("cluster_m", 1) > 1 else Layout.NN
    result = verified(Matmul(**SHAPE, layout=layout), **OPTIONS[name])
    assert result.passed, result


@pytest.mark.parametrize("layout", [Layout.NN, Layout.TT])
def test_all_options_together(layout: Layout) -> None:
    spec = Matmul(
        **SHAPE, layout=layout, batch=2, ldc=176, alpha=0.5, beta=2.0,
        epilogue=(Epilogue.BIAS, Epilogue.RESIDUAL, Epilogue.SILU),
    )  # fmt: skip
    result = verified(spec, **PERSISTENT, cluster_m=2, tma_store=True, block_n=128)
    assert result.passed, result


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("k", [64, 192, 320])
def test_turns_of_any_length(stages: int, k: int) -> None:
    """Two warpgroups skip each other's tiles: fewer than the ring has, as many, and more."""
    spec = Matmul(m=136, n=128, k=k)
    result = verified(spec, num_workgroups=1, pingpong=True, block_m=64, num_stages=stages)
    assert result.passed, result


def test_a_sample_of_persistent_ctas() -> None:
    """Only CTAs that write corners run, and their outputs are checked."""
    spec = Matmul(m=4096, n=2048, k=1024)
    result = verified(spec, num_workgroups=64, group_m=4, block_n=256, num_stages=4)
    assert result.passed, result
    assert result.coverage is not None and result.coverage.workgroups < result.coverage.of == 64
