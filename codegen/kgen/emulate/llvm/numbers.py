"""Numbers in their storage: sign, narrow floating types, rounding."""

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
    """The element type of an integer or vector of integers."""
    element = type_.element
    if not isinstance(element, LlvmInteger):
        raise TypeError(f"{type_} is not an integer type")
    return element


def floating(type_: LlvmType) -> Floating:
    element = type_.element
    if not isinstance(element, Floating):
        raise TypeError(f"{type_} is not a floating-point type")
    return element


def signed(value: Array, type_: LlvmInteger) -> Array:
    """The two's complement value, in the signed type of the storage's width."""
    if type_.width == 1:
        return -value.astype(np.int8)
    storage = value.view(type_.signed_dtype)
    if type_.fills_storage:
        return storage
    spare = type_.signed_dtype.itemsize * 8 - type_.width
    return (storage << spare) >> spare


def wrap(value: Array, type_: LlvmInteger) -> Array:
    """An integer array of any type, modulo ``2**width``, in the storage of ``type_``."""
    if type_.width == 1:
        return (value & 1).astype(np.bool_)
    stored = value.astype(type_.dtype, copy=False)
    return stored if type_.fills_storage else stored & type_.dtype.type((1 << type_.width) - 1)


def widen(value: Array, type_: Floating) -> Array:
    """half and bfloat as float32; float and double as they are."""
    if type_ == HALF:
        return F16_TO_F32.take(value.view(np.uint16))
    if type_ == BFLOAT:
        return bf16_to_f32(value)
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


def float_to_bfloat(value: Array) -> Array:
    """float32 or float64 to bfloat bits, to nearest even; a NaN stays one, made quiet."""
    rounded = to_bf16(value)
    single = np.ascontiguousarray(value, np.float32)
    quiet = (single.view(np.uint32) >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), quiet, rounded).astype(np.uint16)
