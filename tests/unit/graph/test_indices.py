"""Index tensors with a second use: as the table, in a formula, or as the written values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from tests.onnx_models import Maker, lowered, run

Array = np.ndarray[Any, Any]
P = np.array([2, 0, 1, 3])
TABLE = np.array([5.5, -6.25, 7, 8.5], np.float32)
ROWS = np.array([[1.5, 2], [3, -4], [5, 6.5], [7, 8]], np.float32)


def gather_itself(m: Maker, p: str) -> tuple[str, Array]:
    return m.add("Gather", p, p), P[P]


def gather_itself_twice(m: Maker, p: str) -> tuple[str, Array]:
    return m.add("Gather", m.add("Gather", p, p), p), P[P][P]


def by_what_is_gathered(m: Maker, p: str) -> tuple[str, Array]:
    found = m.add("Gather", m.constant(TABLE), m.add("Gather", p, p))
    return m.add("Cast", found, to=T.INT64), TABLE[P[P]].astype(np.int64)


def and_a_number(m: Maker, p: str) -> tuple[str, Array]:
    table = m.constant([50, 60, 70, 80], np.int64)
    return m.add("Add", m.add("Gather", table, p), p), np.array([50, 60, 70, 80])[P] + P


def and_a_float(m: Maker, p: str) -> tuple[str, Array]:
    gathered = m.add("Gather", m.constant(TABLE), p)
    total = m.add("Add", gathered, m.add("Cast", p, to=T.FLOAT))
    scaled = m.add("Mul", total, m.constant(4.0))
    return m.add("Cast", scaled, to=T.INT64), ((TABLE[P] + P) * 4).astype(np.int64)


def and_a_number_of_rows(m: Maker, p: str) -> tuple[str, Array]:
    column = m.add("Cast", m.add("Reshape", p, m.constant([4, 1], np.int64)), to=T.FLOAT)
    total = m.add("Add", m.add("Gather", m.constant(ROWS), p), column)
    doubled = m.add("Mul", total, m.constant(2.0))
    return m.add("Cast", doubled, to=T.INT64), ((ROWS[P] + P[:, None]) * 2).astype(np.int64)


def index_of_two_tables(m: Maker, p: str) -> tuple[str, Array]:
    one, other = np.array([1, 2, 3, 4]), np.array([10, 20, 30, 40])
    parts = [m.add("Gather", m.constant(table, np.int64), p) for table in (one, other)]
    return m.add("Add", m.add("Add", *parts), p), one[P] + other[P] + P


def scattered_into(m: Maker, p: str) -> tuple[str, Array]:
    """Scatter into the index tensor."""
    expected = P.copy()
    expected[P] = [7, 8, 9, 10]
    return m.add("ScatterElements", p, p, m.constant([7, 8, 9, 10], np.int64), axis=0), expected


def scattered(m: Maker, p: str) -> tuple[str, Array]:
    """Scatter the index tensor."""
    expected = np.array([7, 8, 9, 10])
    expected[P] = P
    table = m.constant([7, 8, 9, 10], np.int64)
    return m.add("ScatterElements", table, p, p, axis=0), expected


CASES = (
    gather_itself,
    gather_itself_twice,
    by_what_is_gathered,
    and_a_number,
    and_a_float,
    and_a_number_of_rows,
    index_of_two_tables,
    scattered_into,
    scattered,
)


@pytest.mark.parametrize("dtype", [T.INT64, T.INT32])
@pytest.mark.parametrize("case", CASES)
def test_an_index_that_is_something_else_too(
    case: Callable[[Maker, str], tuple[str, Array]], dtype: int
) -> None:
    """The results are those of numpy's indexing."""
    m = Maker(opset=18)
    p = m.input("p", (4,), dtype)
    wide = p if dtype == T.INT64 else m.add("Cast", p, to=T.INT64)
    out, expected = case(m, wide)
    calls, _ = lowered(m, out, dtype=T.INT64)
    storage = np.int64 if dtype == T.INT64 else np.int32
    (found,) = run(calls, {"p": P.astype(storage)}).values()
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
