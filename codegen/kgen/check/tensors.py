"""Raw buffers seen as arrays: strided views of bits, and values in and out of binary64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import TensorParam

Bytes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.unsignedinteger[Any]]
Values = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32] | Values
Mask = npt.NDArray[np.bool_]

#: The unsigned type as wide as an element.
BITS: dict[int, type[np.unsignedinteger[Any]]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}


#: Libraries and kernels run at half speed on buffers that straddle cache lines.
ALIGNMENT = 64


def empty_buffer(nbytes: int) -> Bytes:
    """Uninitialised memory that starts at a cache line."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def flat_bits(buffer: Bytes, dtype: DType) -> Bits:
    """All elements of a buffer, stride gaps included."""
    return buffer.view(BITS[dtype.itemsize])


def strided_bits(buffer: Bytes, param: TensorParam) -> Bits:
    """The tensor's own elements, in its shape; writing to it writes to the buffer."""
    flat = flat_bits(buffer, param.dtype)
    strides = tuple(stride * flat.itemsize for stride in param.strides)
    return np.lib.stride_tricks.as_strided(flat, param.shape, strides)


def decode(bits: Bits, dtype: DType) -> Values:
    """The values of bits, exactly."""
    if dtype is DType.BF16:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return bits.view(dtype.storage).astype(np.float64)


def encode(values: Floats, dtype: DType) -> Bits:
    """The bits of numbers of the type. Others become neighbours: nearest, for bf16 towards zero."""
    if dtype is DType.BF16:
        return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    with np.errstate(over="ignore"):
        return values.astype(dtype.storage).view(BITS[dtype.itemsize])


def round_to(values: Values, dtype: DType) -> Values:
    """Each value rounded once, to nearest even, to the type; still in binary64."""
    if dtype is DType.F64:
        return values
    with np.errstate(all="ignore"):
        if dtype is not DType.BF16:
            return values.astype(dtype.storage).astype(np.float64)
        rounded = _round_mantissa(values, dtype.mantissa_bits)
        # Subnormals have a fixed last place; binary64 rounds to it when its own is made the same.
        shift = 1.5 * 2.0**52 * dtype.smallest_subnormal
        rounded = np.where(np.abs(values) < 2.0**-126, values + shift - shift, rounded)
        rounded = np.copysign(rounded, values)
        return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, values), rounded)


def _round_mantissa(values: Values, mantissa_bits: int) -> Values:
    """To nearest even at that many bits of mantissa; the carry runs on into the exponent."""
    dropped = 52 - mantissa_bits
    bits = np.asarray(values, np.float64).view(np.uint64)
    even = (bits >> np.uint64(dropped)) & np.uint64(1)
    half = np.uint64((1 << (dropped - 1)) - 1)
    mask = np.uint64(~((1 << dropped) - 1) & (2**64 - 1))
    rounded = ((bits + (half + even)) & mask).view(np.float64)
    return np.where(np.isfinite(values), rounded, values)
