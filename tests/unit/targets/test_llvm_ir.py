"""Constants in LLVM IR are exact, and gelu's polynomial has the stated error."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from kgen.targets.llvm_ir import FloatType, float_literal
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
