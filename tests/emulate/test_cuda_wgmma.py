"""The wgmma main loop, executed with every check: layouts, edges, epilogues, tiles."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.emulate.wgmma_kernels import verified

each_layout = pytest.mark.parametrize("layout", tuple(Layout))


@each_layout
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_whole_tiles(layout: Layout, dtype: DType) -> None:
    """More tiles along k than stages, so that the ring turns."""
    result = verified(Matmul(m=256, n=128, k=320, layout=layout, dtype=dtype))
    assert result.passed, result


@each_layout
def test_ragged(layout: Layout) -> None:
    """Edges of m, n and k inside a tile; a batch; rows longer than the matrix."""
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
    """A's rows have no stride, and k is odd: one row needs no alignment."""
    result = verified(Matmul(m=1, n=8, k=7), block_m=64, consumers=1)
    assert result.passed, result


def test_one_batch_of_weights() -> None:
    result = verified(Matmul(m=64, n=64, k=64, batch=3, batch_stride_b=0), block_m=64, consumers=1)
    assert result.passed, result
