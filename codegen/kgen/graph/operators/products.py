"""Operators that are products of matrices."""

from __future__ import annotations

from kgen.graph.ir import Builder, Value
from kgen.graph.model import Node
from kgen.graph.operators.registry import Operator, one, optional


def matmul(b: Builder, node: Node, given: list[Value | None]) -> Value:
    a, c = one(given), one(given, 1)
    left = b.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    right = b.reshape(c, (*c.shape, 1)) if c.rank == 1 else c
    found = b.product(left, right)
    return b.reshape(found, b.result.shape)


def gemm(b: Builder, node: Node, given: list[Value | None]) -> Value:
    a, c, added = one(given), one(given, 1), optional(given, 2)
    if node.attribute("transA", 0):
        a = b.permute(a, (1, 0))
    if node.attribute("transB", 0):
        c = b.permute(c, (1, 0))
    product = b.product(a, c)
    found, alpha, beta = b.term(product), node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if alpha != 1.0:
        found = b.call("mul", found, float(alpha))
    if added is not None and beta != 0.0:
        term = b.term(added) if beta == 1.0 else b.call("mul", added, float(beta))
        found = b.call("add", found, term)
    return product if found is b.term(product) else b.formula(found, product.shape, product.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="MatMul", family="product", becomes="matmul", lower=matmul),
    Operator(name="Gemm", family="product", becomes="matmul", lower=gemm),
)
