"""Operators that write rows into a tensor, at places that an index says: each is a scatter along an
axis of the tensor, or of its elements in one line."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, FormulaNode, GraphValue
from kgen.graph.operators.indexing import flat_places, place
from kgen.graph.operators.registry import (
    Operator,
    axis_of,
    check_shape,
    one,
    optional,
)
from kgen.graph.reading.model import Array, Node, Shape
from kgen.graph.rewrites.orders import inverse
from kgen.ops.expression import variable
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType


def scattered(
    b: Builder, x: GraphValue, index: GraphValue, rows: GraphValue, axis: int
) -> GraphValue:
    """x with rows in the places of `axis` that an index, of one axis, says. For a permuted x
    the scatter is done before the permutation, so that x is written in place."""
    if order := b.order_of(x):
        back = inverse(order)
        found = scattered(b, b.permute(x, back), index, b.permute(rows, back), order[axis])
        return b.permute(found, order)
    # A tensor that is written into itself is read as a copy of it.
    index, rows = (copied(b, v) if v is x else v for v in (index, rows))
    return b.add(FormulaNode(expression=b.scatter(x, index, rows, axis)), x.shape, x.dtype)


def copied(b: Builder, value: GraphValue) -> GraphValue:
    return b.add(FormulaNode(expression=variable(value.id)), value.shape, value.dtype)


def constant_place(at: Array, n: int, none: int) -> Array:
    """Place that :func:`place` makes of a constant index."""
    outside = (at < -n) | (at >= n)
    return np.where(outside, none, np.where(at < 0, at + n, at))


def check_plain(b: Builder, node: Node) -> None:
    if (reduction := node.attribute("reduction", "none")) != "none":
        raise b.refusal(
            f"has reduction={reduction}, which is not supported",
            "gather the old elements, combine them, and scatter without a reduction",
        )


def check_places(b: Builder, index: Array | None, sizes: Shape) -> None:
    """Raise GraphError for a constant index outside of axes of these sizes."""
    if index is None:
        return
    for axis, n in enumerate(sizes):
        at = index[..., axis]
        if ((at < -n) | (at >= n)).any():
            raise b.refusal(
                f"has an index outside of the {n} places of an axis; {-n} to {n - 1} are the "
                "limits",
                "change the index in the model",
            )


def scatter_nd(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ScatterND to a scatter by the linear number of an element or slice."""
    check_plain(b, node)
    x, index, rows = (one(given, i) for i in range(3))
    depth = index.shape[-1] if index.rank else 0
    if not 1 <= depth <= x.rank:
        raise b.refusal(
            f"has indices of {depth} numbers for {x.rank} axes; 1 to {x.rank} are the limits",
            CHANGE_MODEL,
        )
    check_shape(b, rows, (*index.shape[:-1], *x.shape[depth:]), "updates")
    check_places(b, b.array(index), x.shape[:depth])
    count, named, left = math.prod(index.shape[:-1]), x.shape[:depth], x.shape[depth:]
    rows = b.reshape(rows, (count, *left))
    if depth == 1:
        return scattered(b, x, b.reshape(index, (count,)), rows, 0)
    size = math.prod(named)
    if (known := b.array(index)) is not None:
        line = np.zeros(count, np.int64)
        for axis, n in enumerate(named):
            part = known[..., axis].astype(np.int64).reshape(count)
            line += constant_place(part, n, 2 * size) * math.prod(named[axis + 1 :])
        return numbered(b, x, line, rows, (size, *left))
    flat = flat_places(b, index, named, (count,), size)
    found = scattered(b, b.reshape(x, (size, *left)), flat, rows, 0)
    return b.reshape(found, x.shape)


def numbered(b: Builder, x: GraphValue, line: Array, rows: GraphValue, shape: Shape) -> GraphValue:
    """x with rows in constant places of the first axis that it has in another shape."""
    flat = b.made("places", line, DType.S64)
    return b.reshape(scattered(b, b.reshape(x, shape), flat, rows, 0), x.shape)


def scatter_elements(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ScatterElements to a scatter by the linear number of an element."""
    check_plain(b, node)
    x, index, rows = (one(given, i) for i in range(3))
    axis = axis_of(b, node.attribute("axis", 0), x.rank)
    check_shape(b, rows, index.shape, "updates")
    if index.rank != x.rank or any(
        n > m for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if i != axis
    ):
        raise b.refusal(
            f"has indices of shape {by_x(index.shape)} for {by_x(x.shape)}; beside axis {axis} "
            "they must not be larger",
            CHANGE_MODEL,
        )
    if (constant := b.array(index)) is not None:
        check_places(b, constant[..., None], x.shape[axis : axis + 1])
    b.check_table(math.prod(index.shape))
    grid = np.indices(index.shape, np.int64)
    steps = [math.prod(x.shape[i + 1 :]) for i in range(x.rank)]
    others = sum(grid[i] * step for i, step in enumerate(steps) if i != axis)
    size, count = math.prod(x.shape), math.prod(index.shape)
    if (known := b.array(index)) is not None:
        at = constant_place(known.astype(np.int64), x.shape[axis], size) * steps[axis]
        return numbered(b, x, (at + others).reshape(count), b.reshape(rows, (count,)), (size,))
    first = b.made("places", np.asarray(others, index.dtype.storage), index.dtype)
    # What is no place along the axis is none of the line either.
    along = b.call("mul", place(b, index, x.shape[axis], size), float(steps[axis]))
    flat = b.formula(b.call("add", along, first), index.shape, index.dtype)
    line = b.reshape(x, (size,))
    found = scattered(b, line, b.reshape(flat, (count,)), b.reshape(rows, (count,)), 0)
    return b.reshape(found, x.shape)


def tensor_scatter(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """A cache's next places, from where an index says on."""
    x, rows, first = one(given), one(given, 1), optional(given, 2)
    axis = axis_of(b, node.attribute("axis", -2), x.rank)
    beside = (*x.shape[:axis], rows.shape[min(axis, rows.rank - 1)], *x.shape[axis + 1 :])
    check_shape(b, rows, beside, "an update")
    n, count = x.shape[axis], rows.shape[axis]
    if first is not None and x.shape[0] != 1:
        raise b.refusal(
            f"writes into a batch of {x.shape[0]}; the limit is 1", "compile it for a batch of 1"
        )
    behind = b.made("places", np.arange(count), DType.S64)
    index = behind
    if first is not None:
        at = b.call("add", b.reshape(first, (1,)), behind)
        if node.attribute("mode", "linear") == "circular":
            at = b.call("mod", b.formula(at, (count,), DType.S64), float(n))
        index = b.formula(at, (count,), DType.S64)
    return scattered(b, x, index, rows, axis)


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(name=name, family="copy", becomes="scatter", lower=lower, unsupported=unsupported)
    for name, lower, unsupported in (
        ("ScatterND", scatter_nd, "reduction other than none"),
        ("ScatterElements", scatter_elements, "reduction other than none"),
        ("TensorScatter", tensor_scatter, "write_indices with a batch above 1"),
    )
)
