"""Results of one byte on AVX2: packed together, and functions of one byte by a table."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import emulate, pipeline
from kgen.schedule import DotMatmul
from kgen.spec import ConstantOperand, DType, Matmul
from tests.device.cpu.cpu_support import addresses, check, here, load

Array = npt.NDArray[Any]
AVX2 = "x86-64-v3"
M, N, K = 23, 41, 8
#: Tiles of which rows and columns are partial, and groups of four vectors are not whole.
SMALL = DotMatmul(mr=5, nr=16, mc=15, kc=64, nc=32)
ZERO_POINT = "round(x * scale + bias) + -37"
#: A whole range of bytes, and a shorter one.
TABLE = "round(exp2(min(max(round(x * scale + bias), {}), {}) * factor) * 3) + zero"
NUMBERS = {"factor": 0.0625, "zero": -9.0}


def product(limits: tuple[int, int] | None) -> Matmul:
    fields: dict[str, Any] = {"epilogue": ZERO_POINT}
    if limits:
        fields = {"epilogue": TABLE.format(*limits), "epilogue_shapes": dict.fromkeys(NUMBERS, "1")}
    return Matmul(m=M, n=N, k=K, dtype=DType.S8, out_dtype=DType.S8, **fields)


def expected(sums: Array, scale: Array, bias: Array, limits: tuple[int, int] | None) -> Array:
    """Results by numpy: NaN gives 0, everything else the nearest byte."""
    with np.errstate(all="ignore"):
        whole = np.rint(sums.astype(np.float32) * scale + bias)
        if limits is None:
            found = whole - np.float32(37)
        else:
            byte = np.clip(whole.astype(np.float64), *limits)
            found = np.rint(np.exp2(byte * NUMBERS["factor"]) * 3) + NUMBERS["zero"]
    return np.clip(np.where(np.isnan(found), 0, found), -128, 127).astype(np.int8)


@pytest.mark.parametrize("limits", [None, (-170, 85), (-7, 90)])
def test_infinities_nan_and_every_byte(limits: tuple[int, int] | None) -> None:
    """Numbers beyond 32 bits saturate on both sides; the emulator computes the same."""
    found, spec, rng = here(AVX2), product(limits), np.random.default_rng(5)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((M, K), (K, N)))
    scale = rng.uniform(1e-4, 4e-3, N).astype(np.float32)
    bias = rng.uniform(-9, 9, N).astype(np.float32)
    scale[[3, 5, 7, 9, 11]] = np.nan, np.inf, 1e30, -1e30, 3e4
    bias[[12, 13, 14, 40]] = np.nan, np.inf, -np.inf, 0.5
    scale[15], bias[15] = 0, 2.0**31
    outs = np.full((2, M, N), 77, np.int8)
    given = {"a": a, "b": b, "scale": scale, "bias": bias, "out": outs[0]}
    given |= {name: np.array([number], np.float32) for name, number in NUMBERS.items()}
    arrays = {p.name: given[p.name] for p in spec.parameters}
    kernel = pipeline.kernel(spec, found, SMALL)
    load(spec, found, SMALL).run(addresses(arrays))
    tasks = pipeline.plan(spec, found, SMALL).launches[0].grid[0]
    emulate.run(
        kernel.source.text,
        language="llvm",
        entry=spec.key,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        arguments=[*(arrays | {"out": outs[1]}).values(), np.int64(0), np.int64(tasks)],
    )
    sums = a.astype(np.int32) @ b.astype(np.int32)
    for out in outs:
        np.testing.assert_array_equal(out, expected(sums, scale, bias, limits))


@pytest.mark.parametrize("limits", [None, (-128, 127)])
def test_against_the_reference(limits: tuple[int, int] | None) -> None:
    found, spec = here(AVX2), product(limits)
    check(spec, found)
    check(dataclasses.replace(spec, constant=(ConstantOperand.B,)), found)
