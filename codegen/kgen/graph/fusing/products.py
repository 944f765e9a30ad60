"""Operand layouts that a GEMM or convolution reads, and that its epilogue reads."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from kgen.graph.ir import Graph, GraphValue, ProductNode
from kgen.graph.layout import StridedLayout
from kgen.graph.reading.model import Shape
from kgen.spec import Conv2d, DType
from kgen_runtime.values import frozen


@frozen
class OperandMatrix:
    """Matrix that a GEMM reads from a strided operand.

    Rows are `ld` elements apart (columns if `transposed`), matrices `batch_strides` elements along
    each axis of the batch. The matrix begins at element `offset`.
    """

    transposed: bool
    ld: int
    batch_strides: Shape
    offset: int


def matrix(
    graph: Graph, product: GraphValue, number: int, layout: StridedLayout
) -> OperandMatrix | None:
    """Return how a product reads an operand of this layout, as one matrix or one per batch element.

    Returns None for a layout that no kernel reads. Beside weights in 4-bit blocks, which lie along
    k, A must be contiguous along k as well.
    """
    *batch, m, n = product_extents(graph, product)
    if (conv := convolution(product)) is not None and number == 0:
        return images(graph, product, layout)
    k = conv.product.k if conv is not None else graph.values[product.operands[0]].shape[-1]
    rows, cols = ((m, k), (k, n))[number]
    cut = layout.expanded((*batch, rows, cols)) if batch else layout.reshaped((rows, cols))
    itemsize = graph.values[product.operands[number]].dtype.itemsize
    if cut is None or layout.offset * itemsize % graph.alignment:
        return None
    *between, down, along = cut.strides
    by_blocks = number == 0 and graph.values[product.operands[1]].dtype is DType.U8
    if along == 1 or cols == 1:
        transposed, ld, least = False, down, cols
    elif (down == 1 or rows == 1) and not by_blocks:
        transposed, ld, least = True, along, rows
    else:
        return None
    ld = ld if (cols if transposed else rows) > 1 else least
    if conv is not None and (transposed or ld != least):
        return None
    if ld < least or min((*between, ld)) < 0:
        return None
    return OperandMatrix(
        transposed=transposed, ld=ld, batch_strides=tuple(between), offset=layout.offset
    )


def convolution(product: GraphValue) -> Conv2d | None:
    """Return the convolution that a product computes; None for a GEMM."""
    assert isinstance(product.operation, ProductNode)
    return product.operation.conv


def images(graph: Graph, product: GraphValue, layout: StridedLayout) -> OperandMatrix | None:
    """Return the images of a convolution as a matrix of pixels; None if they are not packed."""
    operand = graph.values[product.operands[0]]
    cut = layout.expanded(operand.shape)
    if layout.offset * operand.dtype.itemsize % graph.alignment:
        return None
    if not dataclasses.replace(cut, offset=0).is_packed:
        return None
    return OperandMatrix(
        transposed=False, ld=operand.shape[-1], batch_strides=(), offset=layout.offset
    )


def product_extents(graph: Graph, product: GraphValue) -> Shape:
    """Return the batch axes, M and N of a product.

    A batch that shares one B has no batch axes here: its rows count as M.
    """
    operation = product.operation
    assert isinstance(operation, ProductNode)
    *batch, m, n = product.shape
    if math.prod(graph.values[operation.b].shape[:-2]) == 1:
        return math.prod(batch) * m, n
    return product.shape


def extent_of(graph: Graph, layout: StridedLayout, extents: Shape, itemsize: int) -> str | None:
    """Return the extent of an epilogue operand: "1", "n", "mx1" or "mxn".

    Returns None for a layout that no epilogue reads, and for an offset that is not aligned.
    """
    *batch, m, n = extents
    extents = (math.prod(batch), m, n)
    cut = layout.reshaped(extents)
    if cut is None:
        return None
    sizes = zip(extents, cut.strides, strict=True)
    b, m, n = (0 if size == 1 else stride for size, stride in sizes)
    if layout.offset * itemsize % graph.alignment:
        return None
    if (b, m, n) == (0, 0, 0):
        return "1"
    if (b, m, n) == (0, 0, 1):
        return "n"
    if (b, m, n) == (0, 1, 0):
        return "mx1"
    full = StridedLayout.of(extents)
    return (
        "mxn"
        if dataclasses.replace(cut, offset=0).is_packed
        and full.size == layout.size
        and 0 not in (s for size, s in zip(extents, cut.strides, strict=True) if size > 1)
        else None
    )


@frozen
class Batch:
    """Batched GEMM in memory.

    `strides` are those of A, B and the output along each axis of the batch, `lda` and `ldc` the row
    strides of A and of the output, all in elements.
    """

    sizes: Shape
    strides: tuple[tuple[int, int, int], ...]
    m: int
    lda: int
    ldc: int

    @property
    def fields(self) -> dict[str, Any]:
        """Batch fields of the Matmul spec."""
        if not self.sizes:
            return {}
        names = [f"batch_stride_{of}" for of in "abc"]
        if len(self.sizes) == 1:
            return {"batch": self.sizes[0]} | dict(zip(names, self.strides[0], strict=True))
        columns = zip(*self.strides, strict=True)
        return {"batch_dims": self.sizes} | dict(zip(names, columns, strict=True))

    def coalesced(self) -> Batch:
        """Return the batch with as few axes as describe it.

        Axes of size 1 are dropped, and axes that all tensors walk with one stride are merged.
        """
        axes: list[tuple[int, tuple[int, int, int]]] = []
        for n, strides in zip(self.sizes, self.strides, strict=True):
            if n == 1:
                continue
            if axes and all(s == n * t for s, t in zip(axes[-1][1], strides, strict=True)):
                axes[-1] = (axes[-1][0] * n, strides)
            else:
                axes.append((n, strides))
        return dataclasses.replace(
            self, sizes=tuple(n for n, _ in axes), strides=tuple(s for _, s in axes)
        )

    def with_rows(self, k: int, n: int) -> Batch:
        """Return the batch with its last axes merged into M.

        The matrices along such an axis share B and are contiguous, so that fewer GEMMs with larger
        M read B once.
        """
        found = self
        while found.sizes:
            a, b, c = found.strides[-1]
            one = found.m == 1
            if b or not (one or (a, c) == (found.m * found.lda, found.m * found.ldc)):
                break
            lda, ldc = (a, c) if one else (found.lda, found.ldc)
            if lda < k or ldc < n:
                break
            found = Batch(
                sizes=found.sizes[:-1],
                strides=found.strides[:-1],
                m=found.m * found.sizes[-1],
                lda=lda,
                ldc=ldc,
            )
        return found
