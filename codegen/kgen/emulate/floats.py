"""Floating-point conversions and sums that numpy lacks or computes slowly, with a single
rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: All f16 values as f32. A table look-up is faster than numpy's conversion.
F16_TO_F32 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16).astype("f4")


def bf16_to_f32(bits: Array) -> Array:
    """Convert bfloat16 bits to f32, exactly."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(value: Array) -> Array:
    """Round f32 or f64 to bfloat16 bits, to nearest even and only once. NaN gives arbitrary
    bits."""
    single = np.ascontiguousarray(value, dtype=np.float32)
    bits = single.view(np.uint32)
    if value.dtype.itemsize == 8:
        # A value that is a tie only after its rounding to f32 must not be rounded as a tie.
        tie = (bits & np.uint32(0xFFFF)) == 0x8000
        below = tie & (np.abs(value) < np.abs(single))
        above = tie & (np.abs(value) > np.abs(single))
        bits = bits - below.astype(np.uint32) + above.astype(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)


def round_towards(value: Array, dtype: npt.DTypeLike, rounding: str) -> Array:
    """Round a value to a narrower float dtype: rn to nearest even, rz to zero, rm down, rp up."""
    nearest = value.astype(dtype, copy=False)
    if rounding == "rn" or nearest.dtype == value.dtype:
        return nearest
    back = nearest.astype(value.dtype)
    zero, infinity = nearest.dtype.type(0), nearest.dtype.type(np.inf)
    if rounding == "rz":
        return np.where(np.abs(back) > np.abs(value), np.nextafter(nearest, zero), nearest)
    if rounding == "rm":
        return np.where(back > value, np.nextafter(nearest, -infinity), nearest)
    return np.where(back < value, np.nextafter(nearest, infinity), nearest)


def add_odd(a: Array, b: Array, *, down: bool = False) -> Array:
    """Return a + b in f64, rounded to odd.

    Rounding the result again to half the bits, in any direction, gives the exact sum rounded once
    (S. Boldo and G. Melquiond, "Emulation of FMA and Correctly Rounded Sums: Proved Algorithms
    Using Rounding to Odd", 2008). With `down`, a zero sum is -0, unless both terms are +0 (IEEE
    754, 6.3).
    """
    total: Array = np.add(a, b, dtype=np.float64)
    of_b = total - a
    # The error of the sum, exactly (D. Knuth's two-sum).
    odd = _odd(total, (a - (total - of_b)) + (b - of_b))
    if not down:
        return odd
    return np.where((odd == 0) & (np.signbit(a) | np.signbit(b)), -0.0, odd)


def integer_odd(value: Array) -> Array:
    """Return integers as f64, rounded to odd."""
    total = value.astype(np.float64)
    return _odd(total, value.astype(np.longdouble) - total)


def _odd(nearest: Array, error: Array) -> Array:
    """Return the neighbour of an exact value whose last bit is 1, given the nearest f64 and its
    error.

    An infinite sum, whose error is NaN, stays infinite.
    """
    even = nearest.view(np.uint64) & np.uint64(1) == 0
    raised = np.where(even & (error > 0), np.nextafter(nearest, np.inf), nearest)
    return np.where(even & (error < 0), np.nextafter(nearest, -np.inf), raised)


def flush(value: Array) -> Array:
    """Replace subnormal f32 values by zeros of the same sign."""
    tiny = np.finfo(np.float32).tiny
    return np.where(np.abs(value) < tiny, np.copysign(np.float32(0), value), value)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, computed in the next wider type and rounded.

    The product is exact; the sum is rounded twice, which differs from a true fma by one unit in the
    last place in about one of 2**29 results.
    """
    if a.dtype == np.float64:
        extended = np.longdouble
        return (a.astype(extended) * b.astype(extended) + c.astype(extended)).astype(a.dtype)
    # In place if possible: these lines take most of the time of an emulated f32 product.
    wide: Array = np.multiply(a, b, dtype=np.float64)
    wide = np.add(wide, c, out=wide if wide.shape == c.shape else None)
    return wide.astype(np.float32)
