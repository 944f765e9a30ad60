"""Remainders and rounded quotients of floats in compiled CPU kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.spec import DType, Elementwise, Matmul, Rowwise
from tests import remainders
from tests.device.cpu.cpu_support import addresses, check, here, load


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
@pytest.mark.parametrize("name", ["x86-64-v4", "x86-64-v3", "x86-64"])
def test_remainders_are_exact(name: str, dtype: DType) -> None:
    storage: Any = np.dtype(dtype.storage)
    x, y = remainders.pairs(storage)
    spec = Elementwise(expression=remainders.EXPRESSION, shapes=(x.shape,) * 2, dtype=dtype)
    found = {out: np.zeros_like(x) for out in ("cut", "down", "out")}
    load(spec, here(name)).run(addresses({"x": x, "y": y, **found}))
    remainders.check(x, y, found)


def test_remainders_in_rows_and_epilogues() -> None:
    found = here("x86-64-v3")
    check(Rowwise(expression="x % (amax(x) + 1)", shapes=((7, 37),), dtype=DType.F32), found)
    check(Matmul(m=17, n=33, k=20, dtype=DType.F32, epilogue="x % 3 + fmod(x, bias)"), found)
