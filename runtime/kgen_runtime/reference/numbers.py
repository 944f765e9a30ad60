"""Conversion between numbers and the bits of elements in memory, for all dtypes."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal

from kgen_runtime.dtypes import DType

Buffers = Mapping[str, memoryview]
#: Function that computes one output element before it is rounded to the output's type. The index is
#: (batch, row, column) for a matmul, (group, position, channel) for a convolution, (head of a batch
#: element, query, element) for attention, (row, column) for rows and (number,) for streams.
Element = Callable[[tuple[int, ...]], float]

# Total bits, explicit mantissa bits and smallest exponent of a normal number. Sources: IEEE
# 754-2008 table 3.5; bf16 is the upper half of binary32; OCP 8-bit Floating Point Specification
# 1.0, table 1. The bias of FNUZ types is larger by one (arXiv 2206.02915; CDNA3 manual, "Data
# types").
_FORMATS = {
    DType.F64: (64, 52, -1022),
    DType.F32: (32, 23, -126),
    DType.F16: (16, 10, -14),
    DType.BF16: (16, 7, -126),
    DType.E4M3: (8, 3, -6),
    DType.E5M2: (8, 2, -14),
    DType.E4M3FNUZ: (8, 3, -7),
    DType.E5M2FNUZ: (8, 2, -15),
}
# NaN of the FNUZ types, the bits of -0.
_FNUZ_NAN = 0x80
#: Codes of Python's memoryview: of types that it reads, and of unsigned words by bytes.
_PYTHON: dict[DType, Literal["f", "d", "q", "i", "b", "B", "h", "H"]] = {
    DType.F32: "f",
    DType.F64: "d",
    DType.S64: "q",
    DType.S32: "i",
    DType.S8: "b",
    DType.U8: "B",
    DType.BOOL: "B",
    DType.S16: "h",
    DType.U16: "H",
}
UNSIGNED: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
# Values above the largest number saturate (OCP specification, section 5.2). In FNUZ types all
# exponent codes are finite: the largest are 15/8 2^7 and 7/4 2^15.
_LARGEST = {
    DType.E4M3: 448.0,
    DType.E5M2: 57344.0,
    DType.E4M3FNUZ: 240.0,
    DType.E5M2FNUZ: 57344.0,
}
_FNUZ = (DType.E4M3FNUZ, DType.E5M2FNUZ)


@lru_cache(maxsize=1 << 16)
def decode(bits: int, dtype: DType) -> float:
    """Return the value of an element's bits; an int for integer types."""
    if dtype in (DType.U8, DType.U16, DType.BOOL):
        return bits
    if dtype.is_integer:
        width = 8 * dtype.itemsize
        return bits - (bits >> (width - 1) << width)
    width, mantissa_bits, least = _FORMATS[dtype]
    magnitude = bits & ~(1 << (width - 1))
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    # e4m3 has no infinity and one NaN, all ones; its highest exponent is an ordinary one.
    if (dtype is DType.E4M3 and magnitude == 0x7F) or (dtype in _FNUZ and bits == _FNUZ_NAN):
        value = math.nan
    elif dtype not in (DType.E4M3, *_FNUZ) and exponent == (1 << (width - 1 - mantissa_bits)) - 1:
        value = math.nan if mantissa else math.inf
    elif exponent == 0:
        value = math.ldexp(mantissa, least - mantissa_bits)
    else:
        value = math.ldexp(mantissa | 1 << mantissa_bits, exponent - 1 + least - mantissa_bits)
    return -value if bits >> (width - 1) else value


