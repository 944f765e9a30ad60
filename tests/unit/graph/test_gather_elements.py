"""GatherElements by its text: out[i][j] = x[index[i][j]][j] along axis 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from kgen.errors import GraphError
from tests.onnx_models import Maker, lowered, run

Array = np.ndarray[Any, Any]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) + 0.5


def expected(x: Array, index: Array, axis: int) -> Array:
    """Compute element by element; zero for an index outside of the axis."""
    found = np.zeros(index.shape, x.dtype)
    for at in np.ndindex(*index.shape):
        if -x.shape[axis] <= (n := int(index[at])) < x.shape[axis]:
            found[at] = x[(*at[:axis], n, *at[axis + 1 :])]
    return found


def computed(index: Array, axis: int, is_constant: bool = False) -> Array:
    m = Maker(opset=13)
    kind = T.INT32 if index.dtype == np.int32 else T.INT64
    by = m.constant(index, index.dtype) if is_constant else m.input("i", index.shape, kind)
    calls, _ = lowered(m, m.add("GatherElements", m.input("x", X.shape), by, axis=axis))
    (found,) = run(calls, {"x": X} if is_constant else {"x": X, "i": index}).values()
    return found.reshape(index.shape)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 3, 4), 0),
        ((2, 3, 4), 1),
        ((2, 3, 4), 2),
        ((1, 9, 2), 1),
        ((7, 1, 3), 0),
        ((2, 2, 5), -1),
    ],
)
def test_gather_elements(shape: tuple[int, ...], axis: int, dtype: Any, is_constant: bool) -> None:
    n = X.shape[axis]
    index = np.random.default_rng(0).integers(-n, n, shape).astype(dtype)
    found = computed(index, axis, is_constant)
    np.testing.assert_array_equal(found, expected(X, index, axis % 3))


def test_an_index_outside_of_its_axis_gives_zero() -> None:
    """An index out of range does not read an element of another row."""
    index = np.array([[[3], [-4], [2]], [[-3], [99], [1 << 40]]])
    np.testing.assert_array_equal(computed(index, 1), expected(X, index, 1))


@pytest.mark.parametrize(
    ("index", "axis", "why"),
    [
        (np.zeros((3, 3, 4), np.int64), 1, "has indices of shape 3x3x4 for 2x3x4"),
        (np.zeros((2, 3), np.int64), 1, "has indices of shape 2x3 for 2x3x4|does not fit"),
        (np.full((2, 3, 4), 3), 1, "has an index outside of the 3 elements of axis 1"),
    ],
)
def test_indices_that_do_not_fit(index: Array, axis: int, why: str) -> None:
    with pytest.raises(GraphError, match=why):
        computed(index, axis, is_constant=True)
