"""Operators that are products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.graph.ir import Builder, Source, Value
from kgen.graph.model import Node
from kgen.graph.operators.registry import Operator, one, optional
from kgen.ops.expression import view


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
        c = transposed(b, c)
    product = b.product(a, c)
    found, alpha, beta = b.term(product), node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if alpha != 1.0:
        found = b.call("mul", found, float(alpha))
    if added is not None and beta != 0.0:
        term = b.term(added) if beta == 1.0 else b.call("mul", added, float(beta))
        found = b.call("add", found, term)
    return product if found is b.term(product) else b.formula(found, product.shape, product.dtype)


def transposed(b: Builder, x: Value) -> Value:
    """A matrix's transpose; a constant's is a constant, as it would be of other exporters."""
    array = b.array(x)
    if array is None:
        return b.permute(x, (1, 0))
    assert isinstance(x.operation, Source)
    return b.constant(f"{x.operation.name}.T", np.ascontiguousarray(array.T), x.dtype)


def conv(b: Builder, node: Node, given: list[Value | None]) -> Value:
    """A product for each place of the kernel, of the rows that it sees there; they are summed one
    upon the other. Channels are innermost for it, so that these rows are strides of the input."""
    x, w, bias = one(given), one(given, 1), optional(given, 2)
    if node.attribute("group", 1) != 1:
        raise b.refusal(f"has group={node.attribute('group')}; kgen takes 1")
    places, rank = w.shape[2:], x.rank - 2
    steps = node.attribute("strides", (1,) * rank)
    apart = node.attribute("dilations", (1,) * rank)
    sizes = b.result.shape[2:]
    x = padded(b, node, x, places, steps, apart, sizes)
    x = b.permute(x, (0, *range(2, rank + 2), 1))
    total: Value | None = None
    for at in np.ndindex(*places):
        rows = x
        for axis, (place, count) in enumerate(zip(at, sizes, strict=True), 1):
            rows = b.slice(rows, axis, place * apart[axis - 1], count, steps[axis - 1])
        product = b.product(rows, weights_at(b, w, at))
        if total is None:
            total = product
        else:
            total = b.formula(b.call("add", product, total), product.shape, product.dtype)
    assert total is not None
    if bias is not None:
        total = b.formula(b.call("add", total, bias), total.shape, total.dtype)
    return b.permute(total, (0, rank + 1, *range(1, rank + 1)))


def weights_at(b: Builder, w: Value, at: tuple[int, ...]) -> Value:
    """The matrix of a place of the kernel, from input channels to output channels."""
    array = b.array(w)
    if array is not None:
        assert isinstance(w.operation, Source)
        shown = ",".join(map(str, at))
        matrix = np.ascontiguousarray(
            array.reshape(*w.shape[:2], -1)[:, :, np.ravel_multi_index(at, w.shape[2:])].T
        )
        return b.constant(f"{w.operation.name}[{shown}]", matrix, w.dtype)
    for axis, place in enumerate(at, 2):
        w = b.slice(w, axis, place, 1)
    return b.permute(b.reshape(w, w.shape[:2]), (1, 0))


def padded(
    b: Builder,
    node: Node,
    x: Value,
    places: Sequence[int],
    steps: Sequence[int],
    apart: Sequence[int],
    sizes: Sequence[int],
) -> Value:
    """The input with zeros around it."""
    rank = len(places)
    pads = list(node.attribute("pads", (0,) * 2 * rank))
    how = node.attribute("auto_pad", "NOTSET")
    if how.startswith("SAME"):
        for axis in range(rank):
            seen = (sizes[axis] - 1) * steps[axis] + (places[axis] - 1) * apart[axis] + 1
            more = max(0, seen - x.shape[2 + axis])
            least = more // 2
            before = least if how == "SAME_UPPER" else more - least
            pads[axis], pads[rank + axis] = before, more - before
    found, shape = b.tensor(x), list(x.shape)
    for axis in range(rank):
        before, after = pads[axis], pads[rank + axis]
        if min(before, after) < 0:
            raise b.refusal("pads by less than nothing; kgen takes slices for that")
        if before or after:
            found = view("pad", (found, 2 + axis, before, after, 0.0))
            shape[2 + axis] += before + after
    return x if tuple(shape) == x.shape else b.formula(found, shape, x.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="MatMul", family="product", becomes="matmul", lower=matmul),
    Operator(name="Gemm", family="product", becomes="matmul", lower=gemm),
    Operator(
        name="Conv", family="product", becomes="matmul for each place of the kernel", lower=conv,
        limits="group=1",
    ),
)  # fmt: skip
