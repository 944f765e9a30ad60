"""Constant matrices in the order that a kernel takes them: packed once, used by every call.

The order is plain and stands in the manifest (:class:`kgen_runtime.manifest.Packing`); whoever
knows it may pack with any other tool. The elements keep their type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime.manifest import Packing, TensorParam

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    #: numpy copies elements of any dtype as unsigned integers of their size.
    Bits = npt.NDArray[np.unsignedinteger[Any]]
#: About how much of K is moved at a time, over all columns, so that what is read and written stays
#: in caches.
ROWS = 64


def pack(param: TensorParam, matrix: Bytes, packed: Bytes) -> None:
    """Fill `packed`, the bytes of the parameter, from those of its matrix."""
    packed[:] = 0
    for to, source in _pieces(param, packed, matrix):
        to[...] = source


def unpack(param: TensorParam, packed: Bytes, matrix: Bytes) -> None:
    """The other way; what lies between the matrix's elements is left as it is."""
    for source, to in _pieces(param, packed, matrix):
        to[...] = source


def _pieces(param: TensorParam, packed: Bytes, matrix: Bytes) -> Iterator[tuple[Bits, Bits]]:
    """All elements, as pairs of views of both, ROWS of a matrix at a time."""
    packing = param.packing
    assert packing is not None
    dtype = np.dtype(f"u{param.dtype.itemsize}")
    width, depth = packing.width, packing.depth
    panels, steps = param.shape[-4:-2]
    blocks = packed.view(dtype).reshape(-1, panels, steps, width * depth)
    at_once = max(ROWS - ROWS % depth, depth)
    for block, of in zip(blocks, _matrices(packing, matrix.view(dtype)), strict=True):
        whole, edge = divmod(of.shape[1], width)
        for first in range(0, of.shape[0], at_once):
            for d, (start, step) in enumerate(places(packing)):
                rows = of[first + d : first + at_once : depth]
                taken = slice(first // depth, first // depth + len(rows))
                columns = slice(start, start + width * step, step)
                panels_of = rows[:, : whole * width].reshape(len(rows), whole, width)
                yield block[:whole, taken, columns], panels_of.swapaxes(0, 1)
                if edge:
                    yield block[whole, taken, columns][:, :edge], rows[:, whole * width :]


def places(packing: Packing) -> Iterator[tuple[int, int]]:
    """Where each of `depth` elements of the first column is among those of all columns, and how far
    apart those of neighbouring columns are."""
    start = 0
    for length in packing.runs or (packing.depth,):
        yield from ((start + at, length) for at in range(length))
        start += packing.width * length


def _matrices(packing: Packing, elements: Bits) -> Bits:
    """The batch of matrices, each as K x N."""
    itemsize = elements.itemsize
    strides = tuple(stride * itemsize for stride in packing.strides)
    view = np.lib.stride_tricks.as_strided(elements, packing.shape, strides)
    view = view.reshape(math.prod(packing.shape[:-2]), *packing.shape[-2:])
    return view.swapaxes(1, 2) if packing.transposed else view
