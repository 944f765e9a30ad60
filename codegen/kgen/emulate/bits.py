"""Bit operations on arrays of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def parts(words: Array, dtype: npt.DTypeLike) -> Array:
    """Return words as narrower numbers, low ones first: [..., part]."""
    return np.ascontiguousarray(words)[..., None].view(dtype)


def leading_zeros(words: Array, bits: int) -> Array:
    """Return the number of zeros above the highest 1 in the lower `bits` of unsigned words."""
    for shift in (1, 2, 4, 8, 16, 32):  # fill with ones below the highest one
        if shift < bits:
            words = words | (words >> words.dtype.type(shift))
    return np.asarray(bits - np.bitwise_count(words))


def reversed_bits(words: Array, bits: int) -> Array:
    one, result = words.dtype.type(1), np.zeros_like(words)
    for bit in range(bits):
        result |= ((words >> words.dtype.type(bit)) & one) << words.dtype.type(bits - 1 - bit)
    return result
