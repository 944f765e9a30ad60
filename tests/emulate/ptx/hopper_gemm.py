"""Launches of the hand-written Hopper GEMMs in data/hopper, shared by several tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate import LaunchReport, TensorMap, run

Array = npt.NDArray[Any]

FOLDER = Path(__file__).parents[1] / "data" / "hopper"
SOURCES = {name: (FOLDER / f"{name}.ptx").read_text() for name in ("gemm", "gemm_cluster")}
THREADS, SHARED_BYTES = 384, 90160
_TILE_K, _TILE_N = 64, 64


def operands(m: int, n: int, k: int, seed: int = 1) -> tuple[Array, Array]:
    """Return A [m, k] and B [n, k] of small integers, whose products are exact."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (n, k))
    return a.astype(np.float16), b.astype(np.float16)


def rows_map(matrix: Array, rows: int, columns: int) -> TensorMap:
    """Return a tensor map with boxes of rows x columns of a row-major f16 matrix, and the
    swizzle of 128 bytes."""
    return TensorMap(
        buffer=matrix,
        dtype="f16",
        shape=matrix.shape[::-1],
        box=(columns, rows),
        swizzle=128,
    )


def multiply(
    a: Array,
    b: Array,
    *,
    name: str = "gemm",
    source: str | None = None,
    ctas: int = 2,
    **options: Any,
) -> tuple[Array, LaunchReport]:
    """Return (A B^T by the program, its report); `ctas` CTAs share the tiles."""
    (m, k), n = a.shape, len(b)
    clustered = name == "gemm_cluster"
    c = np.full((m, n), np.nan, np.float16)
    tile_m, rows_b = (256, 32) if clustered else (128, 64)
    tiles_n = -(-n // _TILE_N)
    report = run(
        SOURCES[name] if source is None else source,
        language="ptx",
        entry=name,
        grid=(ctas, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            rows_map(a, 128, _TILE_K),
            rows_map(b, rows_b, _TILE_K),
            rows_map(c, 64, _TILE_N),
            np.uint32(-(-k // _TILE_K)),
            np.uint32(tiles_n),
            np.uint32(tiles_n * -(-m // tile_m)),
        ],
        dynamic_shared=SHARED_BYTES,
        **options,
    )
    return c, report
