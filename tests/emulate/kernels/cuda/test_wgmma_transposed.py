"""The wgmma main loop with operands that are contiguous along M or N: they are transposed on
their way to registers, and operands are swapped if B is one. Executed with every check and
compared as `kgen verify` does it."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.spec import DType, Layout, Math, Matmul
from tests.emulate.ptx.wgmma_kernels import verified

#: k of three tiles, more than there are stages.
TYPES: dict[str, dict[str, Any]] = {
    "s8": {"dtype": DType.S8, "k": 384},
    "e4m3": {"dtype": DType.E4M3, "k": 384},
    "e5m2": {"dtype": DType.E5M2, "k": 384},
    "tf32": {"dtype": DType.F32, "math": Math.TF32, "k": 96},
}
#: The transposed operand is B, and A. Each consumer has 64 of its rows: half of a box of bytes.
LAYOUTS: dict[str, dict[str, int]] = {
    "nn": {"swap": 1, "block_m": 32, "block_n": 128, "num_stages": 2},
    "tt": {"block_m": 128, "block_n": 32, "num_stages": 2},
}
CHAIN: dict[str, Any] = {
    "scales": ("a", "b", "out"),
    "beta": 0.5,
    "epilogue": ("bias", "residual", "relu"),
}
each_type = pytest.mark.parametrize("name", TYPES)
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def prove(name: str, layout: str, sizes: dict[str, Any] | None = None, **fields: Any) -> None:
    common: dict[str, Any] = {"m": 128, "n": 128, "layout": Layout(layout)}
    spec = Matmul(**(common | TYPES[name] | (sizes or {})))
    kernel = verified(spec, **(LAYOUTS[layout] | fields))
    assert kernel.passed, kernel


@each_layout
@each_type
def test_whole_tiles(name: str, layout: str) -> None:
    prove(name, layout)


@each_layout
@pytest.mark.parametrize("name", ["s8", "tf32"])
def test_ragged(name: str, layout: str) -> None:
    """M, N and K are primes; there is a batch, and rows are longer than the matrix."""
    sizes = {"m": 67, "n": 139, "k": 149, "batch": 2, "lda": 160, "ldb": 160, "ldc": 153}
    prove(name, layout, sizes)


@pytest.mark.parametrize(
    ("name", "layout", "size"),
    [("s8", "nn", 1), ("tf32", "nn", 1), ("e4m3", "tt", 1), ("e5m2", "nn", 127), ("s8", "tt", 129)],
)
def test_one_and_a_tile_less_and_more(name: str, layout: str, size: int) -> None:
    prove(name, layout, {"m": size, "n": size, "k": size, "lda": 144, "ldb": 144})


@pytest.mark.parametrize(
    ("name", "layout", "out"),
    [
        ("s8", "nn", DType.S8),
        ("s8", "tt", DType.F16),
        ("e4m3", "nn", DType.BF16),
        ("e4m3", "tt", DType.E4M3),
        ("e4m3", "nn", DType.F32),
    ],
)
def test_epilogues_from_registers(name: str, layout: str, out: DType) -> None:
    prove(name, layout, {"m": 66, "n": 66, "out_dtype": out, "lda": 400, "ldb": 400} | CHAIN)


#: Two block tiles of each of several CTAs, with edges.
MANY = {"m": 144, "n": 272, "k": 272}
PERSISTENT = {"num_workgroups": 4, "group_m": 2}
STRIPS = {"block_m": 64, "block_n": 128, "tma_store": 1}
#: Also two blocks of 64 rows for each consumer, in boxes side by side or one.
OPTIONS: dict[str, tuple[str, str, dict[str, int]]] = {
    "cluster": ("s8", "nn", {"cluster_n": 2}),
    "wide": ("s8", "nn", {"block_m": 48, "block_n": 256}),
    "wide-promoted": ("e4m3", "nn", {"block_m": 16, "block_n": 256}),
    "promoted-in-turn": ("e4m3", "nn", {"block_m": 64, "block_n": 384, "consumers": 3}),
    "one-warpgroup": ("e4m3", "nn", {"consumers": 1}),
    "persistent-store": ("e4m3", "nn", PERSISTENT | STRIPS | {"cluster_n": 2}),
    "pingpong-store": ("s8", "nn", PERSISTENT | STRIPS | {"pingpong": 1}),
    "stream": ("s8", "nn", {"num_workgroups": 7, "stream_k": 1}),
    "rows-cluster": ("s8", "tt", {"cluster_m": 2}),
    "rows-high": ("e4m3", "tt", {"block_m": 256, "block_n": 16}),
    "rows-store": ("e4m3", "tt", PERSISTENT | STRIPS | {"block_m": 128, "block_n": 64}),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option: str) -> None:
    name, layout, fields = OPTIONS[option]
    prove(name, layout, MANY | {"scales": ("a", "b"), "out_dtype": DType.BF16}, **fields)


@each_layout
def test_a_store_by_strips_behind_an_epilogue(layout: str) -> None:
    sizes = {"m": 80, "n": 144} | CHAIN | {"out_dtype": DType.BF16}
    prove("e4m3", layout, sizes, tma_store=1, block_m=128 if layout == "tt" else 64, block_n=128)


def test_ragged_addends_of_ctas_that_stay() -> None:
    sizes = {"m": 67, "n": 140, "beta": 0.5, "epilogue": ("bias", "residual")}
    prove("tf32", "nn", sizes, **PERSISTENT)


@pytest.mark.parametrize(
    ("layout", "fields"),
    [
        ("nn", PERSISTENT | {"cluster_n": 2}),
        ("nn", {"split_k": 2, "block_n": 256}),
        ("tt", PERSISTENT | {"pingpong": 1}),
    ],
)
def test_tf32_with_options(layout: str, fields: dict[str, int]) -> None:
    prove("tf32", layout, MANY | {"k": 72, "out_dtype": DType.F16}, **fields)


def test_swapped_without_need() -> None:
    """Operands contiguous along K are read from shared memory by descriptors, swapped or not."""
    prove("s8", "nn", {"layout": Layout.NT})
