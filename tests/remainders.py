"""Pairs of floats, and their remainders and quotients in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]

#: One kernel for all three functions.
EXPRESSION = "cut = fmod(x, y); down = x // y; out = x % y"
INF, NAN = math.inf, math.nan
SPECIAL = (
    *((5, INF), (-5, INF), (5, -INF), (-5, -INF), (3, INF), (0, INF), (-0.0, INF), (INF, 5)),
    *((-INF, 5), (INF, INF), (5, 0), (-5, 0), (0, 0), (NAN, 5), (5, NAN), (NAN, INF), (-0.0, 3)),
    *((1e9, 3), (-1e9, 3), (1e9, -3), (1e38, 3e-38), (-1e38, 7e-38), (3.4e38, 1.2e-38), (6, 3)),
    *((-6, 3), (6, -3), (1, 3), (-1, 3), (0.1, 1e30), (-0.1, 1e30), (1e-3, -1e30), (2.5, 0.5)),
)


def pairs(dtype: Any, subnormal: bool = True) -> tuple[Values, Values]:
    """Return special values, then quotients from 1 to the largest of the type."""
    rng = np.random.default_rng(0)
    top = 120 if dtype == np.float32 else 1000
    size = 400
    x = rng.standard_normal(size) * 2.0 ** rng.integers(-top, top, size).astype(float)
    y = rng.standard_normal(size) * 2.0 ** rng.integers(-top, top, size).astype(float)
    near = rng.standard_normal(size) * 1000, rng.standard_normal(size)
    whole = rng.integers(-(10**6), 10**6, size), rng.integers(1, 1000, size)
    special = np.array(SPECIAL).T
    small: list[Values] = []
    if subnormal:
        least = float(np.finfo(dtype).smallest_subnormal)
        scales = least * 2.0 ** rng.integers(0, 40, (2, size)).astype(float)
        small = [rng.integers(1, 1 << 20, (2, size)) * scales]
    found = np.concatenate([special, [x, y], near, whole, *small], axis=1).astype(dtype)
    return found[0], found[1]


def expected(x: float, y: float) -> dict[str, float]:
    """Return the three functions of two floats in exact arithmetic; the caller rounds once."""
    if y == 0 or math.isnan(x) or math.isnan(y) or math.isinf(x):
        by_zero = float(np.divide(x, np.float64(y))) if y == 0 else NAN
        return {"cut": NAN, "out": NAN, "down": by_zero}
    cut = math.fmod(x, y)
    if math.isinf(y):
        apart = x != 0 and (x < 0) != (y < 0)
        return {"cut": cut, "out": y if apart else x, "down": -1.0 if apart else 0.0}
    quotient = Fraction(x) // Fraction(y)
    left = Fraction(x) - quotient * Fraction(y)
    try:
        down = float(quotient)
    except OverflowError:
        down = INF if quotient > 0 else -INF
    return {"cut": cut, "out": float(left), "down": down}


def check(x: Values, y: Values, found: dict[str, Values], flushes: bool = False) -> None:
    """Check that fmod is exact, % rounded once, and // exact below 2^21, otherwise within 4 ulp."""
    with np.errstate(all="ignore"):
        rows = [expected(float(a), float(b)) for a, b in zip(x, y, strict=True)]
        wanted = {name: np.array([row[name] for row in rows]).astype(x.dtype) for name in rows[0]}
    tiny = np.abs(wanted["cut"]) < np.finfo(x.dtype).smallest_normal
    chosen = ~tiny | (wanted["cut"] == 0) if flushes else np.ones(x.shape, bool)
    for name in ("cut", "out"):
        np.testing.assert_array_equal(found[name][chosen], wanted[name][chosen], err_msg=name)
    zeros = chosen & (wanted["cut"] == 0)
    np.testing.assert_array_equal(np.signbit(found["cut"][zeros]), np.signbit(x[zeros]))
    small = chosen & (np.abs(wanted["down"]) < 2**21)
    np.testing.assert_array_equal(found["down"][small], wanted["down"][small], err_msg="down")
    large = chosen & ~small
    np.testing.assert_allclose(
        found["down"][large], wanted["down"][large], rtol=4 * np.finfo(x.dtype).eps
    )