def encode(value: float, dtype: DType) -> int:
    """Return the bits of the number nearest to `value`, ties to even; NaN becomes the quiet NaN.

    Integers and 8-bit floats saturate. NaN becomes the integer 0 or the 8-bit float 0x7F. In FNUZ
    types NaN is 0x80, and -0 becomes 0. For bool, every value but zero is 1.
    """
    if dtype is DType.BOOL:
        return int(value != 0)
    if dtype.is_integer:
        return encode_integer(value, dtype)
    width, mantissa_bits, least = _FORMATS[dtype]
    if width == 8:
        if math.isnan(value):
            return _FNUZ_NAN if dtype in _FNUZ else 0x7F
        value = math.copysign(min(abs(value), _LARGEST[dtype]), value)
    infinity = ((1 << (width - 1 - mantissa_bits)) - 1) << mantissa_bits
    if math.isnan(value):
        return infinity | 1 << (mantissa_bits - 1)
    sign = int(math.copysign(1.0, value) < 0) << (width - 1)
    if math.isinf(value) or value == 0.0:
        return 0 if dtype in _FNUZ else sign | (infinity if value else 0)
    exponent = max(math.frexp(value)[1] - 1, least)
    # `units` is the value in units of its last place, at most 2**(mantissa_bits + 1), so that ldexp
    # is exact. round() rounds ties to even.
    units = round(math.ldexp(abs(value), mantissa_bits - exponent))
    # The leading bit of `units`, or a carry from rounding, adds to the exponent field.
    magnitude = ((exponent - least) << mantissa_bits) + units
    if dtype in _FNUZ and not magnitude:
        return 0
    return sign | (magnitude if width == 8 else min(magnitude, infinity))


def encode_integer(value: float, dtype: DType) -> int:
    """Return the two's complement bits of the integer nearest to `value`, ties to even, clamped to
    the range."""
    if math.isnan(value):
        return 0
    assert dtype.limits is not None
    least, largest = dtype.limits
    nearest: int = round(max(least, min(largest, value)))
    return nearest & (1 << 8 * dtype.itemsize) - 1


def read(buffer: memoryview, index: int, dtype: DType) -> float:
    """Return element `index` of a buffer of bytes."""
    size = dtype.itemsize
    return decode(int.from_bytes(buffer[index * size : (index + 1) * size], "little"), dtype)


def values(buffer: memoryview, start: int, count: int, step: int, dtype: DType) -> list[float]:
    """Return `count` elements, beginning with element `start`, `step` elements apart."""
    end = start + (count - 1) * step + 1
    if dtype in _PYTHON:
        return list(buffer.cast(_PYTHON[dtype])[start:end:step])
    return _numbers(buffer.cast(UNSIGNED[dtype.itemsize])[start:end:step], dtype)


def _numbers(words: memoryview | array[int], dtype: DType) -> list[float]:
    """Return the values of floats of 8 or 16 bits."""
    if dtype.itemsize == 1:
        return list(map(_decoded(dtype).__getitem__, words))
    data, count = words.tobytes(), len(words)
    if dtype is DType.F16:
        return list(struct.unpack(f"<{count}e", data))
    wide = bytearray(4 * count)
    wide[2::4], wide[3::4] = data[::2], data[1::2]
    return list(struct.unpack(f"<{count}f", wide))


def in_blocks(buffer: memoryview, start: int, count: int) -> list[float]:
    """Return numbers of 4-bit blocks (GGUF's Q4_0) that start at byte `start`."""
    found = []
    for number in range(count):
        block = start + number // 32 * 18
        scale = decode(int.from_bytes(buffer[block : block + 2], "little"), DType.F16)
        byte = buffer[block + 2 + number % 16]
        half = byte >> 4 if number % 32 >= 16 else byte & 15
        found.append((half - 8) * scale)
    return found


@cache
def _decoded(dtype: DType) -> list[float]:
    """Return the values of all bit patterns of a type of 8 bits."""
    return [decode(bits, dtype) for bits in range(256)]


def at(buffer: memoryview, start: int, places: Sequence[int], dtype: DType) -> list[float]:
    """Return the elements at `places`, relative to element `start`."""
    if isinstance(places, range):
        assert places.step == 1
        return values(buffer, start + places.start, len(places), 1, dtype)
    if dtype in _PYTHON:
        numbers = buffer.cast(_PYTHON[dtype])
        return [numbers[start + place] for place in places]
    words = buffer.cast(UNSIGNED[dtype.itemsize])
    return _numbers(array(words.format, [words[start + place] for place in places]), dtype)


def write(buffer: memoryview, index: int, dtype: DType, value: float) -> None:
    """Round `value` and write it to element `index` of a buffer of bytes."""
    size = dtype.itemsize
    buffer[index * size : (index + 1) * size] = encode(value, dtype).to_bytes(size, "little")
