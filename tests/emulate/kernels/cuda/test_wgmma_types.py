"""The wgmma main loop on bytes and tf32, executed with every check and compared as `kgen verify`
does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import emulate
from kgen.spec import DType, Layout, Math, Matmul
from tests.emulate.ptx.wgmma_kernels import build, verified

#: k of five tiles.
TYPES: dict[str, dict[str, Any]] = {
    "s8": {"dtype": DType.S8, "k": 640},
    "e4m3": {"dtype": DType.E4M3, "k": 640},
    "e5m2": {"dtype": DType.E5M2, "k": 640},
    "tf32": {"dtype": DType.F32, "math": Math.TF32, "k": 160},
}
CHAIN: dict[str, Any] = {
    "scales": ("a", "b", "out"),
    "beta": 0.5,
    "epilogue": ("bias", "residual", "relu"),
}
each_type = pytest.mark.parametrize("name", TYPES)


def spec_of(name: str, **fields: Any) -> Matmul:
    common: dict[str, Any] = {"m": 256, "n": 128, "layout": Layout.NT}
    return Matmul(**(common | TYPES[name] | fields))


def prove(spec: Matmul, **fields: Any) -> None:
    kernel = verified(spec, **fields)
    assert kernel.passed, kernel


@each_type
def test_whole_tiles(name: str) -> None:
    """There are more K-tiles than stages, so the ring is reused."""
    prove(spec_of(name))


@each_type
def test_ragged(name: str) -> None:
    """M, N and K end inside a tile; there is a batch, and rows are longer than the matrix."""
    prove(spec_of(name, m=136, n=72, k=400, batch=2, lda=416, ldb=416, ldc=81))


@each_type
def test_a_single_tile(name: str) -> None:
    """K is shorter than a tile, and a single row needs no alignment."""
    prove(spec_of(name, m=1, n=8, k=16), block_m=64, consumers=1)


@pytest.mark.parametrize("out", [DType.S8, DType.F16, DType.F32, DType.S32])
def test_outputs_of_s8(out: DType) -> None:
    chain = {} if out is DType.S32 else CHAIN
    prove(spec_of("s8", m=130, n=66, out_dtype=out, ldc=67, **chain))


@pytest.mark.parametrize("out", [DType.E4M3, DType.BF16, DType.F32])
def test_outputs_of_fp8(out: DType) -> None:
    prove(spec_of("e4m3", m=130, n=66, out_dtype=out, ldc=67, **CHAIN))


#: Two block tiles of each of several CTAs, with edges.
MANY = {"m": 264, "n": 136, "k": 272}
PERSISTENT = {"num_workgroups": 4, "group_m": 2}
OPTIONS: dict[str, dict[str, int]] = {
    "plain-cluster": {"cluster_m": 2},
    "high": {"block_m": 256, "block_n": 48},
    "one-warpgroup": {"block_m": 64, "block_n": 32, "consumers": 1},
    "pieces-in-turn": {"block_m": 192, "block_n": 144, "consumers": 3},
    "persistent-cluster-store": PERSISTENT | {"cluster_m": 2, "tma_store": 1},
    "pingpong-store": PERSISTENT | {"pingpong": 1, "tma_store": 1, "block_m": 64},
    "pingpong-cluster": PERSISTENT | {"pingpong": 1, "block_m": 64, "cluster_m": 2},
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", ["s8", "e4m3"])
def test_options(name: str, option: str) -> None:
    scales: dict[str, Any] = {"scales": ("a", "b"), "out_dtype": DType.BF16}
    prove(spec_of(name, **MANY, **scales), **OPTIONS[option])


def test_tf32_with_all_options() -> None:
    spec = spec_of("tf32", **MANY, out_dtype=DType.F16, epilogue=("bias",))
    prove(spec, **OPTIONS["persistent-cluster-store"])


SPLITS: dict[str, dict[str, Any]] = {
    "s8": {"split_k": 3},
    "e4m3": {"split_k": 3, "cluster_m": 2},
    "tf32": {"split_k": 2},
}


@pytest.mark.parametrize("name", SPLITS)
def test_parts_of_k(name: str) -> None:
    """The last part of k is shorter than the others."""
    chain = CHAIN if name == "e4m3" else {}
    prove(spec_of(name, m=136, n=72, **chain), **SPLITS[name])


def worst(promote_k: int) -> float:
    """Return the largest error with sums of 13 bits, relative to the exact result."""
    k = 2048
    spec = Matmul(m=64, n=32, k=k, dtype=DType.E4M3, out_dtype=DType.F32, layout=Layout.NT)
    kernel = build(spec, block_m=64, block_n=32, consumers=1, promote_k=promote_k)
    codes = np.random.default_rng(0).integers(0x30, 0x38, (96, k)).astype(np.uint8)
    arrays: dict[str, Any] = {
        "a": codes[:64].copy(),
        "b": codes[64:].copy(),
        "out": np.zeros((64, 32), np.float32),
    }
    arguments: list[Any] = []
    for name in kernel.plan.launches[0].arguments:
        tensor = name.removesuffix("_map")
        map_ = next((m for m in kernel.plan.tensor_maps if m.name == name), None)
        arguments.append(
            arrays[tensor]
            if map_ is None
            else emulate.TensorMap(
                buffer=arrays[tensor], dtype="u8", shape=map_.shape[::-1], box=map_.box[::-1],
                swizzle=map_.swizzle,
            )
        )  # fmt: skip
    launch = kernel.plan.launches[0]
    emulate.run(
        kernel.source.text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=arguments,
        dynamic_shared=launch.dynamic_shared_memory,
        numerics=emulate.Numerics(fp8_accumulator_bits=13),
    )
    # Codes 0x30 to 0x37 are 0.5 to 0.9375 in steps of a sixteenth.
    exact = (codes[:64] / 16.0 - 2.5) @ (codes[64:] / 16.0 - 2.5).T
    return float(np.abs(arrays["out"] / exact - 1.0).max())


def test_promotion_keeps_short_sums_exact_enough() -> None:
    """Positive numbers make truncation errors add up."""
    assert worst(promote_k=128) < 2.0**-10
    assert worst(promote_k=2048) > 4 * worst(promote_k=128)
