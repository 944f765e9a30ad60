"""Matrices in shared memory as wgmma's descriptors name them (PTX ISA 9.7.15.5.1).

A descriptor has, from its low bits: start address >> 4 (14 bits), leading byte offset >> 4 (14 bits
from bit 16), stride byte offset >> 4 (14 bits from bit 32), base offset (3 bits from bit 49), and
the swizzle (2 bits from bit 62). Matrices consist of chunks of 16 bytes. With a swizzle over S
bytes (16 without one), and rows meaning those of A or the columns of B:

- k-major: a row's chunks lie side by side (without a swizzle: a leading offset apart), eight rows
  follow each other every S bytes, and eight rows are a stride offset from the next eight
- mn-major: a k's chunks, of several rows each, lie side by side for S bytes, and then a leading
  offset apart (without a swizzle: a stride offset); eight k follow each other every S bytes, and
  eight k are a stride offset (without a swizzle: a leading offset) from the next eight
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kgen.emulate.ptx.ops.fragments import DECODERS
from kgen.emulate.ptx.tensor_box import CHUNK, swizzle
from kgen.emulate.ptx.types import Array

_FIELD = (1 << 14) - 1
_SPANS = (0, 128, 64, 32)
#: Bytes of a row of A, or of a column of B, that one instruction takes.
K_BYTES = 32
_GROUP = 8


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """The fields, in bytes; `base_offset` as it is."""

    start: int
    leading: int
    stride: int
    base_offset: int
    span: int

    @staticmethod
    def of(bits: int) -> Descriptor:
        return Descriptor(
            start=(bits & _FIELD) << 4,
            leading=(bits >> 16 & _FIELD) << 4,
            stride=(bits >> 32 & _FIELD) << 4,
            base_offset=bits >> 49 & 7,
            span=_SPANS[bits >> 62 & 3],
        )


@lru_cache(maxsize=512)
def chunk_addresses(descriptor: Descriptor, rows: int, size: int, mn_major: bool) -> Array:
    """Shared addresses of a matrix's chunks, [row, 2] if k-major, else [k, rows * size / 16].

    Elements have `size` bytes; the matrix has 32 bytes of k.
    """
    pitch = descriptor.span or CHUNK
    in_row = pitch // CHUNK
    if mn_major:
        k = np.arange(K_BYTES // size)[:, None]
        chunk = np.arange(rows * size // CHUNK)[None, :]
        apart, groups = descriptor.leading, descriptor.stride
        if not descriptor.span:
            apart, groups = groups, apart
        linear = chunk % in_row * CHUNK + chunk // in_row * apart
        linear = linear + k % _GROUP * pitch + k // _GROUP * groups
    else:
        row = np.arange(rows)[:, None]
        chunk = np.arange(K_BYTES // CHUNK)[None, :]
        across = CHUNK if descriptor.span else descriptor.leading
        linear = chunk * across + row % _GROUP * pitch + row // _GROUP * descriptor.stride
    return swizzle(descriptor.start + linear, descriptor.span)


def gather(data: Array, addresses: Array, element: str, mn_major: bool) -> Array:
    """[C, rows, k] numbers of a matrix from shared memory [C, bytes]."""
    chunks = data.reshape(len(data), -1, CHUNK).take(addresses // CHUNK, axis=1)
    words = np.ascontiguousarray(chunks).reshape(*chunks.shape[:2], -1).view(np.uint32)
    parts = DECODERS[element](words)
    stacked = np.stack(parts, axis=-1) if len(parts) > 1 else parts[0][..., None]
    matrix = stacked.reshape(len(data), addresses.shape[0], -1).astype(np.float32, copy=False)
    return matrix.swapaxes(1, 2) if mn_major else matrix
