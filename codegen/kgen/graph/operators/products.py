"""Operators that are products of matrices."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, TRANSPOSED, Builder, GraphValue, SourceNode
from kgen.graph.operators.registry import (
    Operator,
    check_broadcasts,
    one,
    optional,
)
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
    """A matrix's transpose; a constant's is a constant, as it would be of other exporters."""
    array = b.array(x)
    if array is None:
        return b.permute(x, (1, 0))
    assert isinstance(x.operation, SourceNode)
    name = f"{x.operation.name}{TRANSPOSED}"
    return b.constant(name, np.ascontiguousarray(array.T), x.dtype)


def einsum(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Einsum to a batched contraction (two operands) or a reduction (one)."""
    equation = node.attribute("equation", "").replace(" ", "")
    values = [value for value in given if value is not None]
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        out = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    fits = len(terms) == len(values) and all(
        len(term) == value.rank for term, value in zip(terms, values, strict=True)
    )
    if not fits or len(values) > 2 or any(len(set(t)) < len(t) for t in (*terms, out)):
        raise b.refusal(
            f"has equation={equation!r}; supported are one or two tensors whose axes have each a "
            "letter of its own",
            "write it as MatMul, Transpose, Mul and ReduceSum",
        )
    sizes: dict[str, int] = {}
    for term, value in zip(terms, values, strict=True):
        for letter, n in zip(term, value.shape, strict=True):
            if n != (known := sizes.get(letter, 1)) and 1 not in (n, known):
                raise b.refusal(
                    f"has equation={equation!r} with {known} and {n} elements along {letter}; "
                    f"they must be equal, or 1",
                    CHANGE_MODEL,
                )
            sizes[letter] = max(n, known)
    if any(c not in sizes for c in out):
        raise b.refusal(
            f"has equation={equation!r}, whose result has a letter of no tensor",
            "change the equation in the model",
        )
    # What one tensor has alone, and the result has not, is summed first.
    for i in range(len(values)):
        others = set("".join(t for j, t in enumerate(terms) if j != i)) | set(out)
        values[i], terms[i] = _summed(b, values[i], terms[i], others)
    if len(values) == 1:
        return b.permute(values[0], [terms[0].index(c) for c in out])
    first, second = terms
    batch = [c for c in first if c in second and c in out]
    inner = [c for c in first if c in second and c not in out]
    rows, cols = ([c for c in t if c not in o] for t, o in ((first, second), (second, first)))

    def matrix(value: GraphValue, term: str, *groups: list[str]) -> GraphValue:
        ordered = b.permute(value, [term.index(c) for group in groups for c in group])
        full = b.expand(ordered, [sizes[c] for group in groups for c in group])
        return b.folded(b.reshape(full, [math.prod(sizes[c] for c in group) for group in groups]))

    product = b.product(
        matrix(values[0], first, batch, rows, inner), matrix(values[1], second, batch, inner, cols)
    )
    order = [*batch, *rows, *cols]
    found = b.reshape(product, [sizes[c] for c in order])
    return b.permute(found, [order.index(c) for c in out])


def _summed(b: Builder, value: GraphValue, term: str, kept: set[str]) -> tuple[GraphValue, str]:
    """A tensor without the axes that nothing else has."""
    axes = tuple(i for i, c in enumerate(term) if c not in kept)
    if not axes:
        return value, term
    sizes = [1 if i in axes else n for i, n in enumerate(value.shape)]
    total = b.formula(b.call("sum", value), sizes, value.dtype, axes)
    left = [n for i, n in enumerate(value.shape) if i not in axes]
    return b.reshape(total, left), "".join(c for c in term if c in kept)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="MatMul", family="product", becomes="matmul", lower=matmul),
    Operator(name="Gemm", family="product", becomes="matmul", lower=gemm),
    Operator(
        name="Einsum", family="product", becomes="matmul, sum", lower=einsum,
        unsupported="more than two tensors; `...`; an axis named twice",
    ),
)  # fmt: skip
