"""Skinny GEMMs of 1 to 16 rows: every number of rows, in all layouts, alone and in a batch."""

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
    """Odd ones alone, even ones in a batch of two; columns and k that no vector divides. A number
    has half of the layouts on a target, and the other half on the next target: one with A
    transposed, one without."""
    turn = LEVELS.index(name) + layout.b_transposed
    shapes = [
        Matmul(m=m, n=37, k=19, dtype=dtype, layout=layout, batch=2 - m % 2)
        for m in range(1, 17)
        if (m // 2 + turn) % 2 == 0
    ]
    report = verify(kgen.build(shapes, [here(name)]))
    assert [result.status for result in report.kernels] == ["passed"] * len(shapes)
