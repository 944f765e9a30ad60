"""Skinny GEMMs with M from 1 to 16, in all layouts, alone and in a batch."""

from __future__ import annotations

import pytest

import kgen
from kgen.spec import DType, Layout, Matmul
from tests.device.cpu.cpu_support import here
from tests.needs import LEVELS
from tests.open_devices import verify


@pytest.mark.slow
@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("layout", list(Layout), ids=lambda layout: layout.value)
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.S8], ids=lambda dtype: dtype.value)
def test_every_number_of_rows(dtype: DType, layout: Layout, name: str) -> None:
    """Odd M alone, even M in a batch of two; N and K are no multiples of a vector. A target runs
    half of the layouts of each M, the next target the other half; each half has A transposed and
    not transposed."""
    turn = LEVELS.index(name) + layout.b_transposed
    shapes = [
        Matmul(m=m, n=37, k=19, dtype=dtype, layout=layout, batch=2 - m % 2)
        for m in range(1, 17)
        if (m // 2 + turn) % 2 == 0
    ]
    report = verify(kgen.build(shapes, [here(name)]))
    assert [result.status for result in report.kernels] == ["passed"] * len(shapes)
