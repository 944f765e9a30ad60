"""Bitwise operations and shifts of integers in compiled CPU kernels."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.spec import DType
from tests import integer_bits
from tests.device.cpu.cpu_support import addresses, here, load


@pytest.mark.parametrize("dtype", integer_bits.DTYPES)
@pytest.mark.parametrize("name", ["x86-64-v4", "x86-64-v3", "x86-64"])
def test_bits_and_shifts(name: str, dtype: DType) -> None:
    x, y = integer_bits.pairs(dtype)
    for function in integer_bits.FUNCTIONS:
        found = np.zeros_like(x)
        kernel = load(integer_bits.spec_of(dtype, function, len(x)), here(name))
        kernel.run(addresses({"x": x, "y": y, "out": found}))
        integer_bits.check(x, y, function, found)
