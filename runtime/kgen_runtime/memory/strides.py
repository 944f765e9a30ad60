"""Strides of a tensor, in elements: contiguous strides, and the extent of strided tensors."""

from __future__ import annotations

from functools import lru_cache


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous row-major tensor."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


@lru_cache(maxsize=1024)  # The values of a program have few different shapes.
def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return the number of elements from the first to the last one, both included; 0 for an empty
    tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
