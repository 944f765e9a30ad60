"""Pairs of integers, and bitwise operations and shifts of them by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.spec import DType, Elementwise

Values = npt.NDArray[Any]
DTYPES = (DType.S32, DType.S64, DType.U8, DType.S8)


def shifted_right(x: int, n: int) -> int:
    return x >> n if 0 <= n < 64 else min(x, 0) >> 64


FUNCTIONS: Mapping[str, tuple[str, Callable[[int, int], int]]] = {
    "both": ("bitwise_and(x, y)", lambda x, y: x & y),
    "left": ("shift_left(x, y)", lambda x, y: x << y if 0 <= y < 64 else 0),
    "right": ("shift_right(x, y)", shifted_right),
}


def pairs(dtype: DType) -> tuple[Values, Values]:
    """Return limits of a type, bit patterns, and shifts from below 0 to beyond the width."""
    info = np.iinfo(dtype.storage)
    numbers = [info.min, info.max, 0, 1, info.max // 3, info.max - 1, info.min // 2, info.max // 5]
    shifts = [n for n in range(-2, 67) if info.min <= n <= info.max]
    others = [*shifts, info.min, info.max, info.max // 5 * 2]
    found = np.array([(x, y) for x in numbers for y in others], dtype.storage)
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def spec_of(dtype: DType, name: str, count: int) -> Elementwise:
    return Elementwise(expression=FUNCTIONS[name][0], shapes=((count,),) * 2, dtype=dtype)


def check(x: Values, y: Values, name: str, found: Values) -> None:
    """Check results: integers of 8 bits saturate, as in every kernel; others wrap around."""
    info = np.iinfo(x.dtype)
    exact = [FUNCTIONS[name][1](a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    if info.bits == 8:
        expected = np.clip(np.array(exact, object), info.min, info.max).astype(x.dtype)
    else:
        cut = [number % (1 << info.bits) for number in exact]
        expected = np.array(cut, f"u{info.bits // 8}").astype(x.dtype)
    wrong = np.flatnonzero(found != expected)
    assert not len(wrong), (name, x[wrong[0]], y[wrong[0]], found[wrong[0]], expected[wrong[0]])
