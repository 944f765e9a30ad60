"""Boxes of tensors: elements in global memory, and their swizzled layout in shared memory (PTX ISA
5.5).

In shared memory the innermost dimension of a box is contiguous. Its 16-byte chunks are swizzled by
an exclusive-or of address bits (PTX ISA 5.5.7).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from kgen.emulate.ptx.types import TYPES, UNSIGNED, Array, narrow, widen
from kgen.emulate.tensor_map import NAN_BITS, TensorMap
from kgen_runtime.values import frozen

CHUNK = 16
#: Mask of the chunk's three lowest address bits that are swizzled, by bytes of the swizzle.
_SWIZZLED_BITS = {0: 0, 32: 1, 64: 3, 128: 7}

#: Reduction: returns the new value from the old one and the incoming one, in the tensor's type.
Combine = Callable[[Array, Array], Array]


def swizzle(address: Array, span: int) -> Array:
    """Return the swizzled address of a byte, for a swizzle over `span` bytes."""
    turn = (address >> 7) & _SWIZZLED_BITS[span]
    swizzled: Array = address ^ (turn << 4)
    return swizzled


@lru_cache(maxsize=256)
def chunks(start: int, nbytes: int, span: int) -> Array:
    """Return the numbers of the chunks of shared memory that hold a box at `start`, in order."""
    linear = np.arange(start, start + nbytes, CHUNK)
    return swizzle(linear, span) // CHUNK


@frozen
class MappedTensor:
    """Tensor map of a launch, and the global address at which its tensor begins."""

    map: TensorMap
    base: int


@frozen
class TensorBox:
    """Box of a tensor at coordinates, innermost first; parts may lie outside the tensor."""

    tensor: MappedTensor
    coordinates: tuple[int, ...]

    @property
    def map(self) -> TensorMap:
        return self.tensor.map

    def load(self) -> Array:
        """Return the bytes of the box in order; elements outside the tensor have the fill value."""
        tensor = _tensor(self.map)
        fill = NAN_BITS[self.map.dtype] if self.map.fill == "nan" else 0
        found = np.full(self.map.counts[::-1], fill, tensor.dtype)
        inside, there = self._overlap()
        found[inside] = tensor[there]
        if self.map.dtype == "tf32":
            found = round_to_tf32(found)
        return found.reshape(-1).view(np.uint8)

    def store(self, data: Array, combine: Combine | None = None) -> None:
        """Write the bytes of the box; elements outside the tensor are dropped."""
        tensor = _tensor(self.map)
        values = data.view(tensor.dtype).reshape(self.map.counts[::-1])
        inside, there = self._overlap()
        if combine is None:
            tensor[there] = values[inside]
        else:
            tensor[there] = combine(tensor[there], values[inside])

    def rows(self) -> tuple[Array, int]:
        """Return global addresses and bytes per row of the box's contiguous rows inside the
        tensor."""
        _, there = self._overlap()
        strides = self.map.byte_strides
        at = np.full((1,), self.tensor.base, np.int64)
        for places, stride in zip(there[:-1], strides[:0:-1], strict=True):
            at = (at[:, None] + np.arange(places.start, places.stop, places.step) * stride).ravel()
        inner = there[-1]
        width = self.map.element_bytes
        return at + inner.start * width, max(0, inner.stop - inner.start) * width

    def _overlap(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Return slices of the box and of the tensor, outermost first, that select the same
        elements."""
        inside, there = [], []
        axes = zip(self.coordinates, self.map.counts, self.map.steps, self.map.shape, strict=True)
        for start, count, step, size in axes:
            first = -(start // step) if start < 0 else 0
            last = min(count, max(first, -(-(size - start) // step)))
            inside.append(slice(first, last))
            begin = start + first * step
            there.append(slice(begin, begin + (last - first) * step, step))
        return tuple(inside[::-1]), tuple(there[::-1])


def round_to_tf32(bits: Array) -> Array:
    """Round the bits of f32 as a tensor map of type tf32 does: to nearest, ties to even; infinities
    and NaN unchanged.

    NVIDIA does not document the rounding. Triton's tests of `round_f32_to_tf32` found it on a GPU
    (triton-lang/triton, pull request 11751), and CUTLASS relies on it (main loops for sm_90: "TMA
    converts f32 input to tf32").
    """
    odd = (bits >> np.uint32(13)) & np.uint32(1)
    rounded = (bits + np.uint32(0xFFF) + odd) & np.uint32(0xFFFFE000)
    finite = (bits & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    return np.where(finite, rounded, bits)


def _tensor(map_: TensorMap) -> Array:
    """Return a view of the tensor as unsigned integers, outermost dimension first."""
    elements = map_.buffer.reshape(-1).view(np.uint8)[: map_.extent]
    return np.ndarray(
        shape=tuple(map_.shape[::-1]),
        dtype=UNSIGNED[map_.element_bytes],
        buffer=elements,
        strides=map_.byte_strides[::-1],
    )


#: Reductions of bulk copies (PTX ISA 9.7.9.25.4.2), on numbers.
REDUCTIONS: dict[str, Combine] = {
    "add": lambda old, new: old + new,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, new: np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - old.dtype.type(1)),
}
_INTEGERS_ONLY = ("and", "or", "xor", "inc", "dec")


def reduction(name: str, dtype: str) -> Combine | None:
    """Return a reduction on the bits of a type's elements; None if the type does not support it."""
    type_ = TYPES["f32" if dtype == "tf32" else dtype]
    function = REDUCTIONS[name]
    if type_.kind in ("float", "bfloat"):
        if name in _INTEGERS_ONLY:
            return None
        if type_.size == 2:
            return lambda old, new: narrow(type_, function(widen(type_, old), widen(type_, new)))
    bits = UNSIGNED[type_.size]
    return lambda old, new: np.asarray(function(old.view(type_.dtype), new.view(type_.dtype))).view(
        bits
    )
