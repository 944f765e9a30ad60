"""Numbers in their storage: sign, narrow floating types, rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    Array,
    Floating,
    Integer,
    Type,
)

#: A table is three times as fast as numpy's conversion.
_HALF_TO_FLOAT = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def integer(type_: Type) -> Integer:
    """The element type of an integer or vector of integers."""
    element = type_.element
    if not isinstance(element, Integer):
        raise TypeError(f"{type_} is not an integer type")
    return element


def floating(type_: Type) -> Floating:
    element = type_.element
    if not isinstance(element, Floating):
        raise TypeError(f"{type_} is not a floating-point type")
    return element


def signed(value: Array, type_: Integer) -> Array:
    """The two's complement value, in the signed type of the storage's width."""
    if type_.width == 1:
        return -value.astype(np.int8)
    storage = value.view(type_.signed_dtype)
    if type_.fills_storage:
        return storage
    spare = type_.signed_dtype.itemsize * 8 - type_.width
    return (storage << spare) >> spare


def wrap(value: Array, type_: Integer) -> Array:
    """An integer array of any type, modulo ``2**width``, in the storage of ``type_``."""
    if type_.width == 1:
        return (value & 1).astype(np.bool_)
    stored = value.astype(type_.dtype, copy=False)
    return stored if type_.fills_storage else stored & type_.dtype.type((1 << type_.width) - 1)


def widen(value: Array, type_: Floating) -> Array:
    """half and bfloat as float32; float and double as they are."""
    if type_ == HALF:
        return _HALF_TO_FLOAT.take(value.view(np.uint16))
    if type_ == BFLOAT:
        return bfloat_to_float(value)
    return value


def narrow(value: Array, type_: Floating) -> Array:
    """Round float32 or float64 to the storage of ``type_``, to nearest even."""
    if type_ == BFLOAT:
        return float_to_bfloat(value)
    return value.astype(type_.dtype, copy=False)


def lifted(operation: Callable[..., Any], type_: Floating) -> Callable[..., Array]:
    """``operation`` on values of ``type_``.

    For half and bfloat it is computed in float32 and rounded once more, which for + - * / and
    square root gives the correctly rounded result (24 >= 2 * 11 + 2 bits).
    """
    if type_ in (FLOAT, DOUBLE):
        return operation

    def in_float(*values: Array) -> Array:
        return narrow(operation(*(widen(value, type_) for value in values)), type_)

    return in_float


def bfloat_to_float(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def float_to_bfloat(value: Array) -> Array:
    """float32 or float64 to bfloat bits, to nearest even; a NaN stays one, made quiet."""
    single = value if value.dtype == np.float32 else _to_odd_single(value)
    bits = np.ascontiguousarray(single).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), quiet, rounded).astype(np.uint16)


def _to_odd_single(value: Array) -> Array:
    """float64 to float32 rounded to odd, so that rounding once more is rounding once.

    S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums", 2008.
    """
    single = value.astype(np.float32)
    bits = single.view(np.uint32)
    inexact = (single != value) & np.isfinite(value) & ~np.isnan(value)
    toward_zero = bits - (inexact & (np.abs(single) > np.abs(value))).astype(np.uint32)
    return np.where(inexact, toward_zero | np.uint32(1), bits).astype(np.uint32).view(np.float32)


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in the next wider type, then rounded.

    The product is exact there; the sum is rounded twice, which differs from a true fma in about
    one of 2**29 results by one unit in the last place.
    """
    if a.dtype == np.float32:
        wide = np.multiply(a, b, dtype=np.float64)
        wide = np.add(wide, c, out=wide) if wide.shape == c.shape else wide + c
        return wide.astype(np.float32)
    extended = np.longdouble
    return (a.astype(extended) * b.astype(extended) + c.astype(extended)).astype(a.dtype)
