"""Products: how one reads its operands in memory, and what its epilogue takes beside it."""

from __future__ import annotations

import math

from kgen.graph.ir import Graph, Product, Value
from kgen.graph.layout import Layout
from kgen.graph.memory import ALIGNMENT
from kgen_runtime.values import frozen


@frozen
class Matrix:
    """How a product reads an operand: rows `ld` elements apart, columns of it if `transposed`, and
    `batch_stride` elements from one of a batch to the next."""

    transposed: bool
    ld: int
    batch_stride: int
    offset: int


def matrix(graph: Graph, product: Value, number: int, layout: Layout) -> Matrix | None:
    """An operand of a product as a matrix, or as many as the batch has; None if it is none."""
    batch, m, n = product_extents(graph, product)
    k = graph.values[product.operands[0]].shape[-1]
    sizes = ((batch, m, k), (batch, k, n))[number]
    if batch > 1:
        layout = layout.expanded((*product.shape[:-2], *layout.shape[-2:]))
    cut = layout.reshaped(sizes)
    if cut is None or layout.offset * product.dtype.itemsize % ALIGNMENT:
        return None
    _, rows, cols = sizes
    between, down, along = cut.strides
    if along == 1 or cols == 1:
        transposed, ld, least = False, down, cols
    elif down == 1 or rows == 1:
        transposed, ld, least = True, along, rows
    else:
        return None
    ld = ld if (cols if transposed else rows) > 1 else least
    if ld < least or min(between, ld) < 0:
        return None
    return Matrix(
        transposed=transposed, ld=ld, batch_stride=between if batch > 1 else 0, offset=layout.offset
    )


def product_extents(graph: Graph, product: Value) -> tuple[int, int, int]:
    """Batch, rows and columns of a product, whose batch is one if all share one B."""
    operation = product.operation
    assert isinstance(operation, Product)
    *batch, m, n = product.shape
    if math.prod(graph.values[operation.b].shape[:-2]) == 1:
        return 1, math.prod(batch) * m, n
    return math.prod(batch), m, n


def extent_of(layout: Layout, extents: tuple[int, int, int]) -> str | None:
    """What an operand of an epilogue has a value for; None if it can be none."""
    cut = layout.reshaped(extents)
    if cut is None:
        return None
    sizes = zip(extents, cut.strides, strict=True)
    b, m, n = (0 if size == 1 else stride for size, stride in sizes)
    if layout.offset:
        return None
    if (b, m, n) == (0, 0, 0):
        return "1"
    if (b, m, n) == (0, 0, 1):
        return "n"
    if (b, m, n) == (0, 1, 0):
        return "mx1"
    full = Layout.of(extents)
    return (
        "mxn"
        if cut.is_packed
        and full.size == layout.size
        and 0 not in (s for size, s in zip(extents, cut.strides, strict=True) if size > 1)
        else None
    )
