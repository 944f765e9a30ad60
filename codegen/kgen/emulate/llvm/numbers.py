"""Conversions between LLVM numbers and the numpy arrays that store them (see :mod:`types`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.floats import F16_TO_F32, bf16_to_f32, to_bf16
from kgen.emulate.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    Array,
    Floating,
    LlvmInteger,
    LlvmType,
)


def integer(type_: LlvmType) -> LlvmInteger:
    """Return the element type of an integer or vector of integers. Raises TypeError for others."""
    element = type_.element
    if not isinstance(element, LlvmInteger):
        raise TypeError(f"{type_} is not an integer type")
    return element


def floating(type_: LlvmType) -> Floating:
    """Return the element type of a float or vector of floats. Raises TypeError for others."""
    element = type_.element
    if not isinstance(element, Floating):
        raise TypeError(f"{type_} is not a floating-point type")
    return element


def signed(value: Array, type_: LlvmInteger) -> Array:
    """Return stored integers as signed numbers (two's complement), in numpy's signed type of the
    storage's width."""
    if type_.width == 1:
        return -value.astype(np.int8)
    storage = value.view(type_.signed_dtype)
    if type_.fills_storage:
        return storage
    spare = type_.signed_dtype.itemsize * 8 - type_.width
    return (storage << spare) >> spare


def wrap(value: Array, type_: LlvmInteger) -> Array:
    """Return integers of any numpy type modulo ``2**width``, as ``type_`` stores them."""
    if type_.width == 1:
        return (value & 1).astype(np.bool_)
    stored = value.astype(type_.dtype, copy=False)
    return stored if type_.fills_storage else stored & type_.dtype.type((1 << type_.width) - 1)


def widen(value: Array, type_: Floating) -> Array:
    """Convert stored half and bfloat to float32, exactly; return float and double unchanged."""
    if type_ == HALF:
        return F16_TO_F32.take(value.view(np.uint16))
    if type_ == BFLOAT:
        return bf16_to_f32(value)
    return value


def narrow(value: Array, type_: Floating) -> Array:
    """Round float32 or float64 to nearest even, and return the numbers as ``type_`` stores them."""
    if type_ == BFLOAT:
        return float_to_bfloat(value)
    return value.astype(type_.dtype, copy=False)


def lifted(operation: Callable[..., Any], type_: Floating) -> Callable[..., Array]:
    """Return a function that applies ``operation`` to stored values of ``type_``.

    For half and bfloat, the function computes in float32 and rounds the result. For + - * / and
    square root that gives the correctly rounded result, because float32 has 24 >= 2 * 11 + 2 bits.
    """
    if type_ in (FLOAT, DOUBLE):
        return operation

    def in_float(*values: Array) -> Array:
        return narrow(operation(*(widen(value, type_) for value in values)), type_)

    return in_float


def float_to_bfloat(value: Array) -> Array:
    """Round float32 or float64 to the bits of bfloat, to nearest even. NaN becomes a quiet NaN."""
    rounded = to_bf16(value)
    single = np.ascontiguousarray(value, np.float32)
    quiet = (single.view(np.uint32) >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), quiet, rounded).astype(np.uint16)
