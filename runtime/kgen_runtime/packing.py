"""Constant matrices in the order that a kernel takes them: packed once, used by every call.

The order is plain and stands in the manifest (:class:`kgen_runtime.manifest.Packing`); whoever
knows it may pack with any other tool. The elements keep their type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen_runtime.manifest import Packing, TensorParam

Bytes = npt.NDArray[np.uint8]
#: numpy copies elements of any dtype as unsigned integers of their size.
Bits = npt.NDArray[np.unsignedinteger[Any]]


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
    """All elements, as pairs of views [K][columns] of both, a panel and a place in it at a time."""
    packing = param.packing
    assert packing is not None
    dtype = np.dtype(f"u{param.dtype.itemsize}")
    blocks = packed.view(dtype).reshape(-1, *param.shape[-4:])
    matrices = _matrices(packing, matrix.view(dtype))
    for block, of in zip(blocks, matrices, strict=True):
        for i, panel in enumerate(block):
            columns = of[:, i * packing.width : (i + 1) * packing.width]
            for d in range(packing.depth):
                source = columns[d :: packing.depth]
                yield panel[: source.shape[0], : source.shape[1], d], source


def _matrices(packing: Packing, elements: Bits) -> Bits:
    """The batch of matrices, each as K x N."""
    itemsize = elements.itemsize
    strides = tuple(stride * itemsize for stride in packing.strides)
    view = np.lib.stride_tricks.as_strided(elements, packing.shape, strides)
    view = view.reshape(math.prod(packing.shape[:-2]), *packing.shape[-2:])
    return view.swapaxes(1, 2) if packing.transposed else view
