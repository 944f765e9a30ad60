"""MatMul and Gemm: matrix products; Gemm adds C in a formula, which epilogues absorb."""

from __future__ import annotations

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, TRANSPOSED, Builder, GraphValue, SourceNode
from kgen.graph.operators.registry import Operator, check_broadcasts, one, optional
from kgen.graph.reading.dequantized import changed
from kgen.graph.reading.model import Node


def matmul(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    a, c = one(given), one(given, 1)
    left = b.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    right = b.reshape(c, (*c.shape, 1)) if c.rank == 1 else c
    found = b.product(left, right)
    return b.reshape(found, b.result.shape)


def gemm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    a, c, added = one(given), one(given, 1), optional(given, 2)
    for what, matrix in (("A", a), ("B", c)):
        if matrix.rank != 2:
            raise b.refusal(f"has {what} of {matrix.rank} axes; it must have 2", CHANGE_MODEL)
    if node.attribute("transA", 0):
        a = b.permute(a, (1, 0))
    if node.attribute("transB", 0):
        c = transposed(b, c)
    product = b.product(a, c)
    found, alpha, beta = b.term(product), node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if alpha != 1.0:
        found = b.call("mul", found, float(alpha))
    check_broadcasts(b, added, product.shape, "C")
    if added is not None and beta != 0.0:
        term = b.term(added) if beta == 1.0 else b.call("mul", added, float(beta))
        found = b.call("add", found, term)
    return product if found is b.term(product) else b.formula(found, product.shape, product.dtype)


def transposed(b: Builder, x: GraphValue) -> GraphValue:
    """Return the transpose of a matrix; that of a constant is a new constant."""
    array = b.array(x)
    if array is None:
        return b.permute(x, (1, 0))
    assert isinstance(x.operation, SourceNode)
    name = f"{x.operation.name}{TRANSPOSED}"
    if (stored := b.stored(x)) is not None:
        b.dequantized[name] = changed(stored, np.transpose)
    return b.constant(name, np.ascontiguousarray(array.T), x.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="MatMul", family="product", becomes="matmul; mul, sum of integers", lower=matmul),
    Operator(name="Gemm", family="product", becomes="matmul; mul, sum of integers", lower=gemm),
)
