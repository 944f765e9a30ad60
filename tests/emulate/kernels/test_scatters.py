"""Scatters: calls of a kernel write rows into a table; an index out of range writes nothing.
Kernels without that rule: `mutations/every_data_set/scatters.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.errors import SpecError
from kgen.spec import Elementwise
from kgen_runtime.errors import ArgumentError

Array = np.ndarray[Any, Any]
CACHE = Elementwise(
    expression="scatter(cache, pos, rows, 1)",
    shapes=((2, 12, 8), (1,), (2, 1, 8)),
    dtype="f32",
    index_dtype="s64",
)


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_a_call_writes_into_its_table(device: str, tmp_path: Path) -> None:
    made = kgen.build(CACHE, targets=[{"cpu": "native", "vulkan": "vulkan1.3"}[device]])
    rng = np.random.default_rng(0)
    cache, row = (rng.standard_normal(s, np.float32) for s in (CACHE.shapes[0], CACHE.shapes[2]))
    with kgen_runtime.load(made.save(tmp_path / "m.kgen"), device=device) as kernels:
        kernel = kernels[next(iter(kernels))]

        def there(array: Array) -> Any:
            return array if device == "cpu" else kernels.to_device(array)

        table, rows = there(cache.copy()), there(row)
        expected = cache.copy()
        for pos in (3, -1, 12, -13, 1 << 40):
            if -12 <= pos < 12:
                expected[:, [pos]] = row
            found = kernel(table, there(np.array([pos])), rows)
            assert found is table
            np.testing.assert_array_equal(found if device == "cpu" else found.numpy(), expected)
        assert kernel(table, there(np.array([0])), rows, out=table) is table
        with pytest.raises(ArgumentError, match="writes rows of cache in place; pass that as out="):
            kernel(table, there(np.array([0])), rows, out=there(cache.copy()))


@pytest.mark.parametrize(
    ("expression", "shapes", "message"),
    [
        ("scatter(t, i, r) + 1", ((4, 3), (1,), (3,)), "make it all of the expression"),
        ("scatter(t, i, r + slice(t, 0, 1, 2))", ((4, 3), (1,), (3,)), "nothing else reads"),
        ("scatter(transpose(t), i, r)", ((4, 3), (1,), (4,)), "an input of the output's type"),
        ("scatter(t, i, r)", ((4, 3), (2,), (3, 3)), "writes rows of shape 3x3; give rows of 2x3"),
        ("scatter(t, i, 0)", ((4, 3), (1,)), "scatter needs a tensor of numbers here"),
    ],
)
def test_what_is_no_scatter(expression: str, shapes: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        Elementwise(expression=expression, shapes=shapes, dtype="f32")
