"""Constant matrices in the order that a kernel takes them: packed once, used by every call.

The order is plain and stands in the manifest (:class:`kgen_runtime.manifest.Packing`); whoever
knows it may pack with any other tool. The elements keep their type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime.manifest import Packing, TensorParam

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    #: numpy copies elements of any dtype as unsigned integers of their size.
    Bits = npt.NDArray[np.unsignedinteger[Any]]
#: K that is moved at a time, over all columns, so that what is read and written stays in caches; a
#: multiple of every depth.
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
    blocks = packed.view(dtype).reshape(-1, *param.shape[-4:])
    for block, of in zip(blocks, _matrices(packing, matrix.view(dtype)), strict=True):
        whole, edge = divmod(of.shape[1], width)
        for first, d in product(range(0, of.shape[0], ROWS), range(depth)):
            rows = of[first + d : first + ROWS : depth]
            steps = slice(first // depth, first // depth + len(rows))
            panels = rows[:, : whole * width].reshape(len(rows), whole, width)
            yield block[:whole, steps, :, d], panels.swapaxes(0, 1)
            if edge:
                yield block[whole, steps, :edge, d], rows[:, whole * width :]


def _matrices(packing: Packing, elements: Bits) -> Bits:
    """The batch of matrices, each as K x N."""
    itemsize = elements.itemsize
    strides = tuple(stride * itemsize for stride in packing.strides)
    view = np.lib.stride_tricks.as_strided(elements, packing.shape, strides)
    view = view.reshape(math.prod(packing.shape[:-2]), *packing.shape[-2:])
    return view.swapaxes(1, 2) if packing.transposed else view
