"""Products: how one reads its operands in memory, and what its epilogue takes beside it."""

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
    """Matrix that a product reads in a strided operand.

    Rows are `ld` elements apart (columns if `transposed`), matrices `batch_strides` elements along
    each axis of the batch.
    """

    transposed: bool
    ld: int
    batch_strides: Shape
    offset: int


def matrix(
    graph: Graph, product: GraphValue, number: int, layout: StridedLayout
) -> OperandMatrix | None:
    """An operand of a product as a matrix, or as many as the batch has; None if it is none, or is
    one that the other operand does not go with: blocks of 4 bits lie along k, and so must A."""
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
    """The convolution that a product is."""
    assert isinstance(product.operation, ProductNode)
    return product.operation.conv


def images(graph: Graph, product: GraphValue, layout: StridedLayout) -> OperandMatrix | None:
    """The images of a convolution as a matrix of pixels; None if they are not packed."""
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
    """The axes of the batch, rows and columns of a product. Without axes of a batch all share one
    B, and are rows."""
    operation = product.operation
    assert isinstance(operation, ProductNode)
    *batch, m, n = product.shape
    if math.prod(graph.values[operation.b].shape[:-2]) == 1:
        return math.prod(batch) * m, n
    return product.shape


def extent_of(graph: Graph, layout: StridedLayout, extents: Shape, itemsize: int) -> str | None:
    """Extent of an operand of an epilogue; None for a layout that an operand cannot have.

    Such a layout begins within a tensor at an offset that separate memory could not have.
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
    """A product of matrices in memory: sizes of the batch's axes, with strides for a, b and the
    output along each, and rows, with their distances in a and the output."""

    sizes: Shape
    strides: tuple[tuple[int, int, int], ...]
    m: int
    lda: int
    ldc: int

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the kernel's spec."""
        if not self.sizes:
            return {}
        names = [f"batch_stride_{of}" for of in "abc"]
        if len(self.sizes) == 1:
            return {"batch": self.sizes[0]} | dict(zip(names, self.strides[0], strict=True))
        columns = zip(*self.strides, strict=True)
        return {"batch_dims": self.sizes} | dict(zip(names, columns, strict=True))

    def coalesced(self) -> Batch:
        """Without axes of one matrix, and with those made one that all three tensors walk as
        one."""
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
        """Batch with its last axes merged into the rows, where their matrices share B and are
        contiguous: fewer products with larger M then read B once."""
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
