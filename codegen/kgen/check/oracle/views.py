"""Views by numpy's own functions, on whole arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen_runtime.expressions.views import TENSORS

Array = npt.NDArray[Any]


def split(name: str, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return a view's tensors and its numbers."""
    count = TENSORS[name] or len(arguments) - 1
    return arguments[:count], arguments[count:]


def viewed(name: str, tensors: Sequence[Array], numbers: Sequence[float]) -> Array:
    """Apply a view. A gather from an index outside the table gives zeros."""
    x = tensors[0]
    if name == "permute":
        return np.transpose(x, [int(axis) for axis in numbers])
    if name == "transpose":
        return np.swapaxes(x, -1, -2)
    if name == "expand":
        return np.broadcast_to(x, [int(size) for size in numbers])
    if name == "concat":
        return np.concatenate(tensors, axis=int(numbers[0]))
    axis = int(numbers[0])
    if name == "slice":
        start, stop, step = (None if math.isinf(n) else int(n) for n in numbers[1:])
        return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]
    if name == "pad":
        widths = [(0, 0)] * x.ndim
        widths[axis] = (int(numbers[1]), int(numbers[2]))
        return np.pad(x, widths, constant_values=numbers[3])
    index = tensors[1]
    size = x.shape[axis]
    held = (index >= -size) & (index < size)
    if name == "scatter":
        axis %= x.ndim
        made = np.moveaxis(x, axis, 0).copy()
        rows = np.broadcast_to(tensors[2], (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
        inner = np.moveaxis(rows, range(axis, axis + index.ndim), range(index.ndim))
        made[index[held].astype(np.int64)] = inner[held]
        return np.moveaxis(made, 0, axis)
    found = np.take(x, np.where(held, index, 0).astype(np.int64), axis=axis)
    behind = (1,) * (x.ndim - axis % x.ndim - 1)
    return np.where(held.reshape(*held.shape, *behind), found, np.zeros((), x.dtype))
