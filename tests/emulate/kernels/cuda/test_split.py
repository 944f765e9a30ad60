"""Split-k, executed: parts and sums against the reference, as `kgen verify` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.spec import DType, Epilogue, Layout, Math, Matmul
from tests.emulate.one_schedule import verify

FMA = {"block_m": 16, "block_n": 16, "block_k": 16, "thread_m": 2, "thread_n": 2}
TILE = {"block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16}
#: A whole number of tiles; edges, odd rows and every addend; a width of one; other types; k that
#: no tile divides, for one product and for several, by cp.async and through registers.
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "even": ({"m": 64, "n": 64, "k": 512}, 4),
    "addends": (
        {"m": 33, "n": 66, "k": 192, "alpha": 0.5, "beta": 2.0, "epilogue": tuple(Epilogue)},
        2,
    ),
    "odd": ({"m": 33, "n": 65, "k": 192, "ldc": 67, "layout": Layout.TT}, 3),
    "one-row": ({"m": 1, "n": 72, "k": 256, "dtype": DType.BF16, "layout": Layout.NT}, 8),
    "ragged": ({"m": 33, "n": 40, "k": 296, "batch": 2, "epilogue": (Epilogue.BIAS,)}, 3),
    "prime": ({"m": 31, "n": 37, "k": 211, "batch": 3, "batch_stride_b": 0}, 4),
    "bytes": ({"m": 33, "n": 40, "k": 300, "batch": 2, "dtype": DType.S8, "layout": Layout.NT}, 3),
    "tf32": ({"m": 40, "n": 100, "k": 256, "dtype": DType.F32, "math": Math.TF32}, 4),
}

#: Scalar f32: whole tiles; primes and every addend; both transposed, and three products.
EXACT: dict[str, tuple[dict[str, Any], int]] = {
    "even": ({"m": 32, "n": 64, "k": 256}, 4),
    "primes": ({"m": 37, "n": 41, "k": 131, "beta": 2.0, "epilogue": tuple(Epilogue)}, 3),
    "batch": ({"m": 17, "n": 20, "k": 100, "batch": 3, "layout": Layout.TT, "lda": 19}, 7),
}


@pytest.mark.parametrize("name", EXACT)
def test_split_of_fma(name: str, tmp_path: Path) -> None:
    fields, split = EXACT[name]
    spec = Matmul(dtype=DType.F32, **fields)
    bundle = kgen.build(spec, ["sm_80"], schedule=FMA | {"split_k": split})
    report = verify(bundle.save(tmp_path / "split.kgen"))
    assert report.passed, report.kernels[0]


@pytest.mark.parametrize("name", CASES)
def test_split(name: str, tmp_path: Path) -> None:
    fields, split = CASES[name]
    bundle = kgen.build(Matmul(**fields), ["sm_80"], schedule=TILE | {"split_k": split})
    report = verify(bundle.save(tmp_path / "split.kgen"))
    assert report.passed, report.kernels[0]


RING = {"block_m": 64, "block_n": 64, "block_k": 64, "consumers": 1, "num_stages": 3}
#: Parts that are even; the last part ends early, every addend; a batch; a pair of CTAs.
HOPPER: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "even": ({"m": 64, "n": 64, "k": 512}, {"split_k": 4}),
    "addends": (
        {"m": 33, "n": 66, "k": 200, "beta": 2.0, "epilogue": tuple(Epilogue), "lda": 208}
        | {"ldb": 72, "alpha": 0.5},
        {"split_k": 2},
    ),
    "batch": (
        {"m": 100, "n": 72, "k": 456, "batch": 3, "dtype": DType.BF16, "layout": Layout.NT}
        | {"epilogue": (Epilogue.BIAS,)},
        {"split_k": 4},
    ),
    "one-b": (
        {"m": 136, "n": 130, "k": 192, "batch": 2, "batch_stride_b": 0, "ldb": 136, "ldc": 131},
        {"split_k": 3, "cluster_m": 2, "block_n": 128},
    ),
    "bytes": (
        {"m": 64, "n": 40, "k": 272, "dtype": DType.S8, "layout": Layout.NT},
        {"split_k": 3, "block_k": 128},
    ),
}


@pytest.mark.parametrize("name", HOPPER)
def test_split_of_wgmma(name: str, tmp_path: Path) -> None:
    fields, split = HOPPER[name]
    bundle = kgen.build(Matmul(**fields), ["sm_90a"], schedule=RING | split)
    report = verify(bundle.save(tmp_path / "split.kgen"))
    assert report.passed, report.kernels[0]


def test_the_models_own_choice(tmp_path: Path) -> None:
    """The model chooses one kernel for few outputs; for many, one SM would have too many parts
    to add."""
    bundle = kgen.build(Matmul(m=16, n=64, k=4096), ["sm_80", "sm_75"])
    assert all(len(entry.launches) == 1 for entry in bundle.manifest.kernels)
    assert all(entry.workspaces for entry in bundle.manifest.kernels)
    assert verify(bundle.save(tmp_path / "split.kgen")).passed
    many = kgen.build(Matmul(m=256, n=256, k=4096), ["sm_80"])
    assert len(many.manifest.kernels[0].launches) == 2
