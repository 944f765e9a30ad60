"""Constants exact, and the polynomial of gelu as good as it says."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from kgen.targets.llvm_ir import GELU_POLYNOMIAL, FloatType, float_literal
from kgen_runtime.dtypes import DType


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, -1.5957691216057308, 1e-45, math.inf])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_literals_are_the_value_rounded_to_the_type(value: float, dtype: DType) -> None:
    (back,) = struct.unpack(">d", bytes.fromhex(float_literal(value, dtype)[2:]))
    expected = float(np.float32(value)) if dtype is DType.F32 else value
    assert struct.pack("d", back) == struct.pack("d", expected)


def test_types_print_as_llvm_writes_them() -> None:
    vector = FloatType(dtype=DType.BF16, lanes=8)
    assert (str(vector), vector.suffix, vector.condition) == (
        "<8 x bfloat>",
        "v8bf16",
        "<8 x i1>",
    )
    assert (str(FloatType(dtype=DType.F32)), FloatType(dtype=DType.F32).suffix) == ("float", "f32")
    assert FloatType(dtype=DType.F32, lanes=2).constant(1.0) == "splat (float 0x3FF0000000000000)"


def test_gelu_polynomial_gives_the_normal_distribution() -> None:
    """Phi(-x) = u exp(p(u) - x^2/2) / 2, against erfc, in f32 as the kernels compute it."""
    x = np.linspace(0.0, 12.0, 20001)
    u = np.float32(1.0) / (np.float32(1.0) + x.astype(np.float32) * np.float32(8.0**-0.5))
    p = np.zeros_like(u)
    for coefficient in GELU_POLYNOMIAL:
        p = p * u + np.float32(coefficient)
    # exp's argument is exact here: what is measured is the polynomial and its arithmetic.
    ours = u.astype(float) * np.exp(p.astype(float) - x * x / 2.0) / 2.0
    exact = np.array([math.erfc(v / math.sqrt(2.0)) / 2.0 for v in x])
    assert np.abs(ours / exact - 1.0).max() < 5e-7
