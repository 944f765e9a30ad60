"""PTX that kgen did not write: nvcc's output for the CUDA kernels in data/kernels.cu."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, LaunchReport, run

SOURCE = (Path(__file__).parents[2] / "data" / "kernels.ptx").read_text()


def launch(
    entry: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any
) -> LaunchReport:
    grid_3, block_3 = (tuple([*size, 1, 1][:3]) for size in (grid, block))
    dynamic = 33 * 32 if entry == "transpose" else 0
    return run(
        SOURCE,
        language="ptx",
        entry=entry,
        grid=grid_3,  # type: ignore[arg-type]
        block=block_3,  # type: ignore[arg-type]
        arguments=arguments,
        dynamic_shared=dynamic,
    )


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (61, 50, 37), (1, 33, 5)])
def test_tiled_matmul(m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (k, n))
    out = np.full((m, n), np.nan, np.float32)
    sizes = [np.int32(s) for s in (m, n, k)]
    grid = (-(-n // 16), -(-m // 16))
    launch("tiled_matmul", grid, (16, 16), a.astype("f4"), b.astype("f4"), out, *sizes)
    assert (out == a @ b).all()


def test_tensor_matmul() -> None:
    rng = np.random.default_rng(2)
    m, n, k = 64, 96, 80
    a, b = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (n, k))
    out = np.full((m, n), np.nan, np.float32)
    half = [x.astype(np.float16) for x in (a, b)]
    report = launch(
        "tensor_matmul", (n // 32, m // 32), (128,), *half, out, np.int32(n), np.int32(k)
    )
    assert (out == a @ b.T).all()
    assert report.counters["matrix.wmma.m16n16k16.f16"] > 0 and report.counters["copy"] > 0


def test_dropping_a_barrier_of_the_tensor_matmul_is_a_race() -> None:
    entry = SOURCE.index(".entry tensor_matmul")
    barriers = [
        found.start() for found in re.finditer(r"bar\.sync", SOURCE) if found.start() > entry
    ]
    half, out = np.ones((64, 80), np.float16), np.zeros((64, 64), np.float32)
    for barrier in barriers[:2]:
        changed = SOURCE[:barrier] + SOURCE[SOURCE.index(";", barrier) :]
        with pytest.raises(EmulationFault, match=r"race|pending-copy"):
            run(
                changed,
                language="ptx",
                entry="tensor_matmul",
                grid=(2, 2, 1),
                block=(128, 1, 1),
                arguments=[half, half, out, np.int32(64), np.int32(80)],
            )


@pytest.mark.parametrize("columns", [1, 33, 1000])
def test_softmax(columns: int) -> None:
    values = np.random.default_rng(3).standard_normal((3, columns)).astype(np.float32) * 5
    out = np.full((3, columns), 0x7FFF, np.uint16)
    launch("softmax", (3,), (128,), values, out, np.int32(columns))
    got = (out.astype(np.uint32) << 16).view(np.float32)
    wanted = np.exp(values.astype(float) - values.max(axis=1, keepdims=True))
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(got, wanted, rtol=2**-8)


def test_histogram() -> None:
    values = np.random.default_rng(4).integers(0, 20, 1000, np.uint32)
    counts = np.zeros(16, np.uint32)
    launch("histogram", (3,), (64,), values, counts, np.int32(1000))
    assert (counts == np.bincount(values, minlength=20)[:16]).all()


def test_loops_of_many_lengths() -> None:
    values = np.arange(1, 101, dtype=np.uint32)
    steps = np.zeros(100, np.int32)
    launch("collatz", (4,), (32,), values, steps, np.int32(100))

    def count(n: int) -> int:
        return 0 if n == 1 else 1 + count(3 * n + 1 if n % 2 else n // 2)

    assert steps.tolist() == [count(n) for n in range(1, 101)]


def test_local_arrays() -> None:
    values = np.random.default_rng(5).integers(-99, 99, (64, 9), np.int32)
    out = np.zeros((64, 5), np.int32)
    launch("medians", (2,), (32,), values, out)
    assert (out == np.sort(values, axis=1)[:, 2:7]).all()


def test_functions() -> None:
    x = np.random.default_rng(6).standard_normal(128).astype(np.float32) * 4
    x[:8] = [1e6, 3, 1e-3, 20, 0.5, 2, 1e-30, -2.5]
    out, wide = np.zeros(128, np.float32), np.zeros(128)
    launch("functions", (2,), (64,), x, out, wide, np.int32(128))
    cases = [
        math.sin,
        math.exp,
        lambda v: math.log(abs(v)),
        math.tanh,
        math.erf,
        lambda v: math.sqrt(abs(v)),
        lambda v: 1 / v,
        math.floor,
    ]
    wanted = np.array([cases[i % 8](float(v)) for i, v in enumerate(x)])
    np.testing.assert_allclose(out, wanted, rtol=3e-6, atol=1e-7)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(float)) / (1 + out.astype(float) ** 2)
    np.testing.assert_allclose(wide, exact, rtol=1e-14)


def test_half_pairs() -> None:
    x = np.random.default_rng(7).standard_normal(128).astype(np.float16)
    out = np.zeros(128, np.float16)
    launch("half_pairs", (2,), (32,), x, out, np.float32(3), np.float32(0.25))
    assert (out == np.maximum((x.astype(float) * 3 + 0.25).astype(np.float16), 0)).all()


@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (45, 70)])
def test_transpose(rows: int, columns: int) -> None:
    values = np.random.default_rng(8).integers(0, 256, (rows, columns), np.uint8)
    out = np.zeros((columns, rows), np.uint8)
    grid = (-(-columns // 32), -(-rows // 32))
    launch("transpose", grid, (32, 8), values, out, np.int32(rows), np.int32(columns))
    assert (out == values.T).all()
