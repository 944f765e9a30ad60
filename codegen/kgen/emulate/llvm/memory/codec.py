"""Conversion between bytes in memory and LLVM values, vectorised over addresses. Little-endian."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from kgen.emulate.bits import parts
from kgen.emulate.llvm.types import (
    BUFFER_RESOURCE,
    Aggregate,
    Array,
    LlvmInteger,
    LlvmType,
    LlvmVector,
    Pointer,
)

#: Fill byte of uninitialised memory, which reads as NaN in every floating-point type.
POISON = 0xFF


@cache
def raw_dtype(size: int) -> np.dtype[Any]:
    """Return the numpy type that moves ``size`` bytes as one element."""
    return np.dtype(f"u{size}") if size in (1, 2, 4, 8) else np.dtype(f"V{size}")


def gather(data: Array, offsets: Array, size: int) -> Array:
    """Return ``size`` bytes from each offset of a flat byte array, as an array of
    ``raw_dtype(size)``.

    The offsets must be in range. Aligned accesses of a power of two take a faster path.
    """
    if offsets.size == 1:
        start = offsets.item()
        # Copy, so that a later store to the same place does not change the loaded value.
        return data[start : start + size].copy().view(raw_dtype(size)).reshape(offsets.shape)
    shift = size.bit_length() - 1
    if size == 1 << shift and not _misaligned(offsets, size):
        aligned: Array = data[: len(data) >> shift << shift].view(raw_dtype(size))
        return aligned.take(offsets >> shift)
    return _at_every_byte(data, size)[offsets]


def scatter(data: Array, offsets: Array, raw: Array) -> None:
    """Store ``raw``, broadcast to the offsets. Where offsets are equal, the last value wins."""
    size = raw.dtype.itemsize
    if offsets.size == 1 and raw.size == 1:
        start = offsets.item()
        data[start : start + size].view(raw.dtype)[0] = raw.reshape(())[()]
        return
    shift = size.bit_length() - 1
    if size == 1 << shift and not _misaligned(offsets, size):
        data[: len(data) >> shift << shift].view(raw.dtype)[offsets >> shift] = raw
    else:
        _at_every_byte(data, size)[offsets] = raw


def _misaligned(offsets: Array, size: int) -> bool:
    return bool(np.bitwise_or.reduce(offsets, axis=None) & (size - 1))


def _at_every_byte(data: Array, size: int) -> Array:
    """Return an overlapping view whose element i is the ``size`` bytes that start at byte i."""
    dtype = np.dtype(f"V{size}")  # opaque bytes need no alignment
    count = max(0, len(data) - size + 1)
    return as_strided(data[:size].view(dtype), shape=(count,), strides=(1,))


def decode(raw: Array, type_: LlvmType) -> Any:
    """Return the value of ``type_`` in raw bytes: [w, lane], plus [element] for a vector.

    An aggregate becomes a tuple of its decoded fields.
    """
    if isinstance(type_, Aggregate):
        whole = parts(raw, np.uint8)
        return tuple(
            decode(_slice(whole, type_.offset(i), type_.field(i).size), type_.field(i))
            for i in range(type_.count)
        )
    element = type_.element
    if isinstance(element, LlvmInteger) and element.width % 8 and isinstance(type_, LlvmVector):
        return _decode_bits(raw, type_, element)
    storage = memory_dtype(element)
    if isinstance(type_, LlvmVector):
        elements = parts(raw, np.uint8).view(storage).reshape(*raw.shape, type_.count)
    elif raw.dtype.itemsize < storage.itemsize:  # integers such as i24 and i48
        widened = np.zeros((*raw.shape, storage.itemsize), np.uint8)
        widened[..., : raw.dtype.itemsize] = parts(raw, np.uint8)
        elements = widened.view(storage)[..., 0]
    else:
        elements = np.ascontiguousarray(raw).view(storage)
    if isinstance(element, LlvmInteger) and element.width % 8 != 0:
        elements = elements & storage.type((1 << element.width) - 1)
    return elements if elements.dtype == element.dtype else elements.astype(element.dtype)


def encode(value: Any, type_: LlvmType) -> Array:
    """Return the raw bytes of a value; padding bytes are zero. The inverse of :func:`decode`."""
    if isinstance(type_, Aggregate):
        return _encode_aggregate(value, type_)
    element = type_.element
    if isinstance(element, LlvmInteger) and element.width % 8 and isinstance(type_, LlvmVector):
        packed = np.packbits(_bits(value, element.width), axis=-1, bitorder="little")
        return _as_raw(packed, type_.size)
    storage = memory_dtype(element)
    stored = np.ascontiguousarray(value, dtype=storage)
    if isinstance(type_, LlvmVector):
        return _as_raw(stored.view(np.uint8).reshape(*stored.shape[:-1], -1), type_.size)
    if type_.size == storage.itemsize:
        return stored.view(raw_dtype(type_.size))
    return _as_raw(stored[..., None].view(np.uint8)[..., : type_.size], type_.size)


def memory_dtype(element: LlvmType) -> np.dtype[Any]:
    """Return the numpy type of one scalar in memory: 4 bytes for a narrow pointer, 1 byte for i1.

    Raises TypeError for a buffer resource, which has no form in memory.
    """
    if isinstance(element, Pointer):
        if element.space == BUFFER_RESOURCE:
            raise TypeError("a buffer resource cannot be kept in memory")
        return np.dtype(f"u{element.size}") if element.size < 8 else element.dtype
    if element.dtype == np.bool_:
        return np.dtype(np.uint8)
    return element.dtype


def _as_raw(bytes_: Array, size: int) -> Array:
    """View [..., size] bytes as [...] elements of ``raw_dtype(size)``."""
    whole: Array = np.ascontiguousarray(bytes_).view(raw_dtype(size))[..., 0]
    return whole


def _slice(bytes_: Array, start: int, size: int) -> Array:
    return _as_raw(bytes_[..., start : start + size], size)


def _bits(value: Array, width: int) -> Array:
    """Return the bits of integers [..., n] as [..., n * width], lowest bit first."""
    wide = np.ascontiguousarray(value).astype(np.uint64)
    bits = (wide[..., None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    return bits.astype(np.uint8).reshape(*wide.shape[:-1], -1)


def _decode_bits(raw: Array, type_: LlvmVector, element: LlvmInteger) -> Array:
    """Return a vector whose elements are no whole bytes: they are packed, as <8 x i1> in one
    byte."""
    bits = np.unpackbits(parts(raw, np.uint8), axis=-1, count=type_.bits, bitorder="little")
    grouped = bits.reshape(*raw.shape, type_.count, element.width).astype(np.uint64)
    values = (grouped << np.arange(element.width, dtype=np.uint64)).sum(axis=-1)
    result: Array = values.astype(element.dtype)
    return result


def _encode_aggregate(value: tuple[Any, ...], type_: Aggregate) -> Array:
    fields = [encode(part, type_.field(i)) for i, part in enumerate(value)]
    shape = np.broadcast_shapes(*(field.shape for field in fields))
    whole = np.zeros((*shape, type_.size), np.uint8)
    for i, field in enumerate(fields):
        start = type_.offset(i)
        whole[..., start : start + field.dtype.itemsize] = parts(field, np.uint8)
    return _as_raw(whole, type_.size)
