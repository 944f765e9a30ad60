"""Raw buffers as arrays: strided views of bits, and conversions between types and binary64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgen_runtime.dtypes import FLOATS_8, DType
from kgen_runtime.manifest import TensorParam

Bytes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.unsignedinteger[Any]]
Values = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32] | npt.NDArray[np.int64] | Values
Mask = npt.NDArray[np.bool_]

#: Unsigned type of the same width, by element size in bytes.
BITS: dict[int, type[np.unsignedinteger[Any]]] = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
}


#: Alignment in bytes: libraries and kernels slow down on buffers that straddle cache lines.
ALIGNMENT = 64


def empty_buffer(nbytes: int) -> Bytes:
    """Return uninitialised memory that starts at a cache line."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def flat_bits(buffer: Bytes, dtype: DType) -> Bits:
    """Return the elements of a buffer, including the gaps between rows."""
    return buffer.view(BITS[dtype.itemsize])


def strided_bits(buffer: Bytes, param: TensorParam) -> Bits:
    """Return a view of the tensor's own elements, in its shape; writes go to the buffer."""
    flat = flat_bits(buffer, param.dtype)
    strides = tuple(stride * flat.itemsize for stride in param.strides)
    return np.lib.stride_tricks.as_strided(flat, param.shape, strides)


def decode(bits: Bits, dtype: DType) -> Values:
    """Convert bits to their exact values in binary64, or int64 for s64."""
    if dtype is DType.S64:
        return bits.view(np.int64)
    if dtype is DType.BOOL:
        return bits.astype(np.float64)
    if dtype is DType.BF16:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if dtype in FLOAT8:
        return FLOAT8[dtype].take(bits)
    return bits.view(dtype.storage).astype(np.float64)


def encode(values: Floats, dtype: DType) -> Bits:
    """Convert numbers to the bits of a type.

    A number that the type lacks is rounded to nearest, for bf16 towards zero. A NaN in an 8-bit
    float type becomes the last code, or the code of -0 if that is the type's only NaN.
    """
    if dtype is DType.BF16:
        return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if dtype in FLOAT8:
        wide = values.astype(np.float64)
        nearest = np.where(np.isfinite(wide), np.abs(round_to(wide, dtype)), np.abs(wide))
        codes = np.searchsorted(FLOAT8[dtype][:128], nearest).astype(np.uint8)
        sign = np.where(np.signbit(wide), np.uint8(0x80), np.uint8(0))
        if dtype.is_fnuz:
            return np.where(np.isnan(wide), np.uint8(0x80), codes | np.where(codes > 0, sign, 0))
        return np.asarray(np.where(np.isnan(wide), np.uint8(0x7F), codes) | sign)
    with np.errstate(over="ignore"):
        return values.astype(dtype.storage).view(BITS[dtype.itemsize])


def round_to(values: Values, dtype: DType) -> Values:
    """Round each value to a type, to nearest with ties to even; the result stays in binary64."""
    if dtype is DType.F64:
        return values
    if dtype is DType.BOOL:
        return np.where(values != 0, 1.0, 0.0)
    if dtype.is_integer:
        return np.rint(saturate(values, dtype))
    with np.errstate(all="ignore"):
        if dtype in (DType.F32, DType.F16):
            return values.astype(dtype.storage).astype(np.float64)
        values = saturate(values, dtype)
        rounded = _round_mantissa(values, dtype.mantissa_bits)
        # Subnormals have a fixed last place. Adding and subtracting `shift` gives binary64 the same
        # one.
        shift = 1.5 * 2.0**52 * dtype.smallest_subnormal
        subnormal = np.abs(values) < dtype.smallest_normal
        rounded = np.where(subnormal, values + shift - shift, rounded)
        rounded = np.copysign(rounded, values)
        return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, values), rounded)


def saturate(values: Values, dtype: DType) -> Values:
    """Clamp values to the limits of a type with saturating conversions.

    NaN becomes 0 for integers.
    """
    if dtype.limits is None:
        return values
    return np.clip(np.nan_to_num(values) if dtype.is_integer else values, *dtype.limits)


def _round_mantissa(values: Values, mantissa_bits: int) -> Values:
    """Round to nearest even at this number of mantissa bits.

    A carry continues into the exponent.
    """
    dropped = 52 - mantissa_bits
    bits = np.asarray(values, np.float64).view(np.uint64)
    even = (bits >> np.uint64(dropped)) & np.uint64(1)
    half = np.uint64((1 << (dropped - 1)) - 1)
    mask = np.uint64(~((1 << dropped) - 1) & (2**64 - 1))
    rounded = ((bits + (half + even)) & mask).view(np.float64)
    return np.where(np.isfinite(values), rounded, values)


def _float8_values(dtype: DType) -> Values:
    """Return the value of each of the 256 codes of an 8-bit float type.

    Codes past the largest number are infinity (e5m2 only) and NaN. In fnuz types the code of -0 is
    NaN.
    """
    code = np.arange(128)
    exponent, fraction = code >> dtype.mantissa_bits, code & ((1 << dtype.mantissa_bits) - 1)
    units = np.where(exponent > 0, 1 << dtype.mantissa_bits, 0) + fraction
    positive = units * dtype.smallest_subnormal * 2.0 ** np.maximum(exponent - 1, 0)
    assert dtype.limits is not None
    first = int(np.searchsorted(positive, dtype.limits[1])) + 1
    positive[first:] = np.nan
    if dtype is DType.E5M2:
        positive[first] = np.inf
    both = np.concatenate([positive, -positive])
    if dtype.is_fnuz:
        both[128] = np.nan
    return both


#: Value of each code of the 8-bit float types; positive codes are in ascending order.
FLOAT8 = {dtype: _float8_values(dtype) for dtype in FLOATS_8}
